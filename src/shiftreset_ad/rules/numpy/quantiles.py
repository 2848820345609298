"""Medians and quantiles: elements at given ranks, and interpolation between two of them.

If NaNs are ignored, each line of elements has its own count: sorting puts the NaNs at the end of the line. Hyndman and
Fan, Sample quantiles in statistical packages, The American Statistician 50(4), 1996.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.numpy.reductions import averaged_axes, in_line, reduced_axes
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.numpy.sorting import along, order_of
from shiftreset_ad.rules.plain import as_array, plain
from shiftreset_ad.rules.table import composite

# The place of a quantile among n sorted elements, from 0 on: n q + alpha + q (1 - alpha - beta) - 1.
INTERPOLATING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}


def _up_unless(place: Any, stays: Any) -> Any:
    """The position after `place`; where it `stays`, the position at `place` or before."""
    return np.where(stays, np.floor(place), np.floor(place) + 1)


def _closest_observation(n: Any, q: Any) -> Any:
    place = n * q - 1 - 0.5
    return _up_unless(place, (place % 1 == 0) & (place % 2 == 1))


def _averaged(n: Any, q: Any) -> Any:
    place = n * q - 1
    return np.where(place % 1 == 0, place + 0.5, np.floor(place) + 1)


# The methods where the quantile jumps from one element to the next.
SELECTING: dict[str, Callable[[Any, Any], Any]] = {
    "inverted_cdf": lambda n, q: _up_unless(n * q - 1, (n * q - 1) % 1 == 0),
    "closest_observation": _closest_observation,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.round((n - 1) * q),
}
# The methods where the quantile jumps by way of the average of two elements.
HALVING: dict[str, Callable[[Any, Any], Any]] = {
    "averaged_inverted_cdf": _averaged,
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}


class Lines:
    """Elements in lines along the last axis of `a`. Each line is sorted, and its first `count` elements count."""

    def __init__(self, a: Any, axes: tuple[int, ...], ignore_nan: bool) -> None:
        self.a = in_line(a, axes)
        self.order = order_of(self.a)
        self.size = shape_of(self.a)[-1]
        valid = np.sum(~np.isnan(self.a), axis=-1, keepdims=True)
        self.count: Any = valid if ignore_nan else self.size
        without_answer = valid == 0 if ignore_nan else valid < self.size
        if ignore_nan and np.any(without_answer):
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)
        self.marks = np.where(without_answer, np.nan, 1.0).astype(self.a.dtype) if np.any(without_answer) else None

    def at(self, positions: Any) -> Any:
        """The elements at these positions of each line: `(..., k)`. The lines share the k positions, or each has k."""
        shape = (*shape_of(self.a)[:-1], positions.shape[-1])
        places = np.broadcast_to(np.clip(positions, 0, np.maximum(self.count - 1, 0)), shape).astype(np.intp)
        index = np.take_along_axis(self.order, places, -1)
        return self.a[along(index, len(shape) - 1)]

    def places_of(self, values: Any) -> Any:
        """For k selected elements, given by their plain values `(k, ...)`, the first position of each."""
        in_order = np.take_along_axis(plain(self.a), self.order, -1)
        return np.argmax(in_order[..., None, :] == np.moveaxis(values, 0, -1)[..., None], axis=-1)

    def marked(self, y: Any) -> Any:
        """`y` with NaN for the lines that have no quantile, and in its derivatives there."""
        return y if self.marks is None else y * self.marks


def with_axes(y: Any, shape: tuple[int, ...], axes: tuple[int, ...], first: tuple[int, ...] = ()) -> Any:
    """`y` with the reduced axes put back in their places, with size 1, after the axes of the shape `first`."""
    return np.reshape(y, first + tuple(1 if i in axes else size for i, size in enumerate(shape)))


def first_of(y: Any) -> Any:
    """The first element along the last axis, as a scalar if there is no other axis."""
    return y[(slice(None),) * (len(shape_of(y)) - 1) + (0,)]


def _median(ignore_nan: bool, a: Any, axis: Any, keepdims: bool) -> Any:
    shape = shape_of(a)
    axes = averaged_axes(axis, shape)
    if 0 in shape:
        return np.nanmean(a, axis=axis, keepdims=keepdims) if ignore_nan else np.mean(a, axis=axis, keepdims=keepdims)
    lines = Lines(a, axes, ignore_nan)
    count = np.atleast_1d(lines.count)
    middle = lines.at(np.concatenate([(count - 1) // 2, count // 2], axis=-1))
    y = np.mean(middle, axis=-1, keepdims=True)
    if np.any(count % 2 == 1):
        y = np.where(count % 2 == 1, middle[..., :1], y)
    y = lines.marked(y)
    return with_axes(y, shape, axes) if keepdims else first_of(y)


@composite(np.median)
def _median_of_all(a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    return _median(False, a, axis, keepdims)


@composite(np.nanmedian)
def _median_of_numbers(a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    return _median(True, a, axis, keepdims)


def _quantile_by(function: Callable[..., Any], ignore_nan: bool, percent: bool) -> Callable[..., Any]:
    """The definition of `quantile`, `percentile`, `nanquantile` or `nanpercentile`."""

    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        *,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        weights: Any = None,
    ) -> Any:
        a = as_array(a)
        if is_complex(a):
            raise TypeError("a must be an array of real numbers")
        shape, q_shape = shape_of(a), shape_of(q)
        axes = reduced_axes(axis, shape)
        # The derivative in the weights is zero wherever it is defined: they only decide which element is selected.
        options = {} if weights is None else {"weights": plain(weights)}
        plain_q = plain(q)
        whole = function(plain(a), plain_q, axis=axis, method=method, keepdims=keepdims, **options)
        if 0 in shape:
            return whole
        lines = Lines(a, axes, ignore_nan)
        if weights is not None:
            y = lines.at(lines.places_of(np.reshape(whole, (math.prod(q_shape), *shape_of(lines.a)[:-1]))))
        else:
            fraction = np.reshape(q, -1)
            if percent:
                fraction = fraction / (dtype_of(a).type(100) if dtype_of(a).kind == "f" else 100)
            y = between(lines, fraction, method, type(plain_q) in (int, float))
        y = lines.marked(y)
        y = first_of(y) if q_shape == () else np.reshape(np.moveaxis(y, -1, 0), q_shape + shape_of(y)[:-1])
        return with_axes(y, shape, axes, q_shape) if keepdims else y

    return quantile


for _name, _ignore_nan, _percent in (
    ("quantile", False, False),
    ("percentile", False, True),
    ("nanquantile", True, False),
    ("nanpercentile", True, True),
):
    composite(getattr(np, _name))(_quantile_by(getattr(np, _name), _ignore_nan, _percent))


def between(lines: Lines, q: Any, method: str, weak: bool) -> Any:
    """The quantiles `q` of each line; if `q` is `weak`, it does not decide the precision."""
    # A count for each line is converted to the precision of q, in which one count for all lines computes, too.
    count = lines.count if isinstance(lines.count, int) else lines.count.astype(np.result_type(dtype_of(q)))
    if method in SELECTING:
        return lines.at(SELECTING[method](count, plain(q)))
    if method in HALVING:
        place = HALVING[method](count, plain(q))
    elif method == "linear":
        place = (count - 1) * q
    else:
        alpha, beta = INTERPOLATING[method]
        place = count * q + (alpha + q * (1 - alpha - beta)) - 1
    if dtype_of(place).kind != "f":
        return lines.at(place)
    floor = np.floor(place)
    at_place = plain(place)
    share = at_place - floor
    here, after = lines.at(floor), lines.at(floor + 1)
    # Interpolate from the nearer end, as NumPy does.
    step = np.where(share >= 0.5, share - 1, share)
    step = step.astype(dtype_of(lines.a)) if weak else step
    y = np.where(share >= 0.5, after, here) + (after - here) * step
    if isinstance(place, np.ndarray):
        return y
    inside = (at_place >= 0) & (at_place <= lines.count - 1)
    slope = np.where(inside, mean_slope(lines, here, after, floor, share == 0, plain(q)), 0.0)
    return y + astype(slope * (place - at_place), dtype_of(y))


def mean_slope(lines: Lines, here: Any, after: Any, floor: Any, exact: Any, q: Any) -> Any:
    """The slope in the place. Exactly at an element, it is the mean of both sides, unless q can go to one side only."""
    if not np.any(exact):
        return after - here
    share_after = np.where(exact, np.where(q == 0, 1.0, np.where(q == 1, 0.0, 0.5)), 1.0)
    return share_after * (after - here) + (1.0 - share_after) * (here - lines.at(floor - 1))
