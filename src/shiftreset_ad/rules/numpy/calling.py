"""NumPy's functions that call a function of the user's for each part of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.numpy.joining import as_array
from shiftreset_ad.rules.numpy.shapes import normalize_axis
from shiftreset_ad.rules.table import composite


@composite(np.apply_along_axis)
def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    shape = shape_of(arr)
    axis = normalize_axis(axis, len(shape))
    others = shape[:axis] + shape[axis + 1 :]
    if 0 in others:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = np.moveaxis(arr, axis, -1)
    parts = [as_array(func1d(rows[(*place, ...)], *args, **kwargs)) for place in np.ndindex(others)]
    # The first answer determines the shape and the dtype of all answers.
    within, dtype = shape_of(parts[0]), dtype_of(parts[0])
    if dtype.kind not in "fc" and any(dtype_of(part).kind in "fc" for part in parts):
        raise TypeError(
            f"numpy.apply_along_axis: the first answer of the function has dtype {dtype}, and NumPy converts the "
            "others to it, which would cut off floats; always return floats"
        )
    alike = [part if dtype_of(part) == dtype else astype(part, dtype) for part in parts]
    y = np.reshape(np.stack([np.broadcast_to(part, within) for part in alike]), others + within)
    added = range(len(others), len(others) + len(within))
    return np.moveaxis(y, added, range(axis, axis + len(within)))


@composite(np.apply_over_axes)
def _apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    ndim = len(shape_of(a))
    for axis in axes if np.ndim(axes) else (axes,):
        axis = axis + ndim if axis < 0 else axis
        y = func(a, axis)
        a = y if len(shape_of(y)) == len(shape_of(a)) else np.expand_dims(y, axis)
        if len(shape_of(a)) != ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return a
