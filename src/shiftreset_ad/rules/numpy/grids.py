"""Grids and sequences between numbers, and arrays filled with one number."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of, unbroadcast
from shiftreset_ad.rules.conversion import astype, in_precision
from shiftreset_ad.rules.numpy.joining import as_array
from shiftreset_ad.rules.table import LinearMap, composite, structured


def shares(num: Any, endpoint: bool, axis: int, y: Any) -> tuple[Any, Any]:
    """The shares of `start` and `stop` in each of `num` elements along an axis of `y`."""
    ndim = len(shape_of(y))
    count = operator.index(num)
    dtype = np.finfo(np.result_type(dtype_of(y), np.float64)).dtype  # real, and at least as precise as `y`
    of_stop = np.arange(count, dtype=dtype) / max(count - 1 if endpoint else count, 1)
    of_stop = np.reshape(of_stop, (-1,) + (1,) * (ndim - 1 - axis % ndim))
    return 1.0 - of_stop, of_stop


@structured(np.linspace, "start", "stop", linear=True)
def _linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    answer = np.linspace(start, stop, num, endpoint, retstep, dtype, axis)
    y = answer[0] if retstep else answer
    common = np.broadcast_shapes(shape_of(start), shape_of(stop))
    steps = operator.index(num) - bool(endpoint)
    per_step = 1.0 / steps if steps > 0 else 0.0

    def of_one(shape: tuple[int, ...], share: Any, share_of_step: float) -> LinearMap:
        def pushforward(x_dot: Tangent) -> Tangent:
            y_dot = np.expand_dims(np.broadcast_to(x_dot, common), axis) * share
            return (y_dot, np.broadcast_to(x_dot, common) * share_of_step) if retstep else y_dot

        def pullback(y_bar: Cotangent) -> Cotangent:
            if not retstep:
                return unbroadcast(np.sum(y_bar * share, axis=axis), shape)
            of_y, of_step = y_bar
            from_step = unbroadcast(of_step * share_of_step, shape)
            return from_step if of_y is None else from_step + unbroadcast(np.sum(of_y * share, axis=axis), shape)

        return LinearMap(pushforward, pullback)

    of_start, of_stop = shares(num, endpoint, axis, y)
    return answer, (of_one(shape_of(start), of_start, -per_step), of_one(shape_of(stop), of_stop, per_step))


@composite(np.logspace)
def _logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    if shape_of(base):
        ndim = max(len(shape_of(part)) for part in (start, stop, base))
        start, stop, base = (
            np.reshape(part, (1,) * (ndim - len(shape_of(part))) + shape_of(part)) for part in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    y = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else astype(y, dtype)


@structured(np.geomspace, "start", "stop", kept=("start", "stop"))
def _geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    y = np.geomspace(start, stop, num, endpoint, dtype, axis)
    unconverted = y if dtype is None else np.geomspace(start, stop, num, endpoint, axis=axis)
    common = np.broadcast_shapes(shape_of(start), shape_of(stop))

    def of_one(x: Any, share: Any) -> LinearMap:
        """The map of one end: y is start**(1 - t) * stop**t, so an end has the share 1 - t or t in each element."""

        def slope() -> Any:
            return share * unconverted / np.expand_dims(np.broadcast_to(x, common), axis)

        return LinearMap(
            lambda x_dot: in_precision(slope() * np.expand_dims(np.broadcast_to(x_dot, common), axis), dtype_of(y)),
            lambda y_bar: unbroadcast(np.sum(slope() * y_bar, axis=axis), shape_of(x)),
        )

    of_start, of_stop = shares(num, endpoint, axis, y)
    return y, (of_one(start, of_start), of_one(stop, of_stop))


# Meshes

NOT_COPIED: Any = type(np.meshgrid(0.0, sparse=True, copy=False))  # a list before NumPy 2.5


@composite(np.meshgrid)
def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    axes = [1, 0, *range(2, ndim)] if indexing == "xy" and ndim > 1 else range(ndim)
    grids: Any = [np.reshape(x, (1,) * i + (-1,) + (1,) * (ndim - 1 - i)) for x, i in zip(xi, axes, strict=True)]
    if not sparse:
        grids = np.broadcast_arrays(*grids)
    return tuple(np.copy(grid, order="C") for grid in grids) if copy else NOT_COPIED(grids) if sparse else grids


@composite(np.ix_)
def _ix(*args: Any) -> tuple[Any, ...]:
    """An open mesh of numbers; indices and masks among them mean the same as in NumPy."""
    if any(len(shape_of(x)) != 1 for x in args):
        raise ValueError("Cross index must be 1 dimensional")

    def row(x: Any) -> Any:
        if isinstance(x, list | tuple) and not x:
            return np.zeros(0, np.intp)
        x = as_array(x)
        return np.flatnonzero(x) if dtype_of(x).kind == "b" else x

    ndim = len(args)
    return tuple(np.reshape(row(x), (1,) * i + (-1,) + (1,) * (ndim - 1 - i)) for i, x in enumerate(args))


# Arrays with the shape of another array


@composite(np.full_like)
def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    dtype = dtype_of(a) if dtype is None else np.dtype(dtype)
    filled = np.broadcast_to(as_array(fill_value), shape_of(a) if shape is None else shape)
    filled = np.copy(filled, order="F" if order == "F" else "C")
    return filled if dtype_of(filled) == dtype else astype(filled, dtype)
