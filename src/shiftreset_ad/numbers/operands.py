"""What may stand beside a number in an elementwise operation."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api.standard import adopted
from shiftreset_ad.boundary.checks import require_plain
from shiftreset_ad.numbers.dispatch import Number, has_number, value
from shiftreset_ad.rules.building import OBJECT, array, is_of_objects
from shiftreset_ad.rules.stand_ins import Wrapped


def as_operand(other: Any, x: Number, function: Callable[..., Any]) -> Any:
    """The other operand of `function` as a constant to `x`; NotImplemented if it is none, and Python asks the other."""
    if type(other) is ndarray:
        return other if other.dtype is not OBJECT else NotImplemented
    if isinstance(other, Number):  # of another kind; the operation belongs to the newer one
        return other if other.tag.serial < x.tag.serial else NotImplemented
    if isinstance(other, (list, tuple)):
        return np.array(other) if takes_lists(x, function) and not has_number(other) else NotImplemented
    if isinstance(other, ndarray):
        require_plain(other)
        return np.array(other)
    if isinstance(other, (complex, np.generic)):
        return other
    if isinstance(other, Real):
        return float(other)
    other = adopted(other)
    return other if isinstance(other, Wrapped) else NotImplemented


def takes_lists(x: Any, function: Callable[..., Any]) -> bool:
    """Whether a list beside `x` is an array: NumPy's functions and arrays take it for one, Python's floats do not."""
    if type(function) is np.ufunc:
        return True
    try:
        return type(value(x)) is not float
    except TypeError:  # it has no single value, but many
        return True


def with_parts_gathered(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """`function(a, b)` where one is a list with numbers in it, or an array of objects: put together as one array;
    NotImplemented if none is.
    """
    if is_in_parts(a, b, function):
        return function(array(a), b)
    if is_in_parts(b, a, function):
        return function(a, array(b))
    return NotImplemented


def is_in_parts(x: Any, other: Any, function: Callable[..., Any]) -> bool:
    """Whether `x`, which stands beside `other`, is to be put together as one array."""
    return is_of_objects(x) or (isinstance(x, (list, tuple)) and has_number(x) and takes_lists(other, function))
