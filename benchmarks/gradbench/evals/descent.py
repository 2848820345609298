"""Gradient descent with the steps that GradBench prescribes, for points that are tuples of floats.

The decisions are about values: they have no derivatives. The points keep theirs, so a descent can be differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from shiftreset_ad import grad, jvp, value

Point: TypeAlias = tuple[float, ...]
Cost: TypeAlias = Callable[[Point], float]
Gradient: TypeAlias = Callable[[Cost], Callable[[Point], Point]]

SMALL = 1e-5  # a gradient, or a step, that ends the descent
FIRST_STEP = 1e-5
LONGER_AFTER = 10  # steps downhill in a row


def reverse(f: Cost) -> Callable[[Point], Point]:
    """The gradient by reverse mode."""
    return grad(f)


def forward(f: Cost) -> Callable[[Point], Point]:
    """The gradient by forward mode, a direction at a time."""

    def gradient(x: Point) -> Point:
        directions = (tuple(float(i == j) for j in range(len(x))) for i in range(len(x)))
        return tuple(jvp(f, (x,), (direction,))[1] for direction in directions)

    return gradient


MODES: dict[str, Gradient] = {"f": forward, "r": reverse}


def length(x: Point) -> float:
    return math.sqrt(sum(x_i * x_i for x_i in value(x)))


def argmin(f: Cost, start: Point, gradient_of: Gradient) -> Point:
    """Where `f` is least."""
    gradient = gradient_of(f)
    x, f_x, slope = start, f(start), gradient(start)
    step, in_a_row = FIRST_STEP, 0
    while length(slope) > SMALL:
        if in_a_row == LONGER_AFTER:
            step, in_a_row = 2 * step, 0
            continue
        lower = tuple(x_i - step * slope_i for x_i, slope_i in zip(x, slope, strict=True))
        if length(tuple(a - b for a, b in zip(value(x), value(lower), strict=True))) <= SMALL:
            break
        f_lower = f(lower)
        if f_lower < f_x:
            x, f_x, slope = lower, f_lower, gradient(lower)
            in_a_row += 1
        else:
            step, in_a_row = step / 2, 0
    return x


def argmax(f: Cost, start: Point, gradient_of: Gradient) -> Point:
    """Where `f` is greatest."""
    return argmin(lambda x: -f(x), start, gradient_of)


def by_modes(solve: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """`solve(..., outer, inner)` for each mode of the outer derivative and of the inner one, which "rf" names."""

    def with_modes(outer: Gradient, inner: Gradient) -> Callable[..., Any]:
        return lambda *args: solve(*args, outer, inner)

    return {a + b: with_modes(outer, inner) for a, outer in MODES.items() for b, inner in MODES.items()}
