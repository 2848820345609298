"""What may stand beside a number in an elementwise operation."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api.libraries import is_sparse
from shiftreset_ad.array_api.standard import adopted
from shiftreset_ad.numbers.number import Number, has_number, innermost, plain_value
from shiftreset_ad.numbers.refusals import refuse
from shiftreset_ad.numbers.remedies import OF_MODULES
from shiftreset_ad.numbers.sparse import elementwise
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.building import OBJECT, SEQUENCES, array, is_of_objects
from shiftreset_ad.rules.stand_ins import StagedValue, Wrapped


def as_operand(other: Any, x: Number, function: Callable[..., Any]) -> Any:
    """`other` as a constant operand of `function` beside `x`; NotImplemented if it is none, so Python asks `other`."""
    if type(other) is ndarray:
        return other if other.dtype is not OBJECT else NotImplemented
    if issubclass(type(other), StagedValue):
        return other
    if isinstance(other, Number):  # of another kind; the operation belongs to the newer number
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
    """Whether a list beside `x` is an array. It is for NumPy's functions and arrays, but not for Python's floats."""
    if type(function) is np.ufunc:
        return True
    try:
        return type(plain_value(x)) is not float
    except TypeError:  # a stack has many values
        return True


def with_parts_gathered(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """`function(a, b)` if an operand is a list of numbers, an array of objects, or a sparse array.

    A list, or an array of objects, becomes one array. NotImplemented without such an operand; TypeError for pandas.
    """
    if is_in_parts(a, b, function):
        return function(array(a), b)
    if is_in_parts(b, a, function):
        return function(a, array(b))
    if is_sparse(a) or is_sparse(b):
        return elementwise(function, a, b)
    if is_of_pandas(a) or is_of_pandas(b):
        raise refuse(f"{function.__name__} of an object of pandas and a number", OF_MODULES["pandas"])
    return NotImplemented


def is_of_pandas(x: Any) -> bool:
    """Whether this is a table of pandas, or a part of one."""
    return type(x).__module__.partition(".")[0] == "pandas"


def is_in_parts(x: Any, other: Any, function: Callable[..., Any]) -> bool:
    """Whether `x`, which stands beside `other`, has to become one array."""
    return is_of_objects(x) or (isinstance(x, (list, tuple)) and has_number(x) and takes_lists(other, function))


def is_inexact(answer: Any) -> bool:
    """Whether the answer of an operation is real or complex floating-point, and so differentiable.

    False for integers, and for a list of answers. Raises TypeError for anything else.
    """
    if issubclass(type(answer), Number):
        answer = innermost(answer)
    if issubclass(type(answer), StagedValue):
        answer = answer.inside
    kind = type(answer)
    if kind is np.float64 or kind is float:
        return True
    if kind is np.ndarray:
        kind = answer.dtype.kind
    else:
        if issubclass(kind, SEQUENCES):
            return False
        require_plain(answer)
        kind = dtype_of(answer).kind
    if kind == "O":
        raise TypeError(
            "the result of an operation is an array of objects, which cannot be differentiated; "
            "build an array of numbers by numpy.stack([x, y])"
        )
    if kind not in "fciub":
        raise TypeError(
            f"the result of an operation has dtype {dtype_of(answer)}, and only floating-point numbers, real or "
            "complex, can be differentiated"
        )
    return kind in "fc"


def require_plain(array: Any) -> None:
    """Raise TypeError for a matrix or a masked array, which do not compute as arrays do."""
    kind = type(array)
    if issubclass(kind, np.ndarray) and not issubclass(kind, np.memmap) and kind is not np.ndarray:
        raise TypeError(
            f"a {type(array).__name__} cannot take part in an operation with a number that is being differentiated; "
            "convert it: numpy.asarray(x) for a matrix, numpy.where(x.mask, 0.0, x.data) for a masked array"
        )
