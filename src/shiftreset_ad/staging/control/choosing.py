"""An item at a staged index, of a sequence or of an array that is plain itself: to read, and to write to a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.modes.stacks import Stack
from shiftreset_ad.numbers.number import Number, in_memory
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.indexing import replaced
from shiftreset_ad.rules.table import dispatched, linear, structured
from shiftreset_ad.staging.control.gathering import indexable
from shiftreset_ad.staging.steps.functions import as_pythons_number
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged, call

UNLIKE = object()
PYTHONS_NUMBERS = {float, int, bool, complex}
MOST_WRITTEN = 64  # items of a list that is written to: each item is a value of each round
ITEM_OF_LIST = "may have another name, as an item of a list at an index that depends on the arguments"


def value_of(x: Any) -> Any:
    """The value of a number at the oldest level. A stack has no single value."""
    while isinstance(x, Number) and not isinstance(x, Stack):
        x = x.primal
    return x


def type_of(x: Any) -> type:
    """The type of the plain value."""
    value = value_of(x)
    return type(value.inside if type(value) is Staged else value)


def python_number(x: Any) -> Any:
    """A scalar of NumPy's as one of Python's: an element of an array that stands for a list of Python's numbers."""
    if isinstance(x, Number):
        return _python_number(x)
    if type(x) is Staged:
        return x if shape_of(x) else call(as_pythons_number, (x,))
    return as_pythons_number(x)


@dispatched
def _python_number(x: Any) -> Any:
    return python_number(x)


@structured(_python_number, linear=True)
def _rule(x: Any) -> Any:
    return linear(x, python_number, python_number)


def choice(items: Any, trace: Trace) -> Callable[[Any], Any] | None:
    """A function that gives the item at a staged index; None if the items are not alike."""
    if not isinstance(items, list | tuple):
        array = indexable(items, trace)
        return lambda i: array[i]
    if not items:
        return None
    if all(type(item) in (tuple, list) and len(item) == len(items[0]) for item in items):
        return _choice_of_rows(items, trace)
    if len({likeness(item) for item in items}) > 1 or likeness(items[0]) is UNLIKE:
        return None
    stack = indexable(np.stack(items), trace)
    for x in map(value_of, (stack, *items)):
        if type(x) is Staged and shape_of(x):
            trace.protect(x.inside, ITEM_OF_LIST)
    originals = [owner for item in items for owner in owners_of(in_memory(item))]
    trace.copies.note(owners_of(in_memory(stack)), originals)
    if type_of(items[0]) in PYTHONS_NUMBERS:
        return lambda i: python_number(stack[i])
    return lambda i: stack[i]


def _choice_of_rows(rows: Sequence[Any], trace: Trace) -> Callable[[Any], Any] | None:
    """A function that gives a row, a tuple or a list, by a choice of each of its parts."""
    kind = type(rows[0])
    choices = [choice(column, trace) for column in zip(*rows, strict=True)]
    known = [found for found in choices if found is not None]
    if len(known) < len(choices) or any(type(row) is not kind for row in rows):
        return None
    return lambda i: kind([found(i) for found in known])


def are_numbers_of_one_type(items: Sequence[Any]) -> bool:
    """Whether all items are numbers of Python's, and of one type."""
    kinds = {type_of(item) for item in items}
    return len(kinds) == 1 and kinds <= PYTHONS_NUMBERS


def with_item(items: list[Any], index: Any, item: Any, trace: Trace) -> list[Any] | None:
    """The items of a list after a write at a staged index; None if they are not alike, or too many."""
    if len(items) > MOST_WRITTEN or not are_numbers_of_one_type([item, *items]):
        return None
    array = np.stack(items)
    if dtype_of(array).hasobject:
        return None
    written = replaced([item, indexable(array, trace)], index)
    return [python_number(written[i]) for i in range(len(items))]


def is_place(index: Any, x: Sequence[Any]) -> bool:
    """Whether a staged value is the index of an item. In a block it may be another one than here."""
    plain = index.inside if type(index) is Staged else None
    if not isinstance(plain, int | np.integer) or type(plain) is bool:
        return False
    return index.is_in_block or bool(-len(x) <= plain < len(x))


def noted(item: Any, items: Any, note: Callable[[list[Any]], None]) -> Any:
    """An item that the steps have chosen. In the program it may be a part of the items, so these must not change."""
    if type(items) is ndarray:
        is_view = type(item) is Staged and type(item.inside) is ndarray and item.inside.base is not None
        note([items] if is_view else [])
    elif isinstance(items, list | tuple):
        note([*_mutable_in(items), *_mutable_in([item])])
    return item


def _mutable_in(items: Sequence[Any]) -> list[Any]:
    """The lists and the plain arrays among these items, and in lists and tuples among them."""
    found: list[Any] = []
    for x in map(value_of, items):
        if type(x) is ndarray or isinstance(x, list):
            found.append(x)
        if isinstance(x, list | tuple):
            found.extend(_mutable_in(x))
    return found


def likeness(x: Any) -> Any:
    """What two items must have in common to be parts of one array."""
    if not isinstance(x, Staged | Number | ndarray | np.generic | float | int | complex):
        return UNLIKE
    return type_of(x), shape_of(x), dtype_of(x)
