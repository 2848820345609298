"""Functions that reduce or accumulate along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.table import (
    CONSTANT,
    LinearMap,
    composite,
    functions_of,
    linear,
    require_order,
    structured,
)

normalize_axes = np.lib.array_utils.normalize_axis_tuple

CONSTANT.update(
    functions_of(
        *("all", "any", "argmax", "argmin", "argsort", "argwhere", "nonzero", "flatnonzero", "count_nonzero"),
        *("nanargmax", "nanargmin", "searchsorted", "digitize", "lexsort", "argpartition"),
        *("allclose", "isclose", "array_equal", "array_equiv"),
    )
)


def reduced_axes(axis: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that `axis` names, as a reduction understands it: None is all of them; a scalar has axis 0 and -1."""
    if axis is None or (shape == () and axis in (0, -1)):
        return tuple(range(len(shape)))
    return tuple(normalize_axes(axis, len(shape)))


def count_along(axes: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """How many elements go into each one of a reduction over `axes`."""
    return math.prod(shape[i] for i in axes)


def spreading(shape: tuple[int, ...], axes: tuple[int, ...]) -> Callable[[Any], Any]:
    """The transpose of summing over `axes`: the sum's cotangent, with or without `keepdims`, back in full `shape`."""
    kept = tuple(1 if i in axes else size for i, size in enumerate(shape))

    def spread(y_bar: Any) -> Any:
        return np.broadcast_to(np.reshape(y_bar, kept), shape)

    return spread


@structured(np.sum, linear=True)
def _sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    shape = shape_of(a)
    transpose = spreading(shape, reduced_axes(axis, shape))
    return linear(a, lambda a: np.sum(a, axis=axis, dtype=dtype, keepdims=keepdims), transpose)


@structured(np.mean, linear=True)
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    shape = shape_of(a)
    axes = reduced_axes(axis, shape)
    count = count_along(axes, shape) or 1  # of no elements there is no derivative either
    spread = spreading(shape, axes)
    return linear(
        a, lambda a: np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims), lambda y_bar: spread(y_bar / count)
    )


@structured(np.var)
def _var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    correction: float | None = None,
) -> Any:
    ddof = _degrees(ddof, correction)
    shape = shape_of(a)
    axes = reduced_axes(axis, shape)
    spread = spreading(shape, axes)

    def slope() -> Any:
        centred = a - np.mean(a, axis=axes, dtype=dtype, keepdims=True)
        if is_complex(centred):  # the variance is the mean of |centred|**2, and real
            centred = np.conjugate(centred)
        return 2.0 * centred / max(count_along(axes, shape) - ddof, 0)

    return np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims), (
        LinearMap(
            lambda x_dot: np.sum(slope() * x_dot, axis=axis, keepdims=keepdims),
            lambda y_bar: slope() * spread(y_bar),
        ),
    )


@composite(np.std)
def _std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    correction: float | None = None,
) -> Any:
    return np.sqrt(np.var(a, axis=axis, dtype=dtype, ddof=_degrees(ddof, correction), keepdims=keepdims))


def _degrees(ddof: float, correction: float | None) -> float:
    """Both are names of one argument."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of `max` and `min`: elements that tie for the extreme share the derivative equally."""

    def differentiate(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        shape = shape_of(a)
        axes = reduced_axes(axis, shape)
        spread = spreading(shape, axes)
        require_order(function, a)
        y = function(a, axis=axis, keepdims=keepdims)

        def chosen() -> Any:
            tied = a == spread(y)
            return tied / np.sum(tied, axis=axes, keepdims=True)

        return y, (
            LinearMap(
                lambda x_dot: np.sum(chosen() * x_dot, axis=axis, keepdims=keepdims),
                lambda y_bar: chosen() * spread(y_bar),
            ),
        )

    return differentiate


for _name in ("max", "amax", "min", "amin"):
    structured(getattr(np, _name), linear=True)(_extreme(getattr(np, _name)))


@structured(np.prod)
def _prod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    shape = shape_of(a)
    axes = reduced_axes(axis, shape)
    spread = spreading(shape, axes)
    return np.prod(a, axis=axis, dtype=dtype, keepdims=keepdims), (
        LinearMap(
            lambda x_dot: np.sum(products_of_others(a, axes) * x_dot, axis=axis, dtype=dtype, keepdims=keepdims),
            lambda y_bar: products_of_others(a, axes) * spread(y_bar),
        ),
    )


def products_of_others(a: Any, axes: tuple[int, ...]) -> Any:
    """For each element, the product of all others along `axes`: no division, so right where elements are zero."""
    shape = shape_of(a)
    kept = [i for i in range(len(shape)) if i not in axes]
    order = (*kept, *axes)
    lined_up = np.reshape(np.transpose(a, order), (*(shape[i] for i in kept), count_along(axes, shape)))
    others = np.reshape(_others(lined_up), tuple(shape[i] for i in order))
    return np.transpose(others, tuple(np.argsort(order)))


def _others(a: Any) -> Any:
    """Products of all others along the last axis, from those of pairs: O(n) multiplications."""
    shape = shape_of(a)
    size = shape[-1]
    dtype = dtype_of(a)
    if size <= 1:
        return np.ones(shape, dtype)
    if size % 2:
        a = np.concatenate([a, np.ones((*shape[:-1], 1), dtype)], axis=-1)
    left, right = a[..., 0::2], a[..., 1::2]
    outside = _others(left * right)
    pairs = np.stack([right * outside, left * outside], axis=-1)
    return np.reshape(pairs, shape_of(a))[..., :size]


@structured(np.cumsum, linear=True)
def _cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    shape = shape_of(a)

    def transpose(y_bar: Any) -> Any:
        along = 0 if axis is None else axis
        return np.reshape(np.flip(np.cumsum(np.flip(y_bar, along), along), along), shape)

    return linear(a, lambda a: np.cumsum(a, axis=axis, dtype=dtype), transpose)


@composite(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    before = (slice(None),) * normalize_axes(axis, len(shape_of(a)))[0]
    for _ in range(n):
        a = a[(*before, slice(1, None))] - a[(*before, slice(None, -1))]
    return a
