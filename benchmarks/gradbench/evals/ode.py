"""A differential equation, solved by the Runge-Kutta method of fourth order."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad

END = 2.0


def solution(x: Any, steps: int) -> Any:
    def rate(y: Any) -> Any:
        return np.concatenate((x[:1], x[1:] * y[:-1]))

    h = END / steps
    y = np.zeros(len(x))
    for _ in range(steps):
        k_1 = rate(y)
        k_2 = rate(y + h / 2 * k_1)
        k_3 = rate(y + h / 2 * k_2)
        k_4 = rate(y + h * k_3)
        y = y + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
    return y


def last_element(x: Any, steps: int) -> Any:
    return solution(x, steps)[-1]


def read(message: Any) -> tuple[Any, int]:
    return np.array(message["x"]), message["s"]


FUNCTIONS = {"primal": Function(solution, read), "gradient": Function(grad(last_element), read)}
