"""A charge that two others push, and where the second must be for it to hit the origin: a descent through a loop.

Each step of the loop has the force from a derivative of the potential, and the loop ends when the charge has crossed
the axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function

from .descent import Gradient, Point, argmin, by_modes

TIME_STEP = 0.1


def solve(start: float, outer: Gradient, inner: Gradient) -> float:
    def miss(control: Point) -> float:
        """The square of the distance to the origin where the charge crosses the axis."""
        (w,) = control

        def potential(at: Point) -> Any:
            x, y = at
            return inverse_distance(x - 10.0, y - (10.0 - w)) + inverse_distance(x - 10.0, y)

        slope = inner(potential)
        x, y, x_speed, y_speed = 0.0, 8.0, 0.75, 0.0
        while True:
            x_slope, y_slope = slope((x, y))
            x, y = x + TIME_STEP * x_speed, y + TIME_STEP * y_speed
            if y <= 0.0:
                crossing = x - y / y_speed * x_speed
                return crossing * crossing
            x_speed, y_speed = x_speed - TIME_STEP * x_slope, y_speed - TIME_STEP * y_slope

    return argmin(miss, (start,), outer)[0]


def inverse_distance(x: float, y: float) -> Any:
    return 1.0 / np.sqrt(x * x + y * y)


def read(message: Any) -> tuple[float]:
    return (float(message["w"]),)


FUNCTIONS = {name: Function(compute, read) for name, compute in by_modes(solve).items()}
