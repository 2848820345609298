"""The squared error of a polynomial that is fitted to the sign function."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad


def cost(x: Any, n: int) -> Any:
    t = np.linspace(-1.0, 1.0, n)
    errors = np.sign(t) - x @ powers(t, len(x))
    return 0.5 * np.sum(errors * errors)


def powers(t: Any, count: int) -> Any:
    """A row for each power of `t`, twice as many rows at a time."""
    rows = np.empty((count, len(t)))
    rows[0], known = 1.0, 1
    while known < count:
        unknown = rows[known : 2 * known]
        np.multiply(rows[: len(unknown)], rows[known - 1] * t, out=unknown)
        known *= 2
    rows.flags.writeable = False  # so the product makes no copy of it for the way back
    return rows


def read(message: Any) -> tuple[Any, int]:
    return np.array(message["x"]), message["n"]


FUNCTIONS = {"primal": Function(cost, read), "gradient": Function(grad(cost), read)}
