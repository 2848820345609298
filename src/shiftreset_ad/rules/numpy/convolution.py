"""Convolution and correlation of vectors.

Every mode is a part of the full convolution y_k = sum_i a_i b_(k-i). Its transposes are convolutions, too:
a_bar_i = sum_k y_bar_k b_(k-i) is y_bar convolved with the reversed b, the part where both overlap completely.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.table import LinearMap, structured


def in_full(y_bar: Cotangent, full: int, shorter_first: bool = False) -> Any:
    """The cotangent of the full convolution, of size `full`: `y_bar` in the middle, and zeros around it.

    If there is no exact middle, NumPy takes the place to the left, or in a correlation with a longer vector to the
    right.
    """
    rest = full - shape_of(y_bar)[0]
    start, dtype = (rest + shorter_first) // 2, dtype_of(y_bar)
    return np.concatenate([np.zeros(start, dtype), y_bar, np.zeros(rest - start, dtype)]) if rest else y_bar


def overlap(y_bar: Cotangent, b: Any) -> Any:
    """sum_k y_bar_k b_(k-i), for each i."""
    return np.convolve(y_bar, b[::-1], "valid")


@structured(np.convolve, "a", "v", kept=("a", "v"), multilinear=True)
def _convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    shape_a, shape_v = shape_of(a), shape_of(v)
    y = np.convolve(a, v, mode)
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    full = shape_of(a)[0] + shape_of(v)[0] - 1
    return y, (
        LinearMap(
            lambda a_dot: np.convolve(a_dot, v, mode),
            lambda y_bar: np.reshape(overlap(in_full(y_bar, full), v), shape_a),
        ),
        LinearMap(
            lambda v_dot: np.convolve(a, v_dot, mode),
            lambda y_bar: np.reshape(overlap(in_full(y_bar, full), a), shape_v),
        ),
    )


@structured(np.correlate, "a", "v", kept=("a", "v"), multilinear=True)
def _correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """The convolution with the reversed conjugate of `v`."""
    y = np.correlate(a, v, mode)
    a, v = np.atleast_1d(a), np.atleast_1d(v)  # a list becomes an array
    size_a, size_v = shape_of(a)[0], shape_of(v)[0]

    def full(y_bar: Cotangent) -> Cotangent:
        return in_full(y_bar, size_a + size_v - 1, shorter_first=size_a < size_v)

    return y, (
        LinearMap(
            lambda a_dot: np.correlate(a_dot, v, mode),
            lambda y_bar: np.convolve(full(y_bar), conjugated(v), "valid"),
        ),
        LinearMap(
            lambda v_dot: np.correlate(a, v_dot, mode),
            lambda y_bar: conjugated(overlap(full(y_bar), a))[::-1],
        ),
    )
