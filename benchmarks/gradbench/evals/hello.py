"""The square of a number, and its derivative."""

from __future__ import annotations

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad


def square(x: float) -> float:
    return x * x


def read(x: float) -> tuple[float]:
    return (float(x),)


FUNCTIONS = {"square": Function(square, read), "double": Function(grad(square), read)}
