"""Shapes and precisions of values of any kind, and the transpose of broadcasting."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.stand_ins import StagedValue, are_arrays

ADD: Any = np.add.reduce
COUNT: Any = sys.modules["numpy._core.multiarray"].count_nonzero  # what `np.count_nonzero` of a plain array calls
FLOAT64 = np.dtype(float64)


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a float, an array or a number."""
    kind = type(x)
    if kind is float:
        return ()
    if issubclass(kind, StagedValue):
        x = x.inside
        if type(x) is float:
            return ()
    try:
        shape: tuple[int, ...] = x.shape
    except AttributeError:
        shape = np.shape(x)
    return shape


def dtype_of(x: Any) -> Any:
    """The dtype of a float, an array or a number."""
    kind = type(x)
    if kind is float:
        return FLOAT64
    if issubclass(kind, StagedValue):
        x = x.inside
        if type(x) is float:
            return FLOAT64
    try:
        return x.dtype
    except AttributeError:
        return np.result_type(x)


def are_doubles(x: Any, plain: Any) -> bool:
    """Whether both are arrays, plain or recorded ones, and the second is in double precision."""
    return (type(x) is type(plain) is ndarray or are_arrays(x, plain)) and plain.dtype is FLOAT64


def is_complex(x: Any) -> bool:
    """Whether a float, an array or a number is complex."""
    kind = type(x)
    return kind is not float and (x.dtype if kind is ndarray else dtype_of(x)).kind == "c"


def unbroadcast(y_bar: Cotangent, shape: tuple[int, ...]) -> Cotangent:
    """Sum `y_bar` over the axes along which an operand of this `shape` was broadcast: the transpose of broadcasting.

    If the operand has more axes, they have size 1: a write leaves them out.
    """
    if type(y_bar) is ndarray:
        given: tuple[int, ...] = y_bar.shape
        if not shape and given:  # of a scalar: the usual case, for speed
            return ADD(y_bar, None)
    else:
        given = shape_of(y_bar)
    if given == shape:
        return y_bar
    added = len(given) - len(shape)
    if given[added:] == shape:
        return total(y_bar, tuple(range(added)))
    stretched = tuple(
        [axis for axis, size in enumerate(given) if axis < added or (shape[axis - added] == 1 and size != 1)]
    )
    return reshaped(total(y_bar, stretched, keepdims=True), shape)


def total(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> Any:
    """`np.sum`. For a plain array, call the ufunc inside it: for a small array, the outer call is most of the time."""
    if type(x) is ndarray:
        return ADD(x, axis, dtype, None, keepdims)
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def reshaped(x: Any, shape: Any, order: Any = "C") -> Any:
    """`np.reshape`. For a plain array, call the method inside it."""
    if type(x) is ndarray:
        return x.reshape(shape) if order == "C" else x.reshape(shape, order=order)
    return np.reshape(x, shape, order)


def transposed(x: Any) -> Any:
    """`np.transpose`. For a plain array, ask for the attribute."""
    return x.T if type(x) is ndarray else np.transpose(x)
