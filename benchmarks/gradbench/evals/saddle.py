"""The saddle point of a game: a descent whose cost is found by a descent, with a derivative in each."""

from __future__ import annotations

from typing import Any

from benchmarks.gradbench.function import Function

from .descent import Gradient, Point, argmax, argmin, by_modes


def payoff(x: Point, y: Point) -> float:
    (x_1, y_1), (x_2, y_2) = x, y
    return (x_1 * x_1 + y_1 * y_1) - (x_2 * x_2 + y_2 * y_2)


def solve(start: Point, outer: Gradient, inner: Gradient) -> Point:
    def worst_case(x: Point) -> float:
        return payoff(x, argmax(lambda y: payoff(x, y), start, inner))

    x = argmin(worst_case, start, outer)
    return x + argmax(lambda y: payoff(x, y), start, outer)


def read(message: Any) -> tuple[Point]:
    return (tuple(map(float, message["start"])),)


FUNCTIONS = {name: Function(compute, read) for name, compute in by_modes(solve).items()}
