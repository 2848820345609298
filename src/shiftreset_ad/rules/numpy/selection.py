"""Elements chosen by their positions. The answers are copies; only a diagonal is a view."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.indexing import At, frozen_index
from shiftreset_ad.rules.layouts import in_order, order_of
from shiftreset_ad.rules.numpy.joining import as_array
from shiftreset_ad.rules.numpy.shapes import normalize_axes, normalize_axis
from shiftreset_ad.rules.stand_ins import ask, is_staged
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, linear, structured


def along(axis: int, index: Any) -> tuple[Any, ...]:
    """`index` for one axis, with full slices for the axes before it."""
    return (*(slice(None),) * axis, index)


def as_positions(name: str, indices: Any) -> Any:
    """Positions as an array of integers, also a single position: with an array, indexing makes a copy."""
    dtype = dtype_of(as_array(indices))
    empty = isinstance(indices, list | tuple) and not indices  # an empty list has no dtype of its own
    if dtype.kind not in "iub" and not empty:
        raise TypeError(
            f"numpy.{name}: positions are integers, but these have dtype {dtype}; "
            "for a number that is being differentiated, use shiftreset_ad.value(x).astype(int)"
        )
    if is_staged(indices):
        array = indices if shape_of(indices) else np.copy(indices)  # an integer of Python's is no array
        return array.astype(np.intp)
    return np.asarray(indices, np.intp)


def brought_into_range(name: str, positions: Any, size: int, mode: str) -> Any:
    """Positions along an axis of this size. `mode` is for positions out of range; "raise" leaves these to indexing."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"numpy.{name}: mode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    if mode == "raise":
        return positions
    if not size and positions.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return np.asarray(positions % size if mode == "wrap" else np.clip(positions, 0, size - 1)) if size else positions


def flattened_for(axis: int | None, a: Any) -> tuple[Any, int]:
    """The array and the axis that a function works along; None means the array as one row."""
    a = as_array(a)
    if axis is None:
        return (a if len(shape_of(a)) == 1 else np.ravel(a)), 0
    return a, normalize_axis(axis, len(shape_of(a)))


def in_line(axis: int | None, a: Any) -> tuple[Any, int]:
    """`flattened_for`, for a function that takes a scalar as a row of one element, which has an axis 0."""
    return flattened_for(None if axis in (0, -1) and not shape_of(a) else axis, a)


@dispatched
def elements_along(a: Any, axis: int, positions: Any) -> Any:
    """The elements at these positions of an axis, in the memory layout of NumPy's functions.

    `a[:, positions]` has another layout, and on the layout depends whether `numpy.ravel` of the answer is a view.
    """
    if is_staged(positions):  # NumPy would not ask them
        return ask(positions, np.take, (a, positions, axis), {})
    return np.take(a, positions, axis)


@structured(elements_along, linear=True)
def _elements_along(a: Any, axis: int, positions: Any) -> Any:
    positions = frozen_index(positions)
    place = along(axis, positions)
    return linear(a, lambda a: elements_along(a, axis, positions), lambda y_bar: At(place, y_bar))


