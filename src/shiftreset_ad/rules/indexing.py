"""Reading parts of an array, and the transpose of reading: adding into parts of an array."""

from __future__ import annotations

import copy
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of, unbroadcast
from shiftreset_ad.rules.stand_ins import ask, is_staged, staged_among
from shiftreset_ad.rules.table import LinearMap, dispatched, linear, structured

BASIC = (int, np.integer, slice, type(None), type(Ellipsis))
PLAIN = frozenset((int, slice, type(None), type(Ellipsis), np.ndarray))  # the types that hold no staged value
UNCHANGING = PLAIN - {np.ndarray}
BOUNDS = frozenset((int, type(None)))  # the types of the bounds of most slices
FIXED = UNCHANGING - {slice}
POSITIONS = np.dtype(np.intp)
FEW = 256  # elements, that are not worth an index of their own for each


class At(NamedTuple):
    """A cotangent that is zero outside of the part `index`, where it is `y_bar`."""

    index: Any
    y_bar: Cotangent


def frozen_index(index: Any) -> Any:
    """A copy of `index`, where it is needed: the program may change an array in it before the way back."""
    kind = type(index)
    if kind is int:
        return index
    if kind is slice:
        start, stop, step = index.start, index.stop, index.step
        if type(start) in BOUNDS and type(stop) in BOUNDS and type(step) in BOUNDS:  # the usual case, for speed
            return index
        return slice(frozen_bound(start), frozen_bound(stop), frozen_bound(step))
    if kind is np.ndarray:
        return index.copy()
    if kind is tuple:
        for part in index:
            if type(part) not in FIXED and frozen_index(part) is not part:
                return tuple(map(frozen_index, index))
        return index  # the usual case, for speed
    if kind is list:
        array = np.array(index)
        return array if array.size else array.astype(np.intp)  # empty lists name no place
    if isinstance(index, BASIC):
        return index
    # A counter of the user's, or an array of another library
    return frozen_bound(index) if is_counter(index) else copy.deepcopy(index)


def frozen_bound(bound: Any) -> Any:
    """A bound of a slice as it is now: it may be an array without dimensions, or an object that counts."""
    return operator.index(bound) if is_counter(bound) else bound


def is_counter(x: Any) -> bool:
    """Whether `x` is an object that stands for an integer, and may stand for another one later."""
    if isinstance(x, BASIC) or is_staged(x) or not hasattr(x, "__index__"):
        return False
    return getattr(x, "shape", ()) == ()


def names_each_position_once(index: Any) -> bool:
    """Whether `index` is a slice, an integer or a mask, so that no position can be in this part twice."""
    if type(index) is np.ndarray:  # the usual case, for speed
        return bool(index.dtype == bool) or not index.ndim
    if isinstance(index, BASIC):
        return True
    if type(index) is tuple:
        return UNCHANGING.issuperset(map(type, index)) or all(
            isinstance(part, BASIC) or _is_staged_integer(part) or (type(part) is np.ndarray and not part.ndim)
            for part in index
        )
    is_array = isinstance(index, np.ndarray) or is_staged(index)
    return _is_staged_integer(index) or (is_array and dtype_of(index).kind == "b")


def _is_staged_integer(part: Any) -> bool:
    return is_staged(part) and dtype_of(part).kind in "iu" and not shape_of(part)


def without_repeats(index: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], Any]:
    """An index that names each position once, and for each element of the old index its place in the new one.

    The old index has arrays of integers, for an array of this shape; the new one has the positions along one axis. If
    slices are before the arrays or between them, a position is one element; otherwise it is all that lies at the place.
    """
    positions, leading = _positions(index, shape)
    unique, places = np.unique(positions, return_inverse=True)
    return np.unravel_index(unique, leading), np.reshape(places, np.shape(positions))


def has_repeats(index: Any, shape: tuple[int, ...]) -> bool:
    """Whether an index with arrays of integers, for an array of this shape, names a position twice."""
    positions, _ = _positions(index, shape)
    size = np.size(positions)
    return size > 1 and size > (len(set(positions.ravel().tolist())) if size <= FEW else np.unique(positions).size)


