"""Functions that read, choose and place elements, for all rows at once."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from shiftreset_ad.batching.along import next_axis
from shiftreset_ad.batching.rows import Rows, elementwise, lined_up, mapped, rows_in
from shiftreset_ad.batching.table import entered
from shiftreset_ad.modes.stacks.at_once import WAYS as LINEAR
from shiftreset_ad.modes.stacks.number import after_rows
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.indexing import read, scatter
from shiftreset_ad.rules.numpy.selection import elements_along
from shiftreset_ad.rules.table import functions_of


@entered(operator.getitem)
def _getitem(batch: Rows, x: Any, index: Any) -> Any:
    if isinstance(x, list | tuple):  # what a function answers, such as `svd`
        return None if rows_in(index) else mapped(lambda part: part.rows, x[index])
    if type(x) is Rows:
        if not rows_in(index):
            return LINEAR[operator.getitem](batch, x, index)
        place = _place(batch, index)
        return None if place is None else read(x.rows, place)
    parts = index if type(index) is tuple else (index,)
    if not all(map(_is_position, parts)):
        return None
    ndim = max(len(shape_of(part)) for part in parts)
    return read(x, tuple([lined_up(part, ndim) for part in parts]))


def _place(batch: Rows, index: Any) -> tuple[Any, ...] | None:
    """An index of one value as an index of all rows; None if all rows have no such index.

    Where positions differ from row to row, the number of the row is one more position.
    """
    if not rows_in(index):
        return after_rows(index)
    parts = index if type(index) is tuple else (index,)
    if not all(map(_is_position, parts)):
        return None
    ndim = max(len(shape_of(part)) for part in parts)
    numbers = np.arange(shape_of(batch.rows)[0]).reshape(-1, *(1,) * ndim)
    return numbers, *[lined_up(part, ndim) for part in parts]


def _is_position(part: Any) -> bool:
    """Whether a part of an index is an integer, or an array of integers."""
    if type(part) is Rows:
        return part.dtype.kind in "iu"
    return (isinstance(part, int | np.integer) and not isinstance(part, bool)) or (
        isinstance(part, np.ndarray) and part.dtype.kind in "iu"
    )


@entered(elements_along)
def _elements_along(batch: Rows, a: Any, axis: int, positions: Any) -> Any:
    if type(positions) is not Rows:
        return elements_along(a.rows, axis + 1, positions)
    return _getitem(batch, a, positions) if axis == 0 and positions.dtype.kind in "iu" else None


@entered(np.take)
def _take(batch: Rows, a: Any, indices: Any, axis: int | None = None, **options: Any) -> Any:
    if options or (axis is None and len(shape_of(a)) != 1):
        return None
    axis = 0 if axis is None else operator.index(axis)
    if type(indices) is not Rows:
        return np.take(a.rows, indices, next_axis(axis))
    return _getitem(batch, a, indices) if axis in (0, -len(shape_of(a))) and indices.dtype.kind in "iu" else None


@entered(np.take_along_axis)
def _take_along_axis(batch: Rows, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return None
    return np.take_along_axis(batch.all_rows(arr), batch.all_rows(indices), next_axis(axis))


@entered(np.where)
def _where(batch: Rows, *args: Any) -> Any:
    return elementwise(np.where, *args) if len(args) == 3 else None


@entered(np.clip)
def _clip(batch: Rows, a: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    if options:
        return None
    given = [x for x in (a, a_min, a_max) if x is not None]
    ndim = max(len(shape_of(x)) for x in given)
    clip: Any = np.clip
    return clip(*[x if x is None else lined_up(x, ndim) for x in (a, a_min, a_max)])


@entered(scatter)
def _scatter(batch: Rows, values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    places = [_place(batch, index) for index in indices]
    if None in places:
        return None
    shape = (shape_of(batch.rows)[0], *shape)
    return scatter([batch.all_rows(x) for x in values], places, shape, dtype)


@entered(*functions_of("zeros_like", "empty_like"))
def _zeros_like(
    batch: Rows, a: Rows, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    return np.zeros_like(a.rows, dtype) if shape is None else None
