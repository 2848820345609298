"""The squared error of a polynomial that is fitted to the sign function."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad


def cost(x: Any, n: int) -> Any:
    t = np.linspace(-1.0, 1.0, n)
    errors = np.sign(t) - np.vander(t, len(x), increasing=True) @ x
    return 0.5 * np.sum(errors * errors)


def read(message: Any) -> tuple[Any, int]:
    return np.array(message["x"]), message["n"]


FUNCTIONS = {"primal": Function(cost, read), "gradient": Function(grad(cost), read)}
