"""Gradients of programs whose lists grow as the values decide: as they are, as steps by NumPy, and as native code.

Each function is called with many arguments, for which the lists have other lengths. One record serves all of them.

python benchmarks/growing_lists.py
SHIFTRESET_AD_NATIVE=0 python benchmarks/growing_lists.py   # the steps by NumPy
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad, staged, value

ROUNDS = 20


def path_of_newton(x: Any) -> Any:
    """The way to a cube root, step by step."""
    path = [x]
    while abs(path[-1] ** 3 - x) > 1e-9:
        path.append(path[-1] - (path[-1] ** 3 - x) / (3.0 * path[-1] ** 2))
    return sum(path)


def adaptive_steps(x: Any) -> Any:
    """A pendulum, in steps that depend on its speed: the integral of its height."""
    t, y, v, times, heights = 0.0, x * 0.1, 0.0, [0.0], [x * 0.1]
    while t < 5.0:
        h = 0.05 / (1.0 + abs(v))
        t, y, v = t + h, y + h * v, v - h * np.sin(y)
        times.append(t)
        heights.append(y)
    total = 0.0
    for i in range(1, len(times)):
        total = total + (times[i] - times[i - 1]) * heights[i]
    return total


def leaves_of_a_tree(x: Any) -> Any:
    """A tree that is searched with a stack."""
    waiting, total = [x], 0.0
    while waiting:
        v = waiting.pop()
        if v > 0.1:
            waiting += [v * 0.5, v * 0.3]
        else:
            total = total + v * v
    return total


def filtered(x: Any) -> Any:
    """The mean of those of some hundreds of values that are greater than a half."""
    found = [np.sin(0.01 * x * k) for k in range(int(100 * value(x))) if np.sin(0.01 * x * k) > 0.5]
    return sum(found) / (len(found) + 1)


def main() -> None:
    """Measure all programs."""
    table = Table("gradient of", "as it is, us", "staged, us", "records", title="Lists that grow")
    points = [float(x) for x in np.linspace(3.0, 9.0, 13)]
    for f in (path_of_newton, adaptive_steps, leaves_of_a_tree, filtered):
        plain, derivative = grad(f), staged(grad(f))
        for x in points:
            assert abs(derivative(x) - plain(x)) <= 1e-9 * abs(plain(x))
        runs = {name: lambda g=g: [g(x) for x in points] for name, g in (("", plain), ("staged", derivative))}
        times = best_of(ROUNDS, runs)
        shown = [f"{seconds / len(points) * 1e6:.3g}" for seconds in times.values()]
        table.add_row(f.__name__, *shown, f"{len(derivative.sources)}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
