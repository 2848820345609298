"""`scipy.ndimage`: `map_coordinates` with derivatives in the data and in the coordinates.

The spline of order k through the data has coefficients at the grid's points, and its value at a place is the sum of the
k + 1 coefficients around it along each axis, with weights. The weights are polynomials of the place. What lies beyond
the border says the mode, by the coefficient that counts there. All other functions are SciPy's, and raise for numbers.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import scipy.ndimage  # type: ignore[import-untyped]

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.scipy.forwarding import forwarding, in_double, no_derivative
from shiftreset_ad.scipy.values import with_value
from shiftreset_ad.transforms.constants import value

__all__ = ["map_coordinates"]

NAME = "scipy.ndimage.map_coordinates"
PADDED = ("nearest", "grid-constant")  # the modes for which SciPy pads the data before it finds the coefficients
PADDING = 12  # points on each side, as SciPy has them
JUMPING = ("constant", "wrap")  # the modes in which nothing goes on behind the last place
SAME = {"grid-mirror": "reflect"}  # other names of modes


def map_coordinates(
    input: Any,  # noqa: A002 (SciPy's name)
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The data `input: (n1, ..., nd)` at the places `coordinates: (d, ...)`, by splines of an order from 0 to 5.

    The result has the shape of the coordinates without the first axis. Data, coordinates and `cval` may be numbers, and
    derivatives have any order; at a knot of the spline they are those on the right, and at the last place of the
    modes "constant" and "wrap", where the values jump, those on the left. Values, modes and errors are SciPy's.
    NotImplementedError for numbers with an `output`, and for complex numbers that are being differentiated.

    >>> from shiftreset_ad import grad
    >>> image = np.arange(12.0).reshape(3, 4)
    >>> grad(lambda at: map_coordinates(image, at, order=1)[0])(np.array([[0.5], [1.5]])).tolist()
    [[4.0], [1.0]]
    """
    if not any(map(has_number, (input, coordinates, cval))):
        return scipy.ndimage.map_coordinates(input, coordinates, output, order, mode, cval, prefilter)
    if output is not None:
        raise no_derivative(f"{NAME} with output={output!r:.30}", "output=None")
    data, places = in_double(input, NAME), in_double(coordinates, NAME)
    theirs = scipy.ndimage.map_coordinates(value(data), value(places), None, order, mode, value(cval), prefilter)
    kind = SAME.get(mode, mode)
    shape, sizes = shape_of(theirs), shape_of(data)
    rows = np.reshape(places, (len(sizes), -1))
    is_inside = np.ones(shape_of(rows)[1], bool)
    if kind == "constant":
        is_inside = np.all((rows >= 0.0) & (rows <= np.reshape(sizes, (-1, 1)) - 1.0), axis=0)
    if prefilter and order > 1:
        if kind in PADDED:
            is_given = np.pad(np.ones(sizes, bool), PADDING)
            padded = np.pad(data, PADDING, mode="edge" if kind == "nearest" else "constant")
            data = padded if kind == "nearest" else np.where(is_given, padded, cval)
            rows = rows + float(PADDING)
        data = _coefficients(data, order, mode)
    found = _values(data, rows, order, kind, cval)
    found = np.where(is_inside, found, cval)
    return with_value(np.reshape(found, shape), theirs)


def _coefficients(data: Any, order: int, mode: str) -> Any:
    """The coefficients of the spline through the data: a linear map along each axis."""
    for axis, size in enumerate(shape_of(data)):
        data = np.moveaxis(np.tensordot(_filter(size, order, mode), data, (1, axis)), 0, axis)
    return data


@cache
def _filter(size: int, order: int, mode: str) -> Any:
    """The map from data to coefficients along an axis, as a matrix."""
    return scipy.ndimage.spline_filter1d(np.eye(size), order, axis=0, mode=mode)


def _values(coefficients: Any, rows: Any, order: int, mode: str, cval: Any) -> Any:
    """The sums of the coefficients around each place, with their weights."""
    weights, taps, beyond = [], [], []
    for x, size in zip(rows, shape_of(coefficients), strict=True):
        x = _brought_inside(x, size, mode)
        shifted = x if order % 2 else x + 0.5
        first = np.floor(shifted)
        if mode in JUMPING and order % 2 and size > 1:
            first = np.minimum(first, size - 2.0)
        weights.append(_weights(shifted - first, order))
        start = value(first).astype(int) - order // 2
        whole = [start + k for k in range(order + 1)]
        beyond.append([(tap < 0) | (tap >= size) for tap in whole])
        taps.append([_tap(tap, size, mode) for tap in whole])
    total: Any = 0.0
    for corner in product(range(order + 1), repeat=len(taps)):
        weight: Any = 1.0
        for along, k in zip(weights, corner, strict=True):
            weight = weight * along[k]
        found = coefficients[tuple(along[k] for along, k in zip(taps, corner, strict=True))]
        if mode == "grid-constant":
            found = np.where(np.any([along[k] for along, k in zip(beyond, corner, strict=True)], axis=0), cval, found)
        total = total + weight * found
    return total


def _weights(s: Any, order: int) -> list[Any]:
    """The weights of the coefficients around a place that lies by the part `s` behind a knot (de Boor's recurrence)."""
    weights: list[Any] = [1.0 + 0.0 * s]
    for d in range(1, order + 1):
        padded = [0.0, *weights, 0.0]
        weights = [((s + (d - j)) * padded[j] + (j + 1 - s) * padded[j + 1]) / d for j in range(d + 1)]
    return weights


def _brought_inside(x: Any, size: int, mode: str) -> Any:
    """The place in the data that a place outside stands for, where the coefficients beyond the border do not say it."""
    if mode == "constant":
        return np.where((x >= 0.0) & (x <= size - 1.0), x, 0.0)
    if mode != "wrap" or size == 1:
        return x
    period = size - 1.0
    from_below = x + period * (np.floor(-x / period) + 1.0)  # to the last place, if it is a multiple of the period
    from_above = x - period * np.floor(x / period)  # to the first place
    return np.where(x < 0.0, from_below, np.where(x > period, from_above, x))


def _tap(tap: Any, size: int, mode: str) -> Any:
    """Which coefficient counts at a place of the grid that may lie beyond the border."""
    if size == 1:
        return np.zeros_like(tap)
    if mode in PADDED:
        return np.clip(tap, 0, size - 1)
    if mode == "grid-wrap":
        return tap % size
    if mode == "reflect":
        tap = tap % (2 * size)
        return np.where(tap >= size, 2 * size - 1 - tap, tap)
    tap = tap % (2 * size - 2)
    return np.where(tap >= size, 2 * size - 2 - tap, tap)


__getattr__, __dir__ = forwarding(scipy.ndimage, globals())
