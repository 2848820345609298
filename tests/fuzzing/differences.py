"""The first and the second derivative of a function of a number at 0, from values alone, with their errors.

Central differences of a ladder of steps, extrapolated twice (Richardson). A kink at the very point is told by one-sided
differences, which do not meet; one nearby, and a jump, by differences that do not settle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

LARGEST = 2.0**-4
STEPS = 12
SAFETY = 10.0


class Slopes(NamedTuple):
    """The derivatives, how far each may be off, and by how much the slopes on the two sides differ."""

    first: float
    first_error: float
    second: float
    second_error: float
    kink: float


def slopes(g: Callable[[float], float], noise: float) -> Slopes:
    """The derivatives of `g`, whose values have errors of the size `noise`."""
    h = LARGEST * 0.5 ** np.arange(STEPS)
    middle = g(0.0)
    right = np.array([g(step) for step in h])
    left = np.array([g(-step) for step in h])
    around = right - 2.0 * middle + left
    first, first_error = _settled((right - left) / (2.0 * h), noise / h)
    second, second_error = _settled(around / h**2, 4.0 * noise / h**2)
    one_sided = around / h
    kinks = np.abs(2.0 * one_sided[1:] - one_sided[:-1]) - 12.0 * noise / h[1:]
    return Slopes(first, first_error, second, second_error, float(np.min(kinks[:-2])))


def _settled(table: np.ndarray, noise: np.ndarray) -> tuple[float, float]:
    """The best of the extrapolated estimates, and its error."""
    once = (4.0 * table[1:] - table[:-1]) / 3.0
    twice = (16.0 * once[1:] - once[:-1]) / 15.0
    errors = np.abs(twice - once[1:]) + 2.0 * noise[2:]
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best = int(np.argmin(errors))
    return float(twice[best]), SAFETY * float(errors[best])
