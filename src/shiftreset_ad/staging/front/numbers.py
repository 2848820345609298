"""Functions that no protocol hands on, as rewritten code calls them: a call with staged values is recorded.

By themselves, `math.sqrt(x)`, `min(x, y)` and `np.array([x, y])` would ask for plain numbers, and the steps would hold
for these alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.staging.steps.values import Staged, call, is_staged, unstaged


def of_numbers(function: Callable[..., Any], *args: Any) -> Any:
    """The answer of a function of numbers."""
    if not any(type(arg) is Staged for arg in args) or not all(map(_is_number, args)):
        return function(*args)
    return call(function, args)


def _is_number(x: Any) -> bool:
    return isinstance(x.inside if type(x) is Staged else x, float | int | np.floating | np.integer)


def has_staged_number(args: Sequence[Any]) -> bool:
    """Whether all arguments are Python's numbers, and some are staged."""
    return any(type(arg) is Staged for arg in args) and all(type(unstaged(arg)) in (float, int) for arg in args)


def array_of(function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of `np.array` or `np.asarray`. Of a list with staged values, the array is stacked."""
    has_options = len(args) > 1 or not kwargs.keys() <= {"dtype"}
    if not has_options and type(x) in (list, tuple) and is_staged(x) and not has_number(x):
        array, dtype = _stacked(x), kwargs.get("dtype", args[0] if args else None)
        if array is not None:
            return array if dtype is None else array.astype(dtype)
    return function(x, *args, **kwargs)


def _stacked(parts: Sequence[Any]) -> Any:
    """The array of these parts; None if their shapes differ."""
    found = [_stacked(part) if type(part) in (list, tuple) else part for part in parts]
    if not found or any(part is None or shape_of(part) != shape_of(found[0]) for part in found):
        return None
    return np.stack(found)


# Programs in Python, which are rewritten as the user's programs are.


def least(values: Sequence[Any]) -> Any:
    """The first of the least values, as `min` finds it."""
    found = values[0]
    for x in values[1:]:
        if x < found:
            found = x
    return found


def greatest(values: Sequence[Any]) -> Any:
    """The first of the greatest values, as `max` finds it."""
    found = values[0]
    for x in values[1:]:
        if x > found:
            found = x
    return found


def quotient_and_remainder(x: Any, y: Any) -> Any:
    """`divmod(x, y)` of Python's numbers."""
    return x // y, x % y


def is_close(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """`math.isclose`, by CPython's arithmetic."""
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    a, b = float(a), float(b)
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(b - a)
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


OF_PYTHONS = {divmod: cast(FunctionType, quotient_and_remainder), math.isclose: cast(FunctionType, is_close)}
IN_ORDER: dict[Any, FunctionType] = {min: cast(FunctionType, least), max: cast(FunctionType, greatest)}
