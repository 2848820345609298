"""A differential equation, solved by the Runge-Kutta method of fourth order."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import checkpoint, grad

END = 2.0
LARGE = 50_000  # elements, from which on the intermediate results of all steps would not fit into the cache


def solution(x: Any, steps: int) -> Any:
    h = END / steps

    def step(y: Any, x: Any) -> Any:
        k_1 = rate(y, x)
        k_2 = rate(y + h / 2 * k_1, x)
        k_3 = rate(y + h / 2 * k_2, x)
        k_4 = rate(y + h * k_3, x)
        return y + h / 6 * (k_1 + 2.0 * (k_2 + k_3) + k_4)

    one_step = step if len(x) < LARGE else checkpoint(step)
    y = np.zeros(len(x))
    for _ in range(steps):
        y = one_step(y, x)
    return y


def rate(y: Any, x: Any) -> Any:
    """Each element grows with the one before it, and the first at a constant rate."""
    return x * np.concatenate((np.ones(1), y[:-1]))


def last_element(x: Any, steps: int) -> Any:
    return solution(x, steps)[-1]


def read(message: Any) -> tuple[Any, int]:
    return np.array(message["x"]), message["s"]


FUNCTIONS = {"primal": Function(solution, read), "gradient": Function(grad(last_element), read)}
