"""Arrays joined into one array, and split into parts."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, reshaped, shape_of
from shiftreset_ad.rules.building import array
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.layouts import array_of, in_order
from shiftreset_ad.rules.table import LinearMap, MapByMethods, composite, functions_of, structured

# What `np.concatenate` of plain arrays calls, without NumPy's protocol
CONCATENATE: Any = getattr(sys.modules.get("numpy._core._multiarray_umath"), "concatenate", np.concatenate)

new: Any = object.__new__
normalize_axis = np.lib.array_utils.normalize_axis_index


def as_array(part: Any) -> Any:
    """An argument as one array: a list, nested or not, becomes an array."""
    return array(part) if issubclass(type(part), (list, tuple)) else part


@structured(np.concatenate, linear=True)
def _concatenate(arrays: list[Any], /, axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    is_plain = True
    for a in arrays:
        if type(a) is not np.ndarray:
            is_plain = False
    if dtype is not None:
        y = np.concatenate(arrays, axis, dtype=dtype, casting=casting)
    else:
        y = CONCATENATE(arrays, axis) if is_plain else np.concatenate(arrays, axis)
    shape, dtype = (y.shape, y.dtype) if is_plain else (shape_of(y), dtype_of(y))
    before: tuple[slice, ...] = (slice(None),) * normalize_axis(axis, len(shape)) if axis else ()
    place, edge, edges = len(before), 0, [0]
    for a in arrays:
        shape_of_part = a.shape if is_plain else shape_of(a)
        edge += math.prod(shape_of_part) if axis is None else shape_of_part[place]
        edges.append(edge)

    def part(i: int) -> Any:
        index = (*before, slice(edges[i], edges[i + 1]))
        if axis is not None:
            linear_map = new(OfPart)
            linear_map.index, linear_map.shape, linear_map.dtype = index, shape, dtype
            linear_map.is_constant = False
            return linear_map
        original = shape_of(arrays[i])
        return LinearMap(
            lambda x_dot: placed(np.ravel(x_dot), shape, dtype, index),
            lambda y_bar: reshaped(y_bar[index], original),
            moves=True,
        )

    return y, (part,)


class OfPart(MapByMethods):
    """The map of one part of a joined array, which has this `shape`; the part is at this `index`."""

    __slots__ = ("dtype", "index", "shape")
    moves = True
    dtype: Any
    index: tuple[slice, ...]
    shape: tuple[int, ...]

    def pushforward(self, x_dot: Tangent) -> Any:
        if type(x_dot) is not np.ndarray:
            return placed(x_dot, self.shape, self.dtype, self.index)
        y_dot = np.zeros(self.shape, self.dtype)  # the steps of `placed` for the usual case, for speed
        y_dot[self.index] = x_dot
        return y_dot

    def pullback(self, y_bar: Cotangent) -> Cotangent:
        return y_bar[self.index]


def placed(x_dot: Tangent, shape: tuple[int, ...], dtype: Any, index: tuple[slice, ...]) -> Any:
    """`x_dot` in its place among zeros."""
    if type(x_dot) is np.ndarray:  # in a third of the time
        y_dot = np.zeros(shape, dtype)
        y_dot[index] = x_dot
        return y_dot
    before, after = list(shape), list(shape)
    axis = len(index) - 1
    before[axis], after[axis] = index[axis].start, shape[axis] - index[axis].stop
    return np.concatenate([np.zeros(before, dtype), x_dot, np.zeros(after, dtype)], axis)


@structured(np.stack, linear=True)
def _stack(arrays: list[Any], axis: int = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    y = stacked(arrays, axis) if dtype is None else np.stack(arrays, axis, dtype=dtype, casting=casting)
    shape, dtype = (y.shape, y.dtype) if type(y) is np.ndarray else (shape_of(y), dtype_of(y))
    before: tuple[slice, ...] = (slice(None),) * normalize_axis(axis, len(shape)) if axis else ()

    def layer(i: int) -> LinearMap:
        index: Any = (*before, i)

        def pushforward(x_dot: Tangent) -> Any:
            if type(x_dot) is not np.ndarray:
                return placed(np.expand_dims(x_dot, axis), shape, dtype, (*before, slice(i, i + 1)))
            y_dot = np.zeros(shape, dtype)
            y_dot[index] = x_dot
            return y_dot

        return LinearMap(pushforward, lambda y_bar: y_bar[index], False, True)

    return y, (layer,)


def stacked(arrays: list[Any], axis: int) -> Any:
    """`np.stack`; along the first axis of plain arrays, which all have one shape, in half of the time."""
    first = arrays[0]
    if axis != 0 or type(first) is not np.ndarray:
        return np.stack(arrays, axis)
    shape, rows = first.shape, []
    for a in arrays:
        if type(a) is not np.ndarray or a.shape != shape:
            return np.stack(arrays, axis)  # which has an error for two shapes
        rows.append(a[None])
    return CONCATENATE(rows)


@composite(np.vstack)
def _vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return np.concatenate([np.atleast_2d(a) for a in tup], axis=0, dtype=dtype, casting=casting)


@composite(*(function for function in functions_of("row_stack") if function is not np.vstack))
def _row_stack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return np.vstack(tup, dtype=dtype, casting=casting)


@composite(np.hstack)
def _hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    arrays = [np.atleast_1d(a) for a in tup]
    axis = 0 if len(shape_of(arrays[0])) == 1 else 1
    return np.concatenate(arrays, axis=axis, dtype=dtype, casting=casting)


@composite(np.dstack)
def _dstack(tup: Any) -> Any:
    return np.concatenate([np.atleast_3d(a) for a in tup], axis=2)


@composite(np.column_stack)
def _column_stack(tup: Any) -> Any:
    return np.concatenate([a if len(shape_of(a)) > 1 else np.reshape(a, (-1, 1)) for a in tup], axis=1)


@composite(np.append)
def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None:
        return np.concatenate([np.ravel(as_array(arr)), np.ravel(as_array(values))])
    return np.concatenate([arr, values], axis)


@composite(np.ediff1d)
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = as_array(ary)
    row = ary if len(shape_of(ary)) == 1 else np.ravel(ary)
    dtype = dtype_of(row)

    def end(name: str, given: Any) -> list[Any]:
        if given is None:
            return []
        part = np.ravel(as_array(given))
        if not np.can_cast(dtype_of(part), dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        return [part if dtype_of(part) == dtype else astype(part, dtype)]

    differences = row[1:] - row[:-1]
    ends = end("to_begin", to_begin), end("to_end", to_end)
    return np.concatenate([*ends[0], differences, *ends[1]]) if any(ends) else differences


SIZE_OF_LARGE_BLOCKS = 2 * 512 * 512  # elements times the depth; larger answers get the order in memory of the blocks


@composite(np.block)
def _block(arrays: Any) -> Any:
    depth = _depth_of_lists(arrays)
    if depth == 0:
        return np.copy(arrays, order="C")
    ndim = max(depth, *(len(shape_of(a)) for a in _blocks(arrays)))

    def joined(part: Any, depth: int) -> Any:
        if depth == 0:
            shape = shape_of(part)
            return np.reshape(part, (1,) * (ndim - len(shape)) + shape)
        return np.concatenate([joined(each, depth - 1) for each in part], axis=-depth)

    y = joined(arrays, depth)
    if depth * math.prod(shape_of(y)) <= SIZE_OF_LARGE_BLOCKS:
        return y
    blocks = [array_of(as_array(block)) for block in _blocks(arrays)]
    flags = [block.flags for block in blocks if block is not None]
    in_fortran = all(flag.f_contiguous for flag in flags) and not all(flag.c_contiguous for flag in flags)
    return in_order(y, "F" if in_fortran else "C")


def _depth_of_lists(arrays: Any) -> int:
    """How deep the lists of blocks are nested, which must be the same everywhere."""
    if isinstance(arrays, tuple):
        raise TypeError(
            "numpy.block: a tuple was given. Only lists can be used to arrange blocks, and numpy.block does not "
            "allow implicit conversion from tuple to ndarray."
        )
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("numpy.block: list depths are mismatched, as a list is empty")
    depths = {_depth_of_lists(each) for each in arrays}
    if len(depths) > 1:
        raise ValueError(f"numpy.block: list depths are mismatched: {sorted(depths)} in one list")
    return 1 + depths.pop()


def _blocks(arrays: Any) -> list[Any]:
    return [block for each in arrays for block in _blocks(each)] if isinstance(arrays, list) else [arrays]


# Splitting: every part is a view


@composite(np.array_split)
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    axis = normalize_axis(axis, len(shape_of(ary)))
    # NumPy only says where the cuts are, which does not depend on the elements.
    pieces = np.array_split(np.arange(shape_of(ary)[axis]), indices_or_sections)
    before = (slice(None),) * axis
    return [ary[(*before, slice(int(p[0]), int(p[-1]) + 1) if len(p) else slice(0, 0))] for p in pieces]


@composite(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    size = shape_of(ary)[axis]
    if np.ndim(indices_or_sections) == 0 and size % int(indices_or_sections):
        raise ValueError("array split does not result in an equal division")
    return list(_array_split(ary, indices_or_sections, axis))


@composite(np.hsplit)
def _hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_dimensions("hsplit", ary, 1)
    return list(_split(ary, indices_or_sections, 0 if len(shape_of(ary)) == 1 else 1))


@composite(np.vsplit)
def _vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_dimensions("vsplit", ary, 2)
    return list(_split(ary, indices_or_sections, 0))


@composite(np.dsplit)
def _dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    _require_dimensions("dsplit", ary, 3)
    return list(_split(ary, indices_or_sections, 2))


def _require_dimensions(name: str, ary: Any, least: int) -> None:
    if len(shape_of(ary)) < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")


@composite(*functions_of("unstack"))
def _unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    shape = shape_of(x)
    if not shape:
        raise ValueError("Input array must be at least 1-d.")
    before = (slice(None),) * normalize_axis(axis, len(shape))
    return tuple(x[(*before, i)] for i in range(shape[len(before)]))
