"""Entropies, and the losses of robust statistics.

Where both operands are 0, the functions jump, and have no derivative. The rules give 0 there: the term does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.special.table import rule


def is_void(x: Any, y: Any) -> Any:
    """Whether the factor x is 0, and also y, which then has no logarithm."""
    return (x == 0) & ((y == 0) if is_complex(y) else (y <= 0))


def log_ratio(x: Any, y: Any) -> Any:
    """log(x / y), without overflow, and exact where x and y are close."""
    close = (x < 2.0 * y) & (y < 2.0 * x)
    near, apart = ((np.where(mask, x, 1.0), np.where(mask, y, 1.0)) for mask in (close, ~close))
    return np.where(close, np.log1p((near[0] - near[1]) / near[1]), np.log(apart[0]) - np.log(apart[1]))


def slope_of_relative(x: Any, y: Any, constant: float) -> Any:
    """log(x / y) + constant, and 0 where both are 0."""
    void = is_void(x, y)
    return np.where(void, 0.0, log_ratio(np.where(void, 1.0, x), np.where(void, 1.0, y)) + constant)


def quotient(x: Any, y: Any) -> Any:
    """x / y, and 0 where both are 0."""
    return x / np.where(is_void(x, y), 1.0, y)


def slope_of_pseudo_huber(delta: Any, r: Any) -> Any:
    """dy/ddelta of y = delta**2 (sqrt(1 + (r / delta)**2) - 1), written without differences."""
    nothing = (delta == 0) & (r == 0)
    delta = np.where(nothing, 1.0, delta)
    length = np.hypot(delta, r)
    part = r * (r / (length + delta))
    return part * (part / length)


rule(
    "xlogy(x, y)",
    x=lambda z, x, y: np.log(np.where(is_void(x, y), 1.0, y)),
    y=lambda z, x, y: quotient(x, y),
)
rule(
    "xlog1py(x, y)",
    x=lambda z, x, y: np.log1p(np.where(is_void(x, 1.0 + y), 0.0, y)),
    y=lambda z, x, y: quotient(x, 1.0 + y),
)
rule("entr(x)", x=lambda y, x: -np.log(x) - 1.0)
rule("rel_entr(x, y)", x=lambda z, x, y: slope_of_relative(x, y, 1.0), y=lambda z, x, y: -quotient(x, y))
rule(
    "kl_div(x, y)",
    x=lambda z, x, y: slope_of_relative(x, y, 0.0),
    y=lambda z, x, y: np.where(is_void(x, y), 1.0, quotient(y - x, y)),
)
rule(
    "huber(delta, r)",
    delta=lambda y, delta, r: np.where(np.absolute(r) <= delta, 0.0, np.absolute(r) - delta),
    r=lambda y, delta, r: np.where(np.absolute(r) <= delta, r, delta * np.sign(r)),
)
rule(
    "pseudo_huber(delta, r)",
    delta=lambda y, delta, r: slope_of_pseudo_huber(delta, r),
    r=lambda y, delta, r: r * (delta / np.hypot(np.where((delta == 0) & (r == 0), 1.0, delta), r)),
)
