"""What NumPy's functions make of a list of alike items, given the array of all items along a new first axis.

A function that joins arrays makes the same of that array by another shape, in one step for all items. Most others turn
a list into that array anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.numpy.joining import normalize_axis


def stack(items: Any, axis: int = 0) -> Any:
    """`np.stack` of the items of an array along its first axis."""
    return items if axis == 0 else np.moveaxis(items, 0, axis)


def concatenate(items: Any, axis: int | None = 0) -> Any:
    """`np.concatenate` of the items."""
    if axis is None:
        return np.reshape(items, (-1,))
    n, *shape = shape_of(items)
    axis = normalize_axis(axis, len(shape))
    return np.reshape(stack(items, axis), (*shape[:axis], n * shape[axis], *shape[axis + 1 :]))


def vstack(items: Any) -> Any:
    """`np.vstack` of the items: each of them is a row, or rows."""
    if len(shape_of(items)) > 2:
        return concatenate(items)
    return np.reshape(items, (-1, 1)) if len(shape_of(items)) == 1 else items


def hstack(items: Any) -> Any:
    """`np.hstack` of the items: numbers and vectors follow one another, and all others lie side by side."""
    dimensions = len(shape_of(items))
    return items if dimensions == 1 else concatenate(items, 0 if dimensions == 2 else 1)


def column_stack(items: Any) -> Any:
    """`np.column_stack` of the items: each of them is a column, or columns."""
    dimensions = len(shape_of(items))
    if dimensions > 2:
        return concatenate(items, 1)
    return np.reshape(items, (1, -1)) if dimensions == 1 else np.transpose(items)


# With no more than these options, by their names.
JOINING: dict[Callable[..., Any], tuple[Callable[..., Any], set[str]]] = {
    np.stack: (stack, {"axis"}),
    np.concatenate: (concatenate, {"axis"}),
    np.vstack: (vstack, set()),
    np.hstack: (hstack, set()),
    np.column_stack: (column_stack, set()),
}
TAKING_ARRAYS = {  # functions to which a list is the array of its items
    *(np.sum, np.prod, np.mean, np.average, np.median, np.std, np.var, np.max, np.min, np.ptp, np.linalg.norm),
    *(np.nansum, np.nanmean, np.nanmax, np.nanmin, np.quantile, np.percentile, np.argmax, np.argmin, np.count_nonzero),
    *(np.cumsum, np.cumprod, np.diff, np.gradient, np.sort, np.argsort, np.flip, np.clip, np.round, np.trapezoid),
    *(np.dot, np.inner, np.outer, np.vdot, np.convolve, np.interp, np.any, np.all, np.ravel, np.reshape, np.transpose),
    *(np.shape, np.size, np.ndim, np.allclose, np.isclose, np.array_equal, np.where, np.zeros_like, np.ones_like),
}


def join(function: Callable[..., Any], items: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a function that joins arrays makes of the items; None if it has other options."""
    of_items, options = JOINING[function]
    if len(args) > len(options) or not kwargs.keys() <= options:
        return None
    return of_items(items, *args, **kwargs)