@composite(np.take)
def _take(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    a, axis = in_line(axis, a)
    positions = as_positions("take", indices)
    return elements_along(a, axis, brought_into_range("take", positions, shape_of(a)[axis], mode))


@composite(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if dtype_of(indices).kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None and len(shape_of(indices)) != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    arr, axis = flattened_for(axis, arr)
    ndim = len(shape_of(arr))
    if len(shape_of(indices)) != ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    open_mesh = np.ogrid[tuple(slice(size) for size in shape_of(arr))]
    return arr[tuple(indices if i == axis else positions for i, positions in enumerate(open_mesh))]


@composite(np.delete)
def _delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    arr, axis = flattened_for(axis, arr)
    is_slice = isinstance(obj, slice)
    if not is_slice:
        as_positions("delete", obj)
    kept = np.delete(np.arange(shape_of(arr)[axis]), obj)
    if is_slice or (np.size(obj) == 1 and np.asarray(obj).dtype.kind in "iu"):
        return in_order(np.take(arr, kept, axis), order_of(arr))
    return arr[along(axis, kept)]


@composite(np.insert)
def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    arr, axis = flattened_for(axis, arr)
    shape = shape_of(arr)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(shape[axis]))
    as_positions("insert", obj)
    values = _in_dtype_of(arr, as_array(values))
    places = np.asarray(obj)
    count = int(np.count_nonzero(places)) if places.dtype == bool else places.size
    if count == 1:  # then `values` may have several elements
        given = shape_of(values)
        values = np.reshape(values, (1,) * (len(shape) - len(given)) + given)
        if places.ndim == 0:
            values = np.moveaxis(values, 0, axis)
        count = shape_of(values)[axis]
    values = np.broadcast_to(values, (*shape[:axis], count, *shape[axis + 1 :]))
    # NumPy says where the elements go, as it does not depend on their values.
    order = np.insert(np.arange(shape[axis]), obj, np.arange(shape[axis], shape[axis] + count))
    return in_order(np.take(np.concatenate([arr, values], axis), order, axis), order_of(arr))


def _in_dtype_of(arr: Any, values: Any) -> Any:
    """`values` in the dtype of `arr`; TypeError if it would make them constants."""
    to = dtype_of(arr)
    if dtype_of(values) == to:
        return values
    if to.kind not in "fc":
        raise TypeError(
            f"numpy.insert: arr has dtype {to}, but the numbers in values are being differentiated, and would become "
            "constants in it; give arr.astype(float)"
        )
    return astype(values, to)


# Diagonals


@structured(np.diagonal, linear=True)
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    y = np.diagonal(a, offset, axis1, axis2)
    ndim = len(shape_of(a))
    rows, columns = normalize_axes((axis1, axis2), ndim)
    steps = np.arange(shape_of(y)[-1])
    index: list[Any] = [slice(None)] * ndim
    index[rows], index[columns] = steps - min(offset, 0), steps + max(offset, 0)
    # The index puts the elements in the place of these axes, or first if the axes are apart.
    place = min(rows, columns) if abs(rows - columns) == 1 else 0
    return y, (
        LinearMap(
            lambda a_dot: np.diagonal(a_dot, offset, axis1, axis2),
            lambda y_bar: At(tuple(index), np.moveaxis(y_bar, -1, place)),
        ),
    )


@structured(np.diagflat, linear=True)
def _diagflat(v: Any, k: int = 0) -> Any:
    original = shape_of(v)
    return linear(v, lambda v: np.diagflat(v, k), lambda y_bar: np.reshape(np.diagonal(y_bar, k), original))


@composite(np.diag)
def _diag(v: Any, k: int = 0) -> Any:
    ndim = len(shape_of(v))
    if ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return np.diagflat(v, k) if ndim == 1 else np.diagonal(v, k)


@composite(np.tril)
def _tril(m: Any, k: int = 0) -> Any:
    return np.where(_lower(m, k), m, 0.0)


@composite(np.triu)
def _triu(m: Any, k: int = 0) -> Any:
    return np.where(_lower(m, k - 1), 0.0, m)


def _lower(m: Any, k: int) -> Any:
    """The mask of the elements on or below the diagonal `k`; as in NumPy, a vector of size n counts as n equal rows."""
    shape = shape_of(m)[-2:]
    return np.tri(shape[0], shape[-1], k=k, dtype=bool)


# Windows


@structured(sliding_window_view, linear=True)
def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    if writeable:
        raise ValueError(
            "numpy.lib.stride_tricks.sliding_window_view: numbers that are being differentiated cannot be written to "
            "through windows that overlap, so writeable must be False. Write to the array itself"
        )
    shape = shape_of(x)

    def transpose(y_bar: Cotangent) -> Cotangent:
        axes = range(len(shape)) if axis is None else normalize_axes(axis, len(shape), allow_duplicate=True)
        for window_axis in reversed(axes):
            y_bar = sum_of_windows(y_bar, window_axis)
        return y_bar

    return linear(x, lambda x: windows(x, window_shape, axis), transpose)


def windows(x: Any, window_shape: Any, axis: Any) -> Any:
    """`sliding_window_view` with the same base as a slice of `x`: after a write to `x`, the base tells its views."""
    if is_staged(x):
        return ask(x, windows, (x, window_shape, axis), {})
    y = sliding_window_view(x, window_shape, axis)
    return _with_owner(y, x) if type(x) is type(y) is np.ndarray else y


def _with_owner(y: Any, x: Any) -> Any:
    """The view `y` of `x`; its base becomes the array that owns the memory."""
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    elements = owner.ravel("K")  # a view, in whatever order the axes lie in memory
    if not y.size or elements.base is not owner:
        return y
    address = owner.__array_interface__["data"][0]
    offset = y.__array_interface__["data"][0] - address
    view: Any = np.ndarray(y.shape, y.dtype, elements, offset, y.strides)
    view.flags.writeable = False
    return view


def sum_of_windows(y_bar: Cotangent, axis: int) -> Any:
    """The sum of windows along the last axis. Each window lies one step further along `axis` than the one before it."""
    rows = np.moveaxis(y_bar, axis, -2)
    *outer, count, size = shape_of(rows)
    if not size:
        return np.zeros([*outer[:axis], count - 1, *outer[axis:]], dtype_of(y_bar))
    if size < count:  # take windows or places as rows, whichever are fewer
        rows, count, size = np.swapaxes(rows, -1, -2), size, count
    # If the padded rows are read as rows that are shorter by one, each row begins one step further.
    padded = np.concatenate([rows, np.zeros((*outer, count, count), dtype_of(y_bar))], axis=-1)
    length = count + size - 1
    flat = np.reshape(padded, (*outer, count * (length + 1)))[..., : count * length]
    return np.moveaxis(np.sum(np.reshape(flat, (*outer, count, length)), axis=-2), -1, axis)


# Repetition and order


@composite(np.repeat)
def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    a, axis = in_line(axis, a)
    positions = np.repeat(np.arange(shape_of(a)[axis]), repeats)
    return elements_along(a, axis, positions)


@composite(np.tile)
def _tile(A: Any, reps: Any) -> Any:  # noqa: N803 (NumPy's name)
    counts = tuple(reps) if np.ndim(reps) else (int(reps),)
    shape = (1,) * (len(counts) - len(shape_of(A))) + shape_of(A)
    counts = (1,) * (len(shape) - len(counts)) + counts
    pairs = list(zip(counts, shape, strict=True))
    interleaved = np.reshape(A, [n for _, size in pairs for n in (1, size)])
    copies = np.broadcast_to(interleaved, [n for count, size in pairs for n in (count, size)])
    tiled = np.reshape(copies, [count * size for count, size in pairs])
    # This is still a view, unless there are several copies of several elements.
    if any(count > 1 and size > 1 for count, size in pairs) and all(shape):
        return tiled
    return np.copy(tiled, order="K" if all(count == 1 for count in counts) else "C")


@structured(np.roll, linear=True)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    back = tuple(-s for s in shift) if isinstance(shift, tuple | list) else -shift
    return linear(a, lambda a: np.roll(a, shift, axis), lambda y_bar: np.roll(y_bar, back, axis))


@composite(np.resize)
def _resize(a: Any, new_shape: Any) -> Any:
    shape = tuple(new_shape) if isinstance(new_shape, tuple | list) else (new_shape,)
    if any(size < 0 for size in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    row, _ = flattened_for(None, a)
    (size,) = shape_of(row)
    if not size:
        return np.zeros(shape, dtype_of(a))
    return np.reshape(np.take(row, np.arange(np.prod(shape, dtype=int)), mode="wrap"), shape)
