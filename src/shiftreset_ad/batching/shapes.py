"""Functions that repeat, pad and move elements, transforms of several axes, and lengths, for all rows at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.batching.along import next_axis
from shiftreset_ad.batching.rows import Rows, lined_up, rows_in
from shiftreset_ad.batching.table import Way, entered
from shiftreset_ad.modes.stacks.at_once import WAYS as LINEAR
from shiftreset_ad.modes.stacks.number import lined_up_rows
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.linalg.norms import length
from shiftreset_ad.rules.table import functions_of

INTEGERS = (int, np.integer)


def _flat(a: Rows) -> Any:
    """The elements of each row, one after the other."""
    return np.reshape(a.rows, (shape_of(a.rows)[0], math.prod(a.shape)))


@entered(np.tile)
def _tile(batch: Rows, A: Any, reps: Any) -> Any:  # noqa: N803 (NumPy's name)
    counts = (reps,) if isinstance(reps, INTEGERS) else reps
    if type(A) is not Rows or not isinstance(counts, tuple | list) or not all(isinstance(n, INTEGERS) for n in counts):
        return None
    missing = (1,) * (len(A.shape) - len(counts))
    return np.tile(lined_up_rows(A.rows, len(counts)), (1, *missing, *counts))


@entered(np.repeat)
def _repeat(batch: Rows, a: Any, repeats: Any, axis: Any = None) -> Any:
    if type(a) is not Rows or not isinstance(repeats, INTEGERS):
        return None
    return np.repeat(_flat(a), repeats, 1) if axis is None else np.repeat(a.rows, repeats, next_axis(axis))


@entered(np.roll)
def _roll(batch: Rows, a: Any, shift: Any, axis: Any = None) -> Any:
    if type(a) is not Rows or rows_in(shift):
        return None
    if axis is not None:
        return LINEAR[np.roll](batch, a, shift, axis)
    return np.reshape(np.roll(_flat(a), shift, 1), shape_of(a.rows)) if isinstance(shift, INTEGERS) else None


@entered(np.pad)
def _pad(batch: Rows, array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    is_known = isinstance(mode, str) and isinstance(pad_width, int | tuple | list)
    if type(array) is not Rows or not is_known or not all(isinstance(x, str | int | float) for x in options.values()):
        return None
    widths = np.broadcast_to(pad_width, (len(array.shape), 2)).tolist()
    return np.pad(array.rows, [(0, 0), *map(tuple, widths)], mode, **options)


def _transform(function: Callable[..., Any], default: Any) -> Way:
    """The way of a Fourier transform of several axes."""

    def way(batch: Rows, a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        if axes is None:
            axes = range(-len(a.shape if s is None else s), 0)
        return function(a.rows, s, [next_axis(axis) for axis in axes], norm)

    return way


for _name in ("fft", "ifft", "rfft", "irfft"):
    for _ending, _default in (("2", (-2, -1)), ("n", None)):
        for _function in functions_of(f"fft.{_name}{_ending}"):
            entered(_function)(_transform(_function, _default))


def _dot_of_last(function: Callable[..., Any]) -> Way:
    """The way of the product of vectors along the last axis."""

    def way(batch: Rows, x1: Any, x2: Any, **options: Any) -> Any:
        ndim = max(len(shape_of(x1)), len(shape_of(x2)))
        return None if options else function(lined_up(x1, ndim), lined_up(x2, ndim))

    return way


for _function in functions_of("vecdot", "linalg.vecdot"):
    entered(_function)(_dot_of_last(_function))


@entered(length)
def _length(batch: Rows, x: Rows, axes: tuple[int, ...], keepdims: bool) -> Any:
    return length(x.rows, next_axis(axes), keepdims)
