"""Derivatives of a vector function along a direction, from its values alone, with an estimate of their error.

*   Central differences for a ladder of steps, extrapolated to step zero (Richardson; Ridders, Advances in Engineering
    Software 1982). Each element of the result takes the entry of the table that its neighbours confirm best. Its error
    has three parts: how far the neighbours differ; the error of the same table for the value itself, which is known;
    and the rounding of the values, which counts more as the step shrinks.
*   The complex step, Im f(x + ihv) / h (Squire and Trapp, SIAM Review 1998). It has no cancellation, and so no such
    error. It is right only if the function is analytic. Values on a small circle x + r e^(it) v tell this: a function
    that is not analytic has a derivative in the conjugate of its argument.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shiftreset_ad.testing.coordinates import Vector

RATIO = 4.0
LARGEST, SHORTEST = 2.0**-3, 0.4  # a step, and a power of the rounding error
AT_MOST = 40  # steps
DEEPEST = 4  # extrapolations

TINY = float(np.finfo(np.float64).tiny)
COMPLEX_STEP = 2.0**-66
RADIUS = 2.0**-8
POINTS = 8
NEGLIGIBLE = 1e-9

Function = Callable[[Vector], Vector]


class Estimate(NamedTuple):
    """A derivative along a direction, its error, and, for messages, how it was found."""

    y_dot: Vector
    error: Vector
    source: str


def steps(x: Vector, v: Vector, noise: Vector, eps: float | None) -> list[list[float]]:
    """Ladders of steps along `v`, from large to small: one relative to 1, one relative to `x`; or one from `eps` on.

    Ladders that overlap become one. The smaller the rounding errors, the shorter the steps may be.
    """
    shortest = float(np.max(noise, initial=TINY)) ** SHORTEST
    longest = float(np.max(np.abs(v), initial=0.0))
    if longest == 0.0:
        return [[LARGEST]]
    if eps is not None:
        return [[eps / longest / RATIO**k for k in range(3)]]
    moved = (v != 0.0) & (x != 0.0)
    beside_x = float(np.min(np.abs(x[moved] / v[moved]), initial=1.0))
    ranges = [(LARGEST / longest, shortest / longest)]
    if np.any(moved):
        ranges.append((LARGEST, shortest * beside_x))
    (top, bottom), *others = sorted(ranges, reverse=True)
    if others and others[0][0] >= bottom / RATIO:
        return [_ladder(top, min(bottom, others[0][1]))]
    return [_ladder(top, bottom), *[_ladder(*other) for other in others]]


def _ladder(top: float, bottom: float) -> list[float]:
    count = min(AT_MOST, 1 + math.ceil(math.log(top / bottom, RATIO)))
    return [top / RATIO**k for k in range(count)]


def by_differences(
    f: Function, x: Vector, v: Vector, y: Vector, size: Vector, noise: Vector, ladders: list[list[float]]
) -> Estimate:
    """The derivative of `f` along `v` at `x`, where its value is `y`; `noise` is the rounding error relative to `size`.

    A large step may leave the domain of `f`, which then raises or returns NaN. The smallest step may not.
    """
    y_dot, error = np.full(y.shape, np.nan), np.full(y.shape, np.inf)
    least = error
    for ladder in ladders:
        slopes, means = list[Vector](), list[Vector]()
        for h in ladder:
            try:
                ahead, behind = f(x + h * v), f(x - h * v)
            except Exception:
                if h == ladders[-1][-1]:
                    raise
                slopes, means = [], []
                continue
            coarser, slopes = slopes, _extrapolated((ahead - behind) / (2.0 * h), slopes)
            means = _extrapolated((ahead + behind) / 2.0, means)
            rounding = noise * (size + np.abs(slopes[0])) / h
            for depth, (entry, mean) in enumerate(zip(slopes, means, strict=True)):
                if depth:
                    off = np.maximum(np.abs(entry - slopes[depth - 1]), np.abs(entry - coarser[depth - 1]))
                elif coarser:
                    off = np.abs(entry - coarser[0])
                else:
                    continue
                # At step zero, the mean is the value, which is known.
                missed = np.abs(mean - y)
                off = off + missed / h + rounding
                relative = np.maximum(off, missed) / (size + np.abs(entry) + TINY)
                better = relative < least
                y_dot, error = np.where(better, entry, y_dot), np.where(better, off, error)
                least = np.where(better, relative, least)
    return Estimate(y_dot, error, "differences say")


def _extrapolated(first: Vector, coarser: list[Vector]) -> list[Vector]:
    """The row of the table for the next step: its central difference, extrapolated with the rows of longer steps."""
    row = [first]
    for depth, entry in enumerate(coarser[:DEEPEST]):
        row.append(row[depth] + (row[depth] - entry) / (RATIO ** (2 * depth + 2) - 1.0))
    return row


def by_complex_step(f: Function, x: Vector, v: Vector, y: Vector, noise: Vector) -> Vector | None:
    """The derivative of `f` along `v`, if `f` takes complex vectors, too, and is analytic; otherwise None."""
    radius = RADIUS / max(1.0, float(np.max(np.abs(v), initial=0.0)))
    roots = np.exp(2j * np.pi * np.arange(POINTS) / POINTS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)  # f drops imaginary parts
            around = [f(x + radius * root * v) for root in roots]
            y_dot = f(x + 1j * COMPLEX_STEP * v).imag / COMPLEX_STEP
    except Exception:  # whatever f raises for complex numbers
        return None

    def coefficient(k: int) -> Vector:
        """The coefficient of the k-th power of the argument in the series of the values on the circle."""
        return np.asarray(sum(value * root**-k for value, root in zip(around, roots, strict=True)) / POINTS)

    allowed = 64.0 * noise * np.max(np.abs(around), axis=0) + NEGLIGIBLE * np.abs(coefficient(1))
    analytic = (np.abs(coefficient(0) - y) <= allowed) & (np.abs(coefficient(-1)) <= allowed)
    return y_dot if np.all(analytic & np.isfinite(y_dot)) else None
