"""NumPy's choices, orders, searches, tests of equality and parts by position, by the functions of the standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.array_api.indexing import flat, sums_at, taken
from shiftreset_ad.array_api.promotion import common_dtype, in_dtype, together
from shiftreset_ad.array_api.standard import Standard, entered
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.numpy.shapes import normalize_axis

# Choices, orders and searches


@entered(np.where)
def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return np.nonzero(condition)
    first = next(x for x in (condition, *choices) if isinstance(x, Standard))
    x, y = in_dtype(common_dtype(choices), *choices, like=first)
    if isinstance(condition, Standard):
        mask: Any = condition if condition.dtype.kind == "b" else np.not_equal(condition, 0)
    else:
        (mask,) = in_dtype(np.bool_, condition, like=first)
    return x.like(x.xp.where(mask.array, x.array, y.array))


@entered(np.argmax)
def _argmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.apply("argmax", axis=axis, keepdims=keepdims)


@entered(np.argmin)
def _argmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.apply("argmin", axis=axis, keepdims=keepdims)


@entered(np.sort)
def _sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    a = flat(a) if axis is None else a
    return a.apply("sort", axis=-1 if axis is None else axis)


@entered(np.partition)
def _partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    return np.sort(a, axis)


@entered(np.argsort)
def _argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    a = flat(a) if axis is None else a
    return a.apply("argsort", axis=-1 if axis is None else axis)


@entered(np.nonzero)
def _nonzero(a: Any) -> tuple[Any, ...]:
    return tuple(map(a.like, a.xp.nonzero(a.array)))


@entered(np.flatnonzero)
def _flatnonzero(a: Any) -> Any:
    return np.nonzero(flat(a))[0]


@entered(np.argwhere)
def _argwhere(a: Any) -> Any:
    return np.stack(np.nonzero(a), axis=-1)


@entered(np.count_nonzero)
def _count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.sum(np.not_equal(a, 0), axis=axis, keepdims=keepdims)


@entered(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    a, v = together(a, v)
    a = a if sorter is None else a[sorter]
    return a.like(a.xp.searchsorted(a.array, flat(v).array, side=side)).apply("reshape", v.shape)


@entered(np.isclose)
def _isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    a, b = together(a, b, floating=True)
    near = np.isfinite(b) & np.less_equal(np.absolute(a - b), atol + rtol * np.absolute(b)) | np.equal(a, b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


@entered(np.allclose)
def _allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@entered(np.array_equal)
def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if shape_of(a1) != shape_of(a2):
        return False
    equal = np.equal(a1, a2)
    if equal_nan and "b" not in (np.result_type(a1).kind, np.result_type(a2).kind):
        equal = equal | (np.isnan(a1) & np.isnan(a2))
    return bool(np.all(equal))


@entered(np.array_equiv)
def _array_equiv(a1: Any, a2: Any) -> bool:
    return bool(np.all(np.equal(a1, a2)))


# Parts chosen by position


@entered(np.take)
def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    a = a if isinstance(a, Standard) else indices.converted(a)
    a, axis = (flat(a), 0) if axis is None else (a, normalize_axis(axis, a.ndim))
    return taken(a, _places(indices), axis)


@entered(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    arr = arr if isinstance(arr, Standard) else indices.converted(arr)
    if axis is None:
        return taken(flat(arr), _places(indices), 0)
    axis = normalize_axis(axis, arr.ndim)
    chosen = _places(indices)
    shape = tuple(np.broadcast_shapes(*(_without(axis, sizes) for sizes in (arr.shape, chosen.shape))))
    full = (*shape[:axis], chosen.shape[axis], *shape[axis:])
    grid = list(np.indices(full, sparse=True))
    grid = [np.where(size == 1, 0, places) for size, places in zip(arr.shape, grid, strict=True)]
    grid[axis] = chosen
    return arr[tuple(grid)]


def _without(axis: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


def _places(indices: Any) -> Any:
    return indices if isinstance(indices, Standard) else np.asarray(indices, np.int64)


@entered(np.diagflat)
def _diagflat(v: Any, k: int = 0) -> Any:
    row = flat(v)
    size = row.size + abs(k)
    steps = np.arange(row.size)
    places = (steps + max(0, -k)) * size + steps + max(0, k)
    return sums_at(row, places, size * size).apply("reshape", (size, size))


@entered(np.trace)
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)
