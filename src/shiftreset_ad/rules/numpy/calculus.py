"""Differences, integrals and phases of sampled functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.layouts import in_order_like
from shiftreset_ad.rules.numpy.shapes import astype, normalize_axes, normalize_axis
from shiftreset_ad.rules.table import composite

ABSENT = np._NoValue


def as_array(x: Any) -> Any:
    """A list or a Python scalar as an array; a number, or an array, as it is."""
    return x if hasattr(x, "shape") else np.asarray(x)


def along(axis: int, ndim: int, *parts: slice) -> list[tuple[slice, ...]]:
    """An index for each of these parts of an axis."""
    before = (slice(None),) * normalize_axis(axis, ndim)
    return [(*before, part) for part in parts]


@composite(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = ABSENT, append: Any = ABSENT) -> Any:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    a = as_array(a)
    ndim = len(shape_of(a))
    if ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    ends = [_as_end(end, shape_of(a), axis) for end in (prepend, append) if end is not ABSENT]
    if ends:
        parts = [a, *ends] if prepend is ABSENT else [ends[0], a, *ends[1:]]
        a = np.concatenate(parts, axis)
    later, earlier = along(axis, ndim, slice(1, None), slice(None, -1))
    for _ in range(n):
        a = a[later] - a[earlier]
    return a


def _as_end(end: Any, shape: tuple[int, ...], axis: int) -> Any:
    """The array to put before or after the first operand of `diff`; a scalar is broadcast to one layer."""
    if shape_of(end):
        return as_array(end)
    layer = list(shape)
    layer[normalize_axis(axis, len(shape))] = 1
    return np.broadcast_to(end, layer)


@composite(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = as_array(y)
    ndim = len(shape_of(y))
    if x is None:
        widths = dx
    elif len(shape_of(x)) == 1:
        widths = np.reshape(np.diff(x), (-1,) + (1,) * (ndim - 1 - normalize_axis(axis, ndim)))
    else:
        widths = np.diff(x, axis=axis)
    later, earlier = along(axis, ndim, slice(1, None), slice(None, -1))
    return np.sum(widths * (y[later] + y[earlier]) / 2.0, axis)


@composite(np.unwrap)
def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """By NumPy's own steps, with jumps by whole periods: the jumps are constant in `p`, and multiples of `period`."""
    steps = np.diff(p, axis=axis)
    half = period / 2
    turned = np.remainder(steps + half, period) - half
    turned = np.where((turned == -half) & (steps > 0), turned + period, turned)
    jumps = np.where(np.absolute(steps) < (half if discont is None else discont), 0.0, turned - steps)
    later, first = along(axis, len(shape_of(p)), slice(1, None), slice(None, 1))
    return in_order_like(np.concatenate([p[first], p[later] + np.cumsum(jumps, axis)], axis), p)


# The gradient of a sampled function: second-order differences inside, one-sided ones at the ends


@composite(np.gradient)
def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = as_array(f)
    shape = shape_of(f)
    axes = range(len(shape)) if axis is None else normalize_axes(axis, len(shape))
    spacings = _spacings(varargs, [shape[i] for i in axes])
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if dtype_of(f).kind not in "fc":
        f = f.astype(np.float64)
    if any(shape[i] < edge_order + 1 for i in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    slopes = tuple(_slopes(f, h, i, edge_order) for i, h in zip(axes, spacings, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _spacings(given: tuple[Any, ...], sizes: list[int]) -> list[Any]:
    """For each axis, the distance between neighbours, or all distances if the axis has coordinates."""
    if not given:
        return [1.0] * len(sizes)
    if len(given) == 1 and not shape_of(given[0]):
        return list(given) * len(sizes)
    if len(given) != len(sizes):
        raise TypeError("invalid number of arguments")
    return [_distances(x, size) if shape_of(x) else x for x, size in zip(given, sizes, strict=True)]


def _distances(x: Any, size: int) -> Any:
    x = as_array(x)
    if len(shape_of(x)) != 1:
        raise ValueError("distances must be either scalars or 1d")
    if shape_of(x)[0] != size:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if dtype_of(x).kind in "iu":
        x = x.astype(np.float64)
    h = np.diff(x)
    # For constants with equal distances, one distance, as in NumPy. Numbers keep all: each has its own derivative.
    return h[0] if isinstance(h, np.ndarray) and (h == h[0]).all() else h


def _slopes(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    """The differences along one axis, in the precision of `f`; `h` is one distance, or all of them."""
    ndim, dtype, even = len(shape_of(f)), dtype_of(f), not shape_of(h)

    def at(start: int | None, stop: int | None) -> Any:
        return f[along(axis, ndim, slice(start, stop))[0]]

    if even:
        inside = (at(2, None) - at(None, -2)) / (2.0 * h)
    else:
        column = (-1,) + (1,) * (ndim - axis - 1)
        weights = [np.reshape(weight, column) for weight in _weights_inside(h[:-1], h[1:])]
        inside = _weighted(weights, at(None, -2), at(1, -1), at(2, None))
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / (h if even else h[0])
        last = (at(-1, None) - at(-2, -1)) / (h if even else h[-1])
    else:
        at_first = (-1.5 / h, 2.0 / h, -0.5 / h) if even else _weights_at_end(h[0], h[1])
        at_last = (0.5 / h, -2.0 / h, 1.5 / h) if even else _weights_at_end(-h[-1], -h[-2])[::-1]
        first = _weighted(at_first, at(0, 1), at(1, 2), at(2, 3))
        last = _weighted(at_last, at(-3, -2), at(-2, -1), at(-1, None))
    slopes = np.concatenate([first, inside, last], axis)
    return in_order_like(slopes if dtype_of(slopes) == dtype else astype(slopes, dtype), f)


def _weights_inside(h1: Any, h2: Any) -> tuple[Any, Any, Any]:
    """The weights of a point and its neighbours, `h1` before it and `h2` after it, for second-order accuracy."""
    return -h2 / (h1 * (h1 + h2)), (h2 - h1) / (h1 * h2), h1 / (h2 * (h1 + h2))


def _weights_at_end(h1: Any, h2: Any) -> tuple[Any, Any, Any]:
    """The weights of the end, of the next point at the distance `h1`, and of the point `h2` beyond it.

    Backwards, both distances are negative.
    """
    return -(2.0 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))


def _weighted(weights: Any, x: Any, y: Any, z: Any) -> Any:
    a, b, c = weights
    return a * x + b * y + c * z
