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
EXPONENTIAL = tuple(1.0 / math.factorial(k) for k in range(2, 13))
LOGARITHM = tuple((-1.0) ** (k + 1) / k for k in range(2, 18))


def length_of(exponent: Callable[[Any], Any], slope: Callable[[Any], Any], start: Any) -> Any:
    """Where a concave function has fallen to -NOTHING, by Newton's method from `start`, which is beyond this point."""
    s = start
    for _ in range(100):
        falling = slope(s)
        step = (exponent(s) + NOTHING) / np.where(falling < 0, falling, -np.inf)
        s = s - step
        if not np.any(step > 0.01 * s):
            break
    return np.where(np.isfinite(s) & (s > 0), s, 1.0)


def integrate(integrand: Callable[..., Any], length: Any, *operands: Any) -> Any:
    """The integral of `integrand(s, *operands)` over s from 0 to `length`, for each element of length and operands.

    The integrand gets all nodes at once: s has an axis of nodes before the axis of elements.
    """
    shape = np.shape(length)
    operands = tuple(np.broadcast_to(x, shape).ravel() for x in operands)
    length = np.ravel(length)
    panels = np.maximum(np.ceil(length / PANEL), 1.0)
    total = np.empty_like(length)
    for count in np.unique(panels):  # elements with as many panels go together
        part = panels == count
        total[part] = _by_panels(int(count), integrand, length[part], *(x[part] for x in operands))
    return total.reshape(shape)


def _by_panels(panels: int, integrand: Callable[..., Any], length: Any, *operands: Any) -> Any:
    nodes = (np.arange(panels)[:, None] + 0.5 + 0.5 * NODES).ravel() / panels
    weights = np.tile(WEIGHTS, panels) * (0.5 / panels)
    at_once = max(1, BLOCK // length.size)
    total: Any = 0.0
    for start in range(0, nodes.size, at_once):
        part = slice(start, start + at_once)
        total = total + weights[part] @ integrand(np.multiply.outer(nodes[part], length), *operands)
    return total * length


def power(x: Any, k: int) -> Any:
    """x to the power of a small k, by products: a power of floats takes ten times as long."""
    total: Any = 1.0
    for _ in range(k):
        total = total * x
    return total


def expm1_beyond(z: Any, expm1: Any) -> Any:
    """exp(z) - 1 - z, from exp(z) - 1, exact also where z is small."""
    return _exact_where_small(z, expm1 - z, EXPONENTIAL)


def log1p_beyond(w: Any, log1p: Any) -> Any:
    """log(1 + w) - w, from log(1 + w), exact also where w is small."""
    return _exact_where_small(w, log1p - w, LOGARITHM)


def _exact_where_small(z: Any, beyond: Any, series: tuple[float, ...]) -> Any:
    """`beyond`, and where z is small the sum of its power series, which begins with the square."""
    small = np.abs(z) < SMALL
    u = z[small]
    total = np.full_like(u, series[-1])
    for coefficient in series[-2::-1]:
        total *= u
        total += coefficient
    total *= u
    total *= u
    beyond = np.asarray(beyond)
    beyond[small] = total
    return beyond
