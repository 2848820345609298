"""Integrals of analytic functions that have a concave logarithm and decrease from their beginning.

The functions are cut off where they are negligible. The rest is computed by Gauss and Legendre's rule, on panels as
long as the functions are wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
PANEL = 10.0  # the functions here are analytic to a distance of pi from the real axis
NOTHING = 48.0  # exp(-48) is negligible
BLOCK = 2**15  # elements that are computed at once
SMALL = 0.125
TERMS = 16


def length_of(exponent: Callable[[Any], tuple[Any, Any]], start: Any) -> Any:
    """Where a concave function has fallen to -NOTHING, by Newton's method from `start`, which is beyond this point.

    `exponent(s)` is the function and its derivative.
    """
    s = start
    for _ in range(100):
        y, slope = exponent(s)
        step = (y + NOTHING) / np.where(slope < 0, slope, -np.inf)
        s = s - step
        if not np.any(step > 0.01 * s):
            break
    return np.where(np.isfinite(s) & (s > 0), s, 1.0)


def integrate(integrand: Callable[[Any], Any], length: Any) -> Any:
    """The integral of `integrand(s)` over s from 0 to `length`; s has an axis of nodes before the axes of `length`."""
    panels = max(1, math.ceil(np.max(length, initial=0.0) / PANEL))
    nodes = (np.arange(panels)[:, None] + 0.5 + 0.5 * NODES).ravel() / panels
    weights = np.tile(WEIGHTS, panels) * (0.5 / panels)
    at_once = max(1, BLOCK // max(1, length.size))
    total: Any = 0.0
    for start in range(0, nodes.size, at_once):
        part = slice(start, start + at_once)
        total = total + np.tensordot(weights[part], integrand(np.multiply.outer(nodes[part], length)), 1)
    return total * length


def expm1_beyond(z: Any) -> Any:
    """exp(z) - 1 - z, exact also where z is small."""
    small = np.abs(z) < SMALL
    total: Any = 1.0
    u = np.where(small, z, 0.0)
    for k in range(TERMS, 2, -1):
        total = 1.0 + u / k * total
    return np.where(small, 0.5 * u * u * total, np.expm1(z) - z)


def log1p_beyond(w: Any) -> Any:
    """log(1 + w) - w, exact also where w is small."""
    small = np.abs(w) < SMALL
    total: Any = 0.0
    u = np.where(small, w, 0.0)
    for k in range(TERMS, 1, -1):
        total = 1.0 / k - u * total
    return np.where(small, -u * u * total, np.log1p(w) - w)
