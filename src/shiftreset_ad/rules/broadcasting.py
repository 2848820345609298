"""Shapes and precisions of values of any kind, and the undoing of broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a float, an array or a number."""
    if type(x) is float:
        return ()
    try:
        shape: tuple[int, ...] = x.shape
    except AttributeError:
        shape = np.shape(x)
    return shape


def dtype_of(x: Any) -> Any:
    """The dtype of a float, an array or a number."""
    try:
        return x.dtype
    except AttributeError:
        return np.result_type(x)


def is_complex(x: Any) -> bool:
    """Whether a float, an array or a number is complex."""
    return type(x) is not float and dtype_of(x).kind == "c"


def unbroadcast(y_bar: Any, shape: tuple[int, ...]) -> Any:
    """Sum `y_bar` over the axes along which an operand of this `shape` was broadcast: the transpose of broadcasting."""
    given = shape_of(y_bar)
    if given == shape:
        return y_bar
    added = len(given) - len(shape)
    stretched = tuple(
        axis for axis, size in enumerate(given) if axis < added or (shape[axis - added] == 1 and size != 1)
    )
    return np.reshape(np.sum(y_bar, axis=stretched, keepdims=True), shape)
