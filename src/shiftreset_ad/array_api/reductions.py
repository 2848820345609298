"""NumPy's sums, means, extremes and running sums, by the functions of the standard."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.array_api.indexing import flat
from shiftreset_ad.array_api.promotion import common_dtype
from shiftreset_ad.array_api.standard import entered
from shiftreset_ad.rules.numpy.reductions import reduced_axes
from shiftreset_ad.rules.numpy.shapes import normalize_axis
from shiftreset_ad.rules.table import functions_of


def _reduction(name: str, otherwise: int, join_initial: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The definition of a reduction; `otherwise` replaces the elements that do not count."""

    def reduce(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if dtype is None and a.dtype.kind in "biu":
            dtype = np.result_type(a.dtype, np.int64)
        a = counted(a if dtype is None else a.astype(dtype), where, otherwise)
        y = a.apply(name, axis=reduced_axes(axis, a.shape), keepdims=keepdims)
        return y if initial is None else join_initial(y, initial)

    return reduce


def counted(a: Any, where: Any, otherwise: Any) -> Any:
    """The array with `otherwise` in place of the elements that do not count."""
    return a if where is True else np.where(where, a, otherwise)


entered(np.sum)(_reduction("sum", 0, np.add))
entered(np.prod)(_reduction("prod", 1, np.multiply))


@entered(np.mean)
def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    a = a.astype(dtype or common_dtype((a,), floating=True))
    axes = reduced_axes(axis, a.shape)
    if a.dtype.kind == "c":  # the standard has no mean of complex numbers
        return np.sum(a, axis=axes, keepdims=keepdims) / math.prod(a.shape[i] for i in axes)
    return a.apply("mean", axis=axes, keepdims=keepdims)


@entered(np.var)
def _var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    correction: float | None = None,
) -> Any:
    a = a.astype(dtype or common_dtype((a,), floating=True))
    axes = reduced_axes(axis, a.shape)
    centred = a - np.mean(a, axis=axes, keepdims=True)
    squares = np.square(np.absolute(centred)) if a.dtype.kind == "c" else np.square(centred)
    count = math.prod(a.shape[i] for i in axes) - (ddof if correction is None else correction)
    return np.sum(squares, axis=axes, keepdims=keepdims) / max(count, 0)


@entered(np.std)
def _std(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    return np.sqrt(np.var(a, axis, dtype, **options))


def _extreme(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(
        a: Any,
        axis: Any = None,
        out: None = None,
        *,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if initial is None and where is not True:
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask one has "
                "to specify 'initial'"
            )
        axes = reduced_axes(axis, a.shape)
        a = counted(a, where, initial)
        if initial is not None and math.prod(a.shape[i] for i in axes) == 0:
            kept = tuple(1 if i in axes else size for i, size in enumerate(a.shape))
            shape = kept if keepdims else tuple(size for i, size in enumerate(a.shape) if i not in axes)
            return a.full(shape, initial, a.dtype)
        y = a.apply(name, axis=axes, keepdims=keepdims)
        return y if initial is None else function(y, initial)

    return extreme


entered(np.max, np.amax)(_extreme("max", np.maximum))
entered(np.min, np.amin)(_extreme("min", np.minimum))


def _truth(name: str) -> Callable[..., Any]:
    def truth(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        mask = a if a.dtype.kind == "b" else np.not_equal(a, 0)
        return mask.apply(name, axis=reduced_axes(axis, a.shape), keepdims=keepdims)

    return truth


entered(np.all)(_truth("all"))
entered(np.any)(_truth("any"))


def _running(name: str) -> Callable[..., Any]:
    def accumulate(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
        if dtype is None and a.dtype.kind in "biu":
            dtype = np.result_type(a.dtype, np.int64)
        a = flat(a) if axis is None or not a.shape else a
        a = a if dtype is None else a.astype(dtype)
        return a.apply(name, axis=normalize_axis(axis or 0, a.ndim))

    return accumulate


def _running_product(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """The running product, row by row, if the library's version of the standard does not have it."""
    if hasattr(a.xp, "cumulative_prod"):
        return _running("cumulative_prod")(a, axis, dtype)
    a = flat(a) if axis is None or not a.shape else a
    a = a if dtype is None else a.astype(dtype)
    place = normalize_axis(axis or 0, a.ndim)
    rows = [np.take(a, [i], place) for i in range(a.shape[place])]
    for i in range(1, len(rows)):
        rows[i] = rows[i - 1] * rows[i]
    return np.concatenate(rows, axis=place) if rows else a


entered(np.cumsum)(_running("cumulative_sum"))
entered(np.cumprod)(_running_product)


@entered(*functions_of("cumulative_sum"))
def _cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _from_initial(np.cumsum, 0, x, axis, dtype, include_initial)


@entered(*functions_of("cumulative_prod"))
def _cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return _from_initial(np.cumprod, 1, x, axis, dtype, include_initial)


def _from_initial(function: Any, initial: Any, x: Any, axis: Any, dtype: Any, include: bool) -> Any:
    if axis is None and x.ndim != 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    place = normalize_axis(axis or 0, x.ndim)
    y = function(x, axis=place, dtype=dtype)
    if not include:
        return y
    first = x.full((*x.shape[:place], 1, *x.shape[place + 1 :]), initial, y.dtype)
    return np.concatenate([first, y], axis=place)
