"""Functions that no protocol hands on, as rewritten code calls them: a call with staged values is recorded.

By themselves, `math.sqrt(x)`, `min(x, y)` and `np.array([x, y])` would ask for plain numbers, and the steps would hold
for these alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from types import FunctionType
from typing import Any, cast

import numpy as np

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.staging.control.choosing import value_of
from shiftreset_ad.staging.front.growing import GrowingList
from shiftreset_ad.staging.steps.functions import comparable, greater, lesser
from shiftreset_ad.staging.steps.values import Staged, call, is_staged, unstaged

Less = Callable[[Any, Any], Any]


def of_numbers(function: Callable[..., Any], *args: Any) -> Any:
    """The answer of a function of numbers, or of lists and tuples of numbers."""
    if not is_staged(args) or not all(map(_has_numbers, args)):
        return function(*args)
    return call(function, args)


def _has_numbers(x: Any) -> bool:
    return all(map(_is_number, x)) if type(x) in (list, tuple) else _is_number(x)


def _is_number(x: Any) -> bool:
    return isinstance(x.inside if type(x) is Staged else x, float | int | np.floating | np.integer)


def has_staged_number(args: Sequence[Any]) -> bool:
    """Whether all arguments are Python's numbers, and some are staged."""
    return any(type(arg) is Staged for arg in args) and all(type(unstaged(arg)) in (float, int) for arg in args)


def array_of(function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of `np.array` or `np.asarray`. Of a list with staged values, the array is stacked."""
    has_options = len(args) > 1 or not kwargs.keys() <= {"dtype"}
    array = None
    if type(x) is GrowingList:
        array = None if has_options else x.as_array()
        x = list(x) if array is None else x
    if array is None and not has_options and type(x) in (list, tuple) and is_staged(x) and not has_number(x):
        array = _stacked(x)
    if array is None:
        return function(x, *args, **kwargs)
    dtype = kwargs.get("dtype", args[0] if args else None)
    return array if dtype is None else array.astype(dtype)


def _stacked(parts: Sequence[Any]) -> Any:
    """The array of these parts; None if their shapes differ."""
    found = [_stacked(part) if type(part) in (list, tuple) else part for part in parts]
    if not found or any(part is None or shape_of(part) != shape_of(found[0]) for part in found):
        return None
    return np.stack(found)


def least_of_floats(function: Any, values: Sequence[Any]) -> Any:
    """`min` or `max` of Python's floats, some of which are staged, as steps without branches; None of others."""
    if not any(type(x) is Staged for x in values) or any(type(unstaged(x)) is not float for x in values):
        return None
    chosen = {min: lesser, max: greater}[function]
    return reduce(lambda x, y: call(chosen, (x, y)) if is_staged((x, y)) else chosen(x, y), values)


def is_staged_row(x: Any) -> bool:
    """Whether this is an array of staged numbers along one axis."""
    plain = value_of(x)
    return type(plain) is Staged and len(shape_of(plain.inside)) == 1


def decide_the_order(keys: Sequence[Any]) -> bool:
    """Whether these keys are numbers, and some are staged. If not, Python puts them in order, or asks."""
    plain = [value_of(x) for x in keys]
    return is_staged(plain) and all(map(_is_number, plain))


def in_order(keys: Sequence[Any]) -> list[Any]:
    """The numbers by which a list is sorted, without derivatives: steps that raise an error for NaN."""
    plain = [value_of(x) for x in keys]
    return [call(comparable, (x,)) if type(x) is Staged else comparable(x) for x in plain]


def in_order_by_parts(keys: Sequence[Any]) -> list[Any] | None:
    """Keys that are tuples of numbers, some of which are staged, as `in_order` has them; None if they are others."""
    are_tuples = all(type(key) is tuple and key for key in keys)
    plain = [[value_of(part) for part in key] for key in keys] if are_tuples else []
    if not is_staged(plain) or not all(_is_number(part) for parts in plain for part in parts):
        return None
    return [tuple(in_order(parts)) for parts in plain]


# Programs in Python, which are rewritten as the user's programs are.


def is_less(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """`a < b` of tuples: the first parts that differ decide."""
    found: Any = len(a) < len(b)
    for i in range(len(a) - 1 if len(a) < len(b) else len(b) - 1, -1, -1):
        if a[i] != b[i]:
            found = a[i] < b[i]
    return found


def least(values: Sequence[Any], keys: Sequence[Any], less: Less) -> Any:
    """The first of the values with the least key, as `min` finds it."""
    found, least_key = values[0], keys[0]
    for i in range(1, len(keys)):
        if less(keys[i], least_key):
            found, least_key = values[i], keys[i]
    return found


def greatest(values: Sequence[Any], keys: Sequence[Any], less: Less) -> Any:
    """The first of the values with the greatest key, as `max` finds it."""
    found, greatest_key = values[0], keys[0]
    for i in range(1, len(keys)):
        if less(greatest_key, keys[i]):
            found, greatest_key = values[i], keys[i]
    return found


def in_sorted_order(values: Sequence[Any], keys: Sequence[Any], less: Less, is_reversed: bool) -> list[Any]:
    """The values as `sorted` has them: equal ones stay in their order. Each is compared with those before it."""
    values, keys = list(values), list(keys)
    for i in range(1, len(keys)):
        for j in range(i, 0, -1):
            one, other, key, other_key = values[j], values[j - 1], keys[j], keys[j - 1]
            if less(other_key, key) if is_reversed else less(key, other_key):
                one, other, key, other_key = other, one, other_key, key
            values[j], values[j - 1], keys[j], keys[j - 1] = one, other, key, other_key
    return values


def quotient_and_remainder(x: Any, y: Any) -> Any:
    """`divmod(x, y)` of Python's numbers."""
    return x // y, x % y


def total(items: Any, start: Any = 0) -> Any:
    """`sum(items, start)` of a list whose length depends on values."""
    for item in items:
        start = start + item
    return start


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


def visited_all(items: Any, visit: Callable[[Any], Any]) -> None:
    """A call for each of the items, until one of them says that it is enough."""
    for x in items:
        if visit(x):
            return


OF_PYTHONS = {divmod: cast(FunctionType, quotient_and_remainder), math.isclose: cast(FunctionType, is_close)}
TOTAL = cast(FunctionType, total)
MOST_SORTED = 32  # values; the number of comparisons grows with the square
IS_LESS = cast(FunctionType, is_less)
VISITED_ALL = cast(FunctionType, visited_all)
IN_SORTED_ORDER = cast(FunctionType, in_sorted_order)
IN_ORDER: dict[Any, FunctionType] = {min: cast(FunctionType, least), max: cast(FunctionType, greatest)}
