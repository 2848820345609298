"""The logarithm of a sum of exponentials, about the largest of them, so that none overflows.

The largest is subtracted before and added after, so it has no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad, value


def log_sum_exp(x: Any) -> Any:
    largest = np.max(value(x))
    return np.log(np.sum(np.exp(x - largest))) + largest


def read(message: Any) -> tuple[Any]:
    return (np.array(message["x"]),)


FUNCTIONS = {"primal": Function(log_sum_exp, read), "gradient": Function(grad(log_sum_exp), read)}
