"""The first and the second derivative of a function of a number at 0, from values alone, with their errors.

Central differences of a ladder of steps, extrapolated twice (Richardson). A kink at the very point is told by one-sided
differences, which do not meet; one nearby, and a jump, by differences that do not settle: that are elsewhere again for
smaller steps than those that seem to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

LARGEST = 2.0**-4
STEPS = 12
NEARER = 2.0 ** -np.array([18, 21, 24, 27])  # for which differences are rougher, but see what is near
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
    h = np.concatenate([LARGEST * 0.5 ** np.arange(STEPS), NEARER])
    middle = g(0.0)
    right = np.array([g(step) for step in h])
    left = np.array([g(-step) for step in h])
    around = right - 2.0 * middle + left
    first, first_error = _settled((right - left) / (2.0 * h), noise / h)
    second, second_error = _settled(around / h**2, 4.0 * noise / h**2)
    kinks = _jumps_of_slope((around / h)[: STEPS + 1], h[: STEPS + 1]) - 12.0 * noise / h[1 : STEPS + 1]
    return Slopes(first, first_error, second, second_error, float(np.min(kinks)))


def _jumps_of_slope(one_sided: np.ndarray, h: np.ndarray) -> np.ndarray:
    """By how much the slopes on the two sides differ, extrapolated to no step."""
    ratio = h[:-1] / h[1:]
    return np.abs(ratio * one_sided[1:] - one_sided[:-1]) / (ratio - 1.0)


def _settled(table: np.ndarray, noise: np.ndarray) -> tuple[float, float]:
    """The best of the extrapolated estimates, and its error: infinite if those of smaller steps are not close to it."""
    ladder = table[:STEPS]
    once = (4.0 * ladder[1:] - ladder[:-1]) / 3.0
    twice = (16.0 * once[1:] - once[:-1]) / 15.0
    last, before = twice[1:], twice[:-1]
    # Two estimates may agree by chance; three do not.
    errors = np.maximum(np.abs(last - once[2:]), np.abs(last - before) / 16.0) + 2.0 * noise[3:STEPS]
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best = int(np.argmin(errors)) + 1
    found, error = float(twice[best]), SAFETY * float(errors[best - 1])
    off = np.abs(table[best + 2 :] - found)  # which gets less with the steps, but for the noise
    is_settled = np.all(off[1:] <= off[0] + error + SAFETY * noise[best + 3 :])
    return found, error if is_settled else np.inf
