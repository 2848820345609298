"""Methods of ufuncs: `reduce`, `accumulate`, `reduceat` and `outer`.

For some ufuncs, a function of NumPy has the same meaning. For any other elementwise function of two operands, the
methods are computed by their definition, as steps of this function.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.rules.layouts import in_order_like
from shiftreset_ad.rules.numpy.accumulations import accumulated, running_maximum, running_minimum
from shiftreset_ad.rules.numpy.reductions import NOT_GIVEN, given, in_line, mask_of, normalize_axes, reduced_axes
from shiftreset_ad.rules.numpy.shapes import astype, constant_of
from shiftreset_ad.rules.table import ELEMENTWISE

REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.fmax: np.nanmax,
    np.fmin: np.nanmin,
}
WITH_DTYPE = (np.add, np.multiply)
ASSOCIATIVE = (np.logaddexp, np.logaddexp2, np.hypot)
# Without `power` and `arctan2`: some versions of NumPy compute wrong reductions of them.
STEP_BY_STEP = (*ASSOCIATIVE, np.subtract, np.divide, np.remainder, np.fmod)
ACCUMULATIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.cumsum,
    np.multiply: np.cumprod,
    np.maximum: partial(accumulated, running_maximum),
    np.minimum: partial(accumulated, running_minimum),
}


def reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    """`ufunc.reduce(array, ...)`."""
    initial = NOT_GIVEN if initial is None else initial
    if dtype is not None and ufunc not in WITH_DTYPE:
        array, dtype = astype(array, dtype), None
    options = given(initial=initial, where=where)
    if ufunc in REDUCTIONS:
        if dtype is not None:
            options["dtype"] = dtype
        return REDUCTIONS[ufunc](array, axis=axis, keepdims=keepdims, **options)
    # This also raises NumPy's error for axes where the order matters, and gives the answer of an empty reduction.
    whole = constant_of(
        array, lambda a, where: ufunc.reduce(a, axis, keepdims=keepdims, where=where, **given(initial=initial)), where
    )
    shape = shape_of(array)
    axes = reduced_axes(axis, shape)
    line = in_line(array, axes)
    if shape_of(line)[-1] == 0:
        return whole
    steps = shape_of(line)[-1]
    if initial is NOT_GIVEN and where is not True:
        initial = ufunc.identity
    if steps == 1 and ufunc is np.hypot and initial is NOT_GIVEN:
        y = np.absolute(_column(line, 0))  # NumPy begins with 0 and takes the hypotenuse
    elif where is True and initial is NOT_GIVEN and ufunc in ASSOCIATIVE:
        y = _by_halves(ufunc, line)
    else:
        counted = in_line(np.broadcast_to(mask_of(where), shape), axes)
        columns = [_column(line, k) for k in range(steps)]
        if initial is not NOT_GIVEN:
            columns.insert(0, np.broadcast_to(np.asarray(initial, dtype_of(line)), shape_of(line)[:-1]))
        y = columns[0] if len(columns) > 1 else np.positive(columns[0])  # a single element must be no view, either
        for column, counts in zip(columns[1:], np.moveaxis(counted, -1, 0)[steps + 1 - len(columns) :], strict=True):
            y = ufunc(y, column) if where is True else np.where(counts, ufunc(y, column), y)[()]
    return np.reshape(y, shape_of(whole)) if keepdims else y


def _by_halves(ufunc: np.ufunc, line: Any) -> Any:
    """The reduction along the last axis, in as many steps as the length has binary digits."""
    whole = line
    while (size := shape_of(line)[-1]) > 1:
        half = size // 2
        joined = ufunc(line[..., :half], line[..., half : 2 * half])
        line = joined if size % 2 == 0 else np.concatenate([joined, line[..., -1:]], axis=-1)
    return np.positive(_column(line, 0)) if whole is line else _column(line, 0)


def _column(line: Any, k: int) -> Any:
    """The elements at place `k` along the last axis: for a vector a scalar, otherwise a view."""
    return line[(slice(None),) * (len(shape_of(line)) - 1) + (k,)]


def accumulate(ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None) -> Any:
    """`ufunc.accumulate(array, ...)`."""
    if ufunc in ACCUMULATIONS:
        return ACCUMULATIONS[ufunc](array, axis=axis, dtype=dtype)
    return in_order_like(accumulated(lambda a: _step_by_step(ufunc, a), array, axis, dtype), array)


def _step_by_step(ufunc: np.ufunc, a: Any) -> Any:
    columns = [a[..., k] for k in range(shape_of(a)[-1])]
    return np.stack(list(itertools.accumulate(columns, ufunc)), axis=-1) if columns else np.positive(a)


def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """`ufunc.reduceat(array, indices, ...)`: the reductions of slices between indices."""
    whole = constant_of(array, lambda array: ufunc.reduceat(array, indices, axis, dtype))
    array = astype(array, whole.dtype)
    (axis,) = normalize_axes(axis, len(shape_of(array)))
    line = np.moveaxis(array, axis, -1)
    starts = np.asarray(indices, dtype=np.intp)
    stops = np.append(starts[1:], shape_of(line)[-1])
    lengths = np.maximum(stops - starts, 1)  # one element where the slice goes backwards
    if ufunc is np.add:
        segments = np.repeat(np.arange(len(starts)), lengths)
        places = np.arange(len(segments)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + starts[segments]
        y = scatter([line[..., places]], [(..., segments)], np.moveaxis(whole, axis, -1).shape, dtype_of(line))
    else:
        parts = [
            reduce(ufunc, line[..., start : start + length], -1) if length > 1 else np.positive(line[..., start])
            for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
        ]
        y = np.stack(parts, axis=-1) if parts else np.moveaxis(whole, axis, -1)
    return in_order_like(np.moveaxis(y, -1, axis), whole)


def outer(ufunc: np.ufunc, a: Any, b: Any) -> Any:
    """`ufunc.outer(a, b)`."""
    return ufunc(np.reshape(a, shape_of(a) + (1,) * len(shape_of(b))), b)


UFUNC_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduce,
    "accumulate": accumulate,
    "reduceat": reduceat,
    "outer": outer,
}


def definition_of(ufunc: np.ufunc, method: str) -> Callable[..., Any] | None:
    """The meaning of `ufunc.method`, as a function of numbers; None if it has no derivative rule."""
    possible = ufunc in ELEMENTWISE and ufunc.nin == 2 if method == "outer" else ufunc in (*REDUCTIONS, *STEP_BY_STEP)
    if not possible or method not in UFUNC_METHODS:
        return None
    return partial(UFUNC_METHODS[method], ufunc)
