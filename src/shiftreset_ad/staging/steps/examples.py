"""Examples of answers, where a call has none in a branch or a round that may never be reached with these values.

The steps after it are recorded with the example. A replay that does reach the call raises the error, and so does the
function itself, which runs beside the record.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.rules.stand_ins import is_staged
from shiftreset_ad.staging.steps.functions import OF_INTEGERS, OF_NUMBERS, place_in, place_of_key
from shiftreset_ad.staging.steps.trace import Trace

NO_EXAMPLE = object()
INTEGERS = (int, np.integer)
AT_AN_INDEX = {operator.getitem, replaced, scatter}


def example(trace: Trace, function: Callable[..., Any], args: Sequence[Any], plain: Any, error: Exception) -> Any:
    """An answer in place of the one that the `plain` arguments do not have; NO_EXAMPLE if nothing is known of it."""
    if trace.block is trace.root:
        return NO_EXAMPLE
    if isinstance(error, IndexError) and function in AT_AN_INDEX:
        return _at_another_index(function, plain) if _is_staged_in(args[1]) else NO_EXAMPLE
    if not all(type(x) in (float, int) for x, arg in zip(plain, args, strict=True) if is_staged(arg)):
        return NO_EXAMPLE
    if function is place_in or function is place_of_key:
        return 0 if isinstance(error, LookupError) else NO_EXAMPLE
    if isinstance(error, ArithmeticError) or (isinstance(error, ValueError) and function in OF_NUMBERS - OF_INTEGERS):
        return math.nan
    return NO_EXAMPLE


def _is_staged_in(x: Any) -> bool:
    return is_staged(x) or (type(x) in (tuple, list) and any(map(_is_staged_in, x)))


def _at_another_index(function: Callable[..., Any], plain: Sequence[Any]) -> Any:
    """What there is at the nearest place, or what the arrays are after a write to it."""
    if function is operator.getitem:
        x, index = plain
        return _answer(function, x, at_nearest(index, shape_of(x)))
    if function is replaced:
        (item, array), index = plain
        return _answer(function, [item, array], at_nearest(index, shape_of(array)))
    values, indices, shape, dtype = plain
    return _answer(function, values, [at_nearest(index, shape) for index in indices], shape, dtype)


def _answer(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except IndexError:  # an axis may have no place at all
        return NO_EXAMPLE


def at_nearest(index: Any, shape: tuple[int, ...]) -> Any:
    """The index with each integer in it as one that the array has."""
    parts = index if type(index) is tuple else (index,)
    axis, found = 0, list[Any]()
    for part in parts:
        if part is Ellipsis:
            return index
        is_integer = isinstance(part, INTEGERS) and type(part) is not bool and axis < len(shape)
        found.append(min(max(int(part), -shape[axis]), shape[axis] - 1) if is_integer else part)
        axis += part is not None
    return tuple(found) if type(index) is tuple else found[0]
