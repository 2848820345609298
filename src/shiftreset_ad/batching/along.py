"""Functions along an axis take the next axis of all rows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.batching.rows import Rows, rows_in
from shiftreset_ad.batching.table import entered
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.numpy.sorting import rearranged
from shiftreset_ad.rules.table import functions_of

# Along the axis `axis`; None means all elements.
ALONG = {
    *functions_of("sum", "mean", "prod", "max", "min", "amax", "amin", "ptp", "var", "std", "any", "all"),
    *functions_of("nansum", "nanmean", "nanprod", "nanmax", "nanmin", "nanvar", "nanstd", "nancumsum", "nancumprod"),
    *functions_of("cumsum", "cumprod", "argmax", "argmin", "nanargmax", "nanargmin", "count_nonzero", "median"),
}
# The same, and an axis before the last one is counted from the end unless it is given: `axis=-1`.
ALONG_LAST = {
    *functions_of("sort", "argsort", "diff", "trapezoid", "unwrap", "fft.fft", "fft.ifft", "fft.rfft", "fft.irfft"),
    *functions_of("fft.hfft", "fft.ihfft", "expand_dims"),
}

PLAIN = (bool, int, float)


def along(function: Callable[..., Any], is_last: bool, args: Any, kwargs: Any) -> Any:
    """The answer of a function to its first argument, for all rows; `is_last` says which axis it takes by itself."""
    options = _bound(function, args, kwargs)
    if options is None:
        return None
    x, ndim = args[0].rows, len(args[0].shape)
    default = -1 if is_last else 0 if getattr(function, "__self__", None) is not None else None
    axis = options.pop("axis", default)
    if axis is None:
        keepdims = options.pop("keepdims", False) is True
        flat = np.reshape(x, (shape_of(x)[0], math.prod(shape_of(x)[1:])))
        answer = function(flat, axis=1, **options)
        return np.reshape(answer, shape_of(answer) + (1,) * ndim) if keepdims else answer
    if ndim == 0:
        return None
    return function(x, axis=next_axis(axis), **options)


def next_axis(axis: Any) -> Any:
    """The same axis of all rows: the next one, unless it is counted from the end."""
    if isinstance(axis, tuple | list):
        return tuple(map(next_axis, axis))
    return axis if axis < 0 else axis + 1


@cache
def _names(function: Callable[..., Any]) -> tuple[str, ...] | None:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ("array", "axis", "dtype", "out", "keepdims") if function.__name__ == "reduce" else None


def _bound(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any] | None:
    """The arguments after the first, by their names; None if the names are not known, or an array is among them."""
    names = _names(function) if len(args) > 1 else ("",) * len(args)
    if names is None or len(args) > len(names):
        return None
    options = {**dict(zip(names[1:], args[1:], strict=False)), **kwargs}
    options = {name: option for name, option in options.items() if option is not np._NoValue and name != "out"}
    if all(option is None or type(option) in PLAIN or name == "axis" for name, option in options.items()):
        return options  # the usual case, for speed
    return options if all(np.ndim(option) == 0 or name == "axis" for name, option in options.items()) else None


@entered(*functions_of("squeeze"))
def _squeeze(batch: Rows, a: Rows, axis: Any = None) -> Any:
    axes = tuple(i for i, size in enumerate(a.shape) if size == 1) if axis is None else axis
    return np.squeeze(a.rows, next_axis(axes))


@entered(*functions_of("swapaxes"))
def _swapaxes(batch: Rows, a: Rows, axis1: int, axis2: int) -> Any:
    return np.swapaxes(a.rows, next_axis(axis1), next_axis(axis2))


@entered(*functions_of("moveaxis"))
def _moveaxis(batch: Rows, a: Rows, source: Any, destination: Any) -> Any:
    return np.moveaxis(a.rows, next_axis(source), next_axis(destination))


@entered(*functions_of("flip"))
def _flip(batch: Rows, m: Rows, axis: Any = None) -> Any:
    return np.flip(m.rows, tuple(range(1, len(m.shape) + 1)) if axis is None else next_axis(axis))


@entered(rearranged)
def _rearranged(batch: Rows, a: Any, order: Any, axis: int) -> Any:
    return rearranged(batch.all_rows(a), batch.all_rows(order), next_axis(axis))


@entered(*functions_of("linalg.norm"))
def _norm(batch: Rows, x: Rows, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002 (NumPy's name)
    if rows_in((ord, axis)) or not x.shape:
        return None
    if axis is not None:
        return np.linalg.norm(x.rows, ord, next_axis(axis), keepdims)
    if ord is None and not keepdims:
        return np.linalg.norm(np.reshape(x.rows, (-1, x.size)), axis=1)
    return np.linalg.norm(x.rows, ord, tuple(range(1, len(x.shape) + 1)), keepdims) if len(x.shape) <= 2 else None
