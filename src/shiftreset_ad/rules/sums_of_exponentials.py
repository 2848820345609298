"""SciPy's formula for the logarithm of a sum of exponentials, and whether SciPy still has this formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

POINTS = (
    *((0.3, -1.25, 2.5, 2.5, -700.0, 0.1, 3.0, -0.7, 2.25), (-3.0, -0.0, 0.0)),
    *((1e300, 5.0), (-np.inf, 0.5, 0.7), (4.0,)),
)


def log_of_sum(made: Callable[..., Any], a: Any, axes: tuple[int, ...]) -> Any:
    """log(sum(exp(a))) along `axes`, which are kept, where it is finite. `made(f, x, y)` carries out `f(x, y)`.

    The greatest elements are separate from the sum of the others.
    """
    top = made(np.max, a, axis=axes, keepdims=True)
    is_top = made(np.equal, a, top)
    count = made(np.sum, made(np.where, is_top, 1.0, 0.0), axis=axes, keepdims=True)
    powers = made(np.exp, made(np.subtract, made(np.where, is_top, -np.inf, a), top))
    others = made(np.sum, powers, axis=axes, keepdims=True)
    others = made(np.where, made(np.equal, others, 0.0), others, made(np.divide, others, count))
    return made(np.add, made(np.add, made(np.log1p, others), made(np.log, count)), top)


def logsumexp_of(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """SciPy's `logsumexp` itself."""
    return import_module("scipy.special").logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)


def largest(a: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The greatest real part along `axes`, which are kept."""
    return np.max(np.broadcast_to(np.real(a), shape), axis=axes, keepdims=True, initial=-np.inf)


@cache
def is_scipys() -> bool:
    """Whether the formula has the bits of the SciPy that is installed."""
    arrays = [np.array(point) for point in POINTS] + [np.sin(np.arange(600.0)).reshape(20, 30) * 9.0]
    with np.errstate(all="ignore"):
        return all(
            np.array_equal(
                log_of_sum(lambda f, *args, **kwargs: f(*args, **kwargs), a, axes),
                logsumexp_of(a, axis=axes, keepdims=True),
            )
            for a in arrays
            for axes in {(0,), (a.ndim - 1,), tuple(range(a.ndim))}
        )
