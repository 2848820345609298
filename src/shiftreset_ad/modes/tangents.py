"""What tangents and Taylor coefficients share: shape, precision, layout and memory."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.number import in_memory, is_view
from shiftreset_ad.rules.annotations import Primal, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.numpy.shapes import in_precision


def lies_alike(tangent: Tangent, value: Primal) -> bool:
    """Whether an array can be written to, and lies in memory as `value` does, apart from more axes before its own."""
    if type(tangent) is not ndarray or not tangent.flags.writeable:
        return False
    return bool(tangent.strides[tangent.ndim - value.ndim :] == value.strides)


def unshared(y_dot: Tangent, x_dot: Tangent) -> Tangent:
    """The tangent of a new value, which does not share memory with that of another value."""
    is_shared = type(in_memory(y_dot)) is ndarray if y_dot is x_dot else is_view(y_dot, x_dot)
    return +y_dot if is_shared else y_dot


def conform(y_dot: Tangent, y: Primal) -> Tangent:
    """A tangent in the shape and precision of its value: partial derivatives broadcast, and may be more precise."""
    shape, dtype = shape_of(y), dtype_of(y)
    if shape_of(y_dot) != shape:
        y_dot = np.copy(np.broadcast_to(y_dot, shape))
    return y_dot if dtype_of(y_dot) == dtype else in_precision(y_dot, dtype)
