"""The largest element of each window.

It is found once, by its position, and then it is an element of `x` like any other: so its derivative goes to the first
of equal elements, as in PyTorch. For arrays of NumPy's, and for tensors, this is one operation, with one kernel of
PyTorch's.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.nn import torch_kernels
from shiftreset_ad.nn.calling import fused, operation
from shiftreset_ad.nn.geometry import Geometry, Sizes
from shiftreset_ad.nn.torch_kernels import by_torch
from shiftreset_ad.numbers.number import Number, innermost
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.indexing import At
from shiftreset_ad.rules.masked import Masked
from shiftreset_ad.rules.table import CONSTANT, LinearMap, structured


def largest(x: Any, tables: Any, g: Geometry | None, out: Sizes) -> Any:
    """The largest element of each window of `x: (batch, channels, *size)`: `(batch, channels, *out)`.

    `tables` and `g` are those of `winners`.
    """
    inside = innermost(x) if issubclass(type(x), Number) else x
    is_ours = type(inside) is np.ndarray or (type(inside) is Standard and g is not None)
    return (_largest if is_ours else _at_winners)(x, tables, g, out)


def _at_winners(x: Any, tables: Any, g: Geometry | None, out: Sizes) -> Any:
    return _elements(x, winners(x, tables, g), out)


def _of_tensors(x: Any, tables: Any, g: Geometry | None, out: Sizes) -> Any:
    assert g is not None
    return torch_kernels.largest(x, Geometry(*g))[0]


@fused(1, _at_winners, _of_tensors)
def _largest(x: Any, tables: Any, g: Geometry | None, out: Sizes) -> Any:
    return _with_positions(x, tables, g, out)[0]


def _lie_apart(g: Geometry) -> bool:
    """Whether no two windows have an element in common."""
    return all(s >= e for s, e in zip(g.stride, g.extent, strict=True))


def _with_positions(x: Any, tables: Any, g: Geometry | None, out: Sizes) -> tuple[Any, Any]:
    """The largest elements and their positions, as `winners` gives them."""
    if g is not None and type(x) in (np.ndarray, Standard):
        found = by_torch(torch_kernels.largest, Geometry(*g), x)
        if found is not None:
            y, positions = found
            return y, np.reshape(positions, (*x.shape[:2], math.prod(out)))
    positions = winners(x, tables, g)
    return _elements(x, positions, out), positions


@structured(_largest, linear=True)
def _differentiate(x: Any, tables: Any, g: Geometry | None, out: Sizes) -> Any:
    y, positions = _with_positions(x, tables, g, out)
    shape = shape_of(x)
    channels, size = shape[0] * shape[1], math.prod(shape[2:])
    is_once = g is not None and _lie_apart(Geometry(*g))

    def to_x(y_bar: Any) -> Any:
        if g is not None and type(y_bar) is type(positions) is Standard:
            x_bar = by_torch(partial(torch_kernels.to_winners, positions=positions.array), Geometry(*g), y_bar)
            if x_bar is not None:
                return x_bar
        if type(y_bar) is not np.ndarray:
            return At(_index_of(np.reshape(positions, (*shape[:2], *out)), shape), y_bar)
        places = np.ravel(np.reshape(np.arange(channels) * size, (*shape[:2], 1)) + positions)
        x_bar, mask = np.zeros(channels * size, y_bar.dtype), np.zeros(channels * size, bool)
        mask[places] = True
        if is_once:
            x_bar[places] = y_bar.ravel()
        else:
            np.add.at(x_bar, places, y_bar.ravel())
        return Masked(x_bar.reshape(shape), mask.reshape(shape))

    return y, (LinearMap(lambda x_dot: _elements(x_dot, positions, out), to_x),)


def _index_of(positions: Any, shape: Sizes) -> tuple[Any, ...]:
    """The index of elements at flat positions in each channel: an array for each axis of `shape`."""
    places: list[Any] = []
    for length in reversed(shape[2:]):
        places.insert(0, positions % length)
        positions = positions // length
    ndim = len(shape)
    return (*[np.reshape(np.arange(shape[axis]), (-1,) + (1,) * (ndim - 1 - axis)) for axis in range(2)], *places)


@operation(1)
def winners(x: Any, tables: Any, g: Geometry | None) -> Any:
    """The flat position in `size` of the largest element of each window: (batch, channels, out).

    `tables` has, for each axis, the positions in each window: (out, kernel). A window is a product of these. `g` is
    given if the windows are those of a `Geometry`.
    """
    found = None if g is None else by_torch(torch_kernels.winners, Geometry(*g), x)
    if found is not None:
        return np.reshape(found, (*shape_of(x)[:2], math.prod(shape_of(found)[2:])))
    size, ndim = shape_of(x)[2:], len(tables)
    flat = np.zeros((1, 1), int)  # of each element of each window, its position
    for axis, table in enumerate(tables):
        before, after = shape_of(x)[: 2 + 2 * axis], shape_of(x)[3 + 2 * axis :]
        x = np.reshape(np.take(x, table.ravel(), 2 + 2 * axis), (*before, *table.shape, *after))
        pairs = flat[:, None, :, None] * size[axis] + table[None, :, None, :]
        flat = np.reshape(pairs, (flat.shape[0] * table.shape[0], flat.shape[1] * table.shape[1]))
    places = range(2, 2 + 2 * ndim, 2)
    by_windows = np.transpose(x, (0, 1, *places, *[place + 1 for place in places]))
    best = np.argmax(np.reshape(by_windows, (*shape_of(x)[:2], *flat.shape)), axis=-1)
    return np.take(flat.ravel(), best + np.arange(flat.shape[0]) * flat.shape[1])


CONSTANT.add(winners)


def _elements(x: Any, positions: Any, out: Any) -> Any:
    """The elements at flat positions in each channel: `(batch, channels, *out)`."""
    batch, channels, *size = shape_of(x)
    found = np.take_along_axis(np.reshape(x, (batch, channels, math.prod(size))), positions, axis=-1)
    return np.reshape(found, (batch, channels, *out))