def _positions(index: Any, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """The positions that the index names, as numbers along one axis, and the shape of all positions."""
    parts = index if type(index) is tuple else (index,)
    if all(isinstance(part, int | np.integer) or _has_integers(part) for part in parts):
        leading = shape[: len(parts)]
        arrays = np.broadcast_arrays(*(np.asarray(part) for part in parts))
        for array, size in zip(arrays, leading, strict=True):
            if array.size and not -size <= array.min() <= array.max() < size:
                np.empty(shape)[index]  # NumPy's own error
        positions = np.ravel_multi_index(
            [array % max(size, 1) for array, size in zip(arrays, leading, strict=True)], leading
        )
    else:
        leading = shape
        positions = np.arange(math.prod(shape)).reshape(shape)[index]
    return positions, leading


def _has_integers(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind in "iu"


def read(x: Any, index: Any) -> Any:
    """`x[index]`. If the index is staged, staging reads: a plain array would convert the index."""
    if type(x) is not np.ndarray:
        return x[index]
    if type(index) is np.ndarray:
        return rows_at(x, index) if x.ndim > 1 and index.dtype is POSITIONS else x[index]
    if type(index) in PLAIN or (staged := staged_part(index)) is None:
        return x[index]
    return ask(staged, operator.getitem, (x, index), {})


def rows_at(x: np.ndarray[Any, Any], positions: np.ndarray[Any, Any]) -> Any:
    """`x[positions]` for an array of rows: `take` gives the same in a quarter of the time, if both lie in C order."""
    if positions.ndim and positions.flags.c_contiguous and x.flags.c_contiguous:
        try:
            return x.take(positions, 0)
        except IndexError:
            pass  # the index raises it, with the size of the axis
    return x[positions]


def staged_part(index: Any) -> Any:
    """The first staged part of the index, or None."""
    kind = type(index)
    if kind in PLAIN or (kind is tuple and PLAIN.issuperset(map(type, index))):
        return None
    return staged_among(*index) if kind is tuple else staged_among(index)


def scatter_into(array: np.ndarray[Any, Any], index: Any, values: Any) -> None:
    """Add `values` into the part `index` of a plain array; a position that the index names twice gets both values."""
    if type(index) is slice:
        part = array[index]
        part += values  # without assigning the view to its own place again
    elif names_each_position_once(index):
        array[index] += values
    elif names_many_places(array, index):
        add_at_places(array, index, values)
    else:
        np.add.at(array, index, values)


def names_many_places(array: np.ndarray[Any, Any], index: Any) -> bool:
    """Whether `index` is integers and arrays of integers, for many elements, and the array lies in C order."""
    parts = index if type(index) is tuple else (index,)
    if array.ndim < 2 or not array.flags.c_contiguous or not all(type(x) is int or _has_integers(x) for x in parts):
        return False
    places: int = math.prod(np.broadcast_shapes(*[np.shape(part) for part in parts]))
    return bool(places * math.prod(array.shape[len(parts) :]) >= FEW)


def add_at_places(array: np.ndarray[Any, Any], index: Any, values: Any) -> None:
    """Add `values` to the places `index` of an array that lies in C order, element by element.

    The order is that of `numpy.add.at`, which takes five times as long for an index of several arrays, and for rows, as
    for one array that names single elements.
    """
    parts = index if type(index) is tuple else (index,)
    places: Any = 0
    for part, size in zip(parts, array.shape, strict=False):
        positions = np.asarray(part, np.intp)
        if positions.size and positions.min() < 0:
            positions = np.where(positions < 0, positions + size, positions)
        places = places * size + positions
    rest = array.shape[len(parts) :]
    shape = places.shape + rest
    places = places.reshape(-1)
    values = np.ravel(values if np.shape(values) == shape else np.broadcast_to(values, shape))  # in a row, for a view
    array, size = array.reshape(-1), math.prod(rest)
    if size % 2 == 0 and array.dtype == values.dtype == np.float64:
        array, values, size = array.view(np.complex128), values.view(np.complex128), size // 2  # two additions in one
    np.add.at(array, places if size == 1 else elements_of(places, size, array.size), values)


def elements_of(places: np.ndarray[Any, Any], size: int, of: int) -> Any:
    """The positions of all elements of the parts at `places`, each of `size` elements, in an array `of` so many."""
    if not 0 < of <= places.size * size:
        return (np.expand_dims(places, -1) * size + np.arange(size)).reshape(-1)
    return np.arange(of).reshape(-1, size).take(places, 0).reshape(-1)  # in a third of the time


@dispatched
def scatter(values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros to which each of `values` is added at its index: the sum of all `At(index, value)`."""
    for index in indices:
        if type(index) not in PLAIN and (staged := staged_part(index)) is not None:
            return ask(staged, scatter, (values, indices, shape, dtype), {})
    array = np.zeros(shape, dtype)
    for index, value in zip(indices, values, strict=True):
        scatter_into(array, index, value)
    return array


@dispatched
def replaced(values: list[Any], index: Any) -> Any:
    """A copy of an array with another part: `values` are the item that is written to `index`, and the array."""
    if type(index) not in PLAIN and (staged := staged_part(index)) is not None:
        return ask(staged, replaced, (values, index), {})
    item, array = values
    found = np.array(array)
    found[index] = item
    return found


@structured(operator.getitem, linear=True)
def _getitem(x: Any, index: Any) -> Any:
    index = frozen_index(index)
    return linear(x, lambda x: read(x, index), lambda y_bar: At(index, y_bar), selects=True)


@structured(scatter, linear=True)
def _scatter(values: list[Any], indices: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    def part(i: int) -> LinearMap:
        index = indices[i]
        return LinearMap(lambda x_dot: scatter([x_dot], [index], shape, dtype), lambda y_bar: read(y_bar, index))

    return scatter(values, indices, shape, dtype), (part,)


@structured(replaced, linear=True)
def _replaced(values: list[Any], index: Any) -> Any:
    """The index names each position once. So each element of the answer is one of the array, or one of the item.

    The pullback for the item comes first, so that the other one may write to the cotangent.
    """
    (item, array), index = values, frozen_index(index)
    shape, dtype, shape_of_item = shape_of(array), dtype_of(array), shape_of(item)

    def part(i: int) -> LinearMap:
        if i == 1:
            return LinearMap(lambda x_dot: replaced([0.0, x_dot], index), lambda y_bar: replaced([0.0, y_bar], index))
        return LinearMap(
            lambda v_dot: replaced([v_dot, np.zeros(shape, dtype)], index),
            lambda y_bar: unbroadcast(read(y_bar, index), shape_of_item),
        )

    return replaced(values, index), (part,)
