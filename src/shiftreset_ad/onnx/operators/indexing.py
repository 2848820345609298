"""Operators that choose elements by index, or write elements at indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.numbers.new_arrays import zeros
from shiftreset_ad.onnx.table import enter, operator, refused
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@operator("Gather", constant=["indices"])
def _gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    return np.take(x, indices, axis=axis)


@operator("GatherElements", 11, constant=["indices"])
def _gather_elements(x: Any, indices: Any, *, axis: int = 0) -> Any:
    return x[_along(indices, axis)]


@operator("GatherND", 11, constant=["indices"])
def _gather_nd(x: Any, indices: Any, *, batch_dims: int = 0) -> Any:
    return x[_grid(indices, batch_dims)]


def _scatter_elements(x: Any, indices: Any, updates: Any, *, axis: int = 0, reduction: str = "none") -> Any:
    return _written("ScatterElements", x, _along(indices, axis), updates, reduction)


enter("Scatter", _scatter_elements, 9, constant=["indices"])
enter("ScatterElements", _scatter_elements, 11, constant=["indices"])


@operator("ScatterND", 11, constant=["indices"])
def _scatter_nd(x: Any, indices: Any, updates: Any, *, reduction: str = "none") -> Any:
    return _written("ScatterND", x, _grid(indices, 0), updates, reduction)


def _along(indices: Any, axis: int) -> tuple[Any, ...]:
    """The indices of all axes, for indices along one of them."""
    places = list(np.indices(np.shape(indices), sparse=True))
    places[axis] = indices
    return tuple(places)


def _grid(indices: Any, batch_dims: int) -> tuple[Any, ...]:
    """The indices of the leading axes, for tuples of indices along the last axis."""
    batch = np.indices(indices.shape[:batch_dims], sparse=True)
    rest = indices.ndim - 1 - batch_dims
    places = [np.reshape(place, place.shape + (1,) * rest) for place in batch]
    return (*places, *np.moveaxis(indices, -1, 0))


def _written(name: str, x: Any, places: tuple[Any, ...], updates: Any, reduction: str) -> Any:
    """A copy of `x`, with `updates` written at `places`."""
    y = zeros(shape_of(x), dtype_of(x)) + x
    if reduction == "none":
        y[places] = updates
    elif reduction == "add":
        np.add.at(y, places, updates)
    elif reduction in _COMBINED:
        _combine_in_turn(_COMBINED[reduction], y, places, updates)
    else:
        raise refused(name, f"reduction is {reduction!r}; it is none of the format")
    return y


_COMBINED: dict[str, Any] = {"mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _combine_in_turn(function: Any, y: Any, places: tuple[Any, ...], updates: Any) -> None:
    """Combine elements in turn, as more than one update may go to one element."""
    shape = np.broadcast_shapes(*[np.shape(place) for place in places])
    every = [np.broadcast_to(place, shape) for place in places]
    for index in np.ndindex(shape):
        place = tuple([int(axis[index]) for axis in every])
        y[place] = function(y[place], updates[index])


@operator("OneHot", 9, constant=["indices", "depth"])
def _one_hot(indices: Any, depth: Any, values: Any, *, axis: int = -1) -> Any:
    count = int(np.reshape(depth, ()))
    axis = axis % (np.ndim(indices) + 1)
    classes = np.reshape(np.arange(count), [-1 if i == axis else 1 for i in range(np.ndim(indices) + 1)])
    chosen = np.where((indices < -count) | (indices >= count), -1, indices % count)  # those outside are no class
    hot = np.expand_dims(chosen, axis) == classes
    return np.where(hot, values[1], values[0])


@operator("Compress", 9, constant=["condition"])
def _compress(x: Any, condition: Any, *, axis: int | None = None) -> Any:
    chosen = np.flatnonzero(condition)
    return np.take(np.reshape(x, -1) if axis is None else x, chosen, axis=0 if axis is None else axis)


@operator("NonZero", 9)
def _non_zero(x: Any) -> Any:
    return np.array(np.nonzero(x), np.int64)


@operator("TopK", constant=["k"], outputs=2)
def _top_k(x: Any, k: Any, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:  # noqa: A002 (the format's)
    size, count = shape_of(x)[axis], int(np.reshape(k, ()))
    if largest:  # of equal elements, the first comes first
        order = size - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    best = np.take(order, np.arange(count), axis=axis)
    return np.take_along_axis(x, best, axis=axis), best.astype(np.int64)
