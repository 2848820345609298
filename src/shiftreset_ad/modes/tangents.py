"""What tangents and Taylor coefficients share: shape, precision, layout and memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.numbers.memory import lacks_level
from shiftreset_ad.numbers.number import (
    STACKS,
    in_memory,
    innermost,
    is_view,
    lacks,
    put,
    rows_of,
    tags_of,
    with_levels_of,
    zeros_alike,
)
from shiftreset_ad.rules.annotations import Primal, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.numpy.shapes import in_precision
from shiftreset_ad.rules.stand_ins import is_staged

PLAIN = {float, float64, ndarray}


def lies_alike(tangent: Tangent, value: Primal, is_fixed: bool = False) -> bool:
    """Whether an array lies in memory as `value` does; it may have more axes in front.

    The array must be one that can be written to, unless the value `is_fixed`, and nobody writes to either.
    """
    if type(tangent) is not ndarray or not (is_fixed or tangent.flags.writeable):
        return False
    strides = tangent.strides
    if tangent.ndim != value.ndim:
        strides = strides[tangent.ndim - value.ndim :]
    return bool(strides == value.strides)


def mirrored(x: Any, arrays: Sequence[Any], items: Sequence[Any]) -> Sequence[Any]:
    """The value and the tangents of `x`, so that all lie in memory alike, and `items` can be written to them.

    A view of the value then has the same view of each tangent. TypeError if `x` has views, and lacks a level.
    """
    value, *tangents = arrays
    has_views = getattr(x, "has_views", False)
    if has_levels(value, tangents, items) and (
        has_views or all(map(lies_alike, map(in_memory, tangents), repeat(in_memory(value))))
    ):
        return arrays
    if has_views:
        raise lacks_level()
    value = with_levels_of(value, items[0])
    made = [value]
    for tangent in tangents:
        rows = rows_of(tangent) if type(tangent) in STACKS else tangent
        if lies_alike(rows, in_memory(value)):  # then a copy stays a constant in a staged program
            made.append(with_levels_of(tangent.copy("K"), *arrays, *items))
        else:
            whole = with_levels_of(zeros_alike(value), *arrays, *items)
            put(whole, ..., tangent)
            made.append(whole)
    return made


def is_settled(x: Any) -> bool:
    """Whether a number must keep its arrays, as a staged function is recording a loop or a branch.

    The number may come from outside, where its arrays are others. So a view may not share the memory of its tangent,
    and writing to the view, or to the number, is an error.
    """
    value = innermost(x)
    return is_staged(value) and value.is_in_block


def has_levels(value: Primal, tangents: list[Tangent], items: Sequence[Any]) -> bool:
    """Whether the first item can be written to `value`, and numbers of all levels here to each tangent."""
    if PLAIN.issuperset(map(type, (value, *tangents, *items))):  # the usual case, for speed
        return True
    new, *rest = map(tags_of, items)
    levels = set().union(tags_of(value), new, *rest, *map(tags_of, tangents))
    return not lacks(value, new) and not any(map(lacks, tangents, repeat(levels)))


def unshared(y_dot: Tangent, x_dot: Tangent) -> Tangent:
    """The tangent `y_dot` of a new value, copied if it shares memory with `x_dot`."""
    is_shared = type(in_memory(y_dot)) is ndarray if y_dot is x_dot else is_view(y_dot, x_dot)
    return +y_dot if is_shared else y_dot


def conform(y_dot: Tangent, y: Primal) -> Tangent:
    """A tangent in the shape and precision of its value: partial derivatives broadcast, and may be more precise."""
    shape, dtype = shape_of(y), dtype_of(y)
    if shape_of(y_dot) != shape:
        y_dot = np.copy(np.broadcast_to(y_dot, shape), order="C")
    return y_dot if dtype_of(y_dot) == dtype else in_precision(y_dot, dtype)
