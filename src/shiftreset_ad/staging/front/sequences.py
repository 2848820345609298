"""The sequences that a written `for` loop can go over: ranges whose ends are staged, lists, tuples and arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from math import prod
from operator import is_
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.control.choosing import python_number
from shiftreset_ad.staging.front.control_writer import ControlWriter, Note
from shiftreset_ad.staging.front.ends import least, not_negative, within
from shiftreset_ad.staging.front.growing import GrowingList
from shiftreset_ad.staging.front.refusals import UNEQUAL_ITEMS

Choice: TypeAlias = Callable[[Any], Any]
OF_SEQUENCES = (zip, enumerate, reversed, itertools.count, itertools.pairwise, itertools.product)
FROM_MEMORY = {itertools.pairwise, itertools.product}  # they give items that they have read before
INTEGERS = (int, np.integer)
MOST = 2**62  # items that are numbered


class Sequential(Protocol):
    """Items by their index."""

    @property
    def is_counted(self) -> bool:
        """Whether the count is staged."""

    @property
    def count(self) -> Any:
        """The number of items."""

    def at(self, position: int) -> Any:
        """The item at a plain index."""

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any] | None:
        """A function that gives the item at a staged index; None if there is no such function."""


class StagedRange:
    """A range with staged ends."""

    is_counted = True

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self._start, self._stop, self._step = start, stop, step
        self.count = (stop - start + step - (1 if step > 0 else -1)) // step

    def at(self, position: Any) -> Any:
        return self._start + position * self._step

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any]:
        return self.at

    def __iter__(self) -> Iterator[Any]:
        return items_of(self)

    def pythons(self) -> range:
        """The range as one of Python's; its ends are asked."""
        return range(int(self._start), int(self._stop), self._step)


class Items:
    """The items of a list, a tuple, a range or an array."""

    is_counted = False

    def __init__(self, items: Any) -> None:
        self._items = items

    @property
    def count(self) -> int:
        return len(self._items)

    def at(self, position: int) -> Any:
        return self._items[position]

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any] | None:
        if type(items := self._items) is range:
            return lambda position: items.start + position * items.step
        choice = control.items(items, note)
        return _of_what_is_there(items, choice, control, note) if type(items) is list and choice is not None else choice

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)


def _of_what_is_there(items: list[Any], choice: Choice, control: ControlWriter, note: Note) -> Choice:
    """A function that gives the item that the list has in this round: an earlier round may have written to it."""
    before = list(items)

    def item(position: Any) -> Any:
        is_as_it_was = len(items) == len(before) and all(map(is_, items, before))
        found = choice if is_as_it_was else control.items(items, note)
        return control.refuse(UNEQUAL_ITEMS) if found is None else found(position)

    return item


class Growing:
    """The items of a growing list: of as many as there are when the next one is looked for."""

    is_counted = True  # as a round may change the number

    def __init__(self, items: GrowingList) -> None:
        self._items = items
        self.at = items.__getitem__  # which looks whether the item is there

    @property
    def count(self) -> Any:
        return self._items.length

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any]:
        return self.at


class Zipped:
    """The items of several sequences together, as `zip` gives them."""

    def __init__(self, parts: Sequence[Sequential]) -> None:
        self._parts = parts

    @property
    def is_counted(self) -> bool:
        return any(part.is_counted for part in self._parts)

    @property
    def count(self) -> Any:
        return reduce(least, [part.count for part in self._parts])

    def at(self, position: int) -> Any:
        return tuple([part.at(position) for part in self._parts])

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any] | None:
        choices = [part.at_any_index(control, note) for part in self._parts]
        known = [choice for choice in choices if choice is not None]
        return (lambda i: tuple([choice(i) for choice in known])) if len(known) == len(choices) else None

    def __iter__(self) -> Iterator[Any]:
        return items_of(self)


class Sliced:
    """The items of `x[start:stop]` where an end is staged. Nobody else sees the slice, so it need not be made."""

    is_counted = True

    def __init__(self, items: Sequential, part: slice) -> None:
        self._items = items
        length = items.count
        self._start = 0 if part.start is None else within(part.start, length)
        self.count = (length if part.stop is None else within(part.stop, length)) - self._start  # or less than none

    def at(self, position: int) -> Any:
        return self._items.at(self._start + position)

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any] | None:
        choice, start = self._items.at_any_index(control, note), self._start
        return None if choice is None else lambda i: choice(start + i)

    def __iter__(self) -> Iterator[Any]:
        return items_of(self)

    def __reversed__(self) -> Iterator[Any]:
        return items_of(Reversed(self))


def sliced(x: Any, part: slice, control: ControlWriter) -> Sliced | None:
    """The items of `x[part]`, if an end is staged; None if there is nothing to be gained, or no such form."""
    ends = [end for end in (part.start, part.stop) if end is not None]
    if part.step is not None or not any(map(control.is_staged, ends)):
        return None
    if not all(issubclass(control.type_of(end), INTEGERS) for end in ends):
        return None
    if type(x) in (list, tuple):
        return Sliced(Items(x[:]), part)  # a slice of a list is a copy
    return Sliced(Items(x), part) if (type(x) is ndarray and x.ndim) or control.is_staged_array(x) else None


class Reversed:
    """The items of a sequence from its end, as `reversed` gives them: those that there are at the beginning."""

    def __init__(self, items: Sequential) -> None:
        self._items = items
        self.is_counted = items.is_counted
        self.count = items.count

    def at(self, position: int) -> Any:
        return self._items.at(self.count - 1 - position)

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any] | None:
        choice, last = self._items.at_any_index(control, note), self.count - 1
        return None if choice is None else lambda i: choice(last - i)

    def __iter__(self) -> Iterator[Any]:
        return items_of(self)


class Pairwise:
    """Each item together with the next one, as `itertools.pairwise` gives them."""

    def __init__(self, items: Sequential) -> None:
        self._items = items
        self.is_counted = items.is_counted

    @property
    def count(self) -> Any:
        return not_negative(self._items.count - 1)

    def at(self, position: int) -> Any:
        return self._items.at(position), self._items.at(position + 1)

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any] | None:
        choice = self._items.at_any_index(control, note)
        return None if choice is None else lambda i: (choice(i), choice(i + 1))

    def __iter__(self) -> Iterator[Any]:
        return items_of(self)


class Product:
    """The tuples of an item of each sequence, as `itertools.product` gives them; the last item changes first."""

    is_counted = False

    def __init__(self, parts: Sequence[Sequential]) -> None:
        self._parts = parts
        self._counts = [part.count for part in parts]
        self.count = prod(self._counts)

    def at(self, position: Any) -> Any:
        return self._of([part.at for part in self._parts], position)

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any] | None:
        choices = [part.at_any_index(control, note) for part in self._parts]
        known = [choice for choice in choices if choice is not None]
        return partial(self._of, known) if len(known) == len(choices) else None

    def _of(self, choices: Sequence[Choice], position: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        for choice, count in zip(reversed(choices), reversed(self._counts), strict=True):
            found.insert(0, choice(position % count))
            position = position // count
        return tuple(found)

    def __iter__(self) -> Iterator[Any]:
        return items_of(self)


def items_of(x: Sequential) -> Iterator[Any]:
    """The items one after the other; a list may get more of them meanwhile."""
    position = 0
    while position < x.count:
        yield x.at(position)
        position += 1


def sequence_of(control: ControlWriter, f: Any, *args: Any, **kwargs: Any) -> Any:
    """`zip`, `enumerate` and their kin of what has indices, with indices; otherwise Python's own."""
    found = _with_indices(control, f, args, kwargs)
    return f(*map(with_plain_ends, args), **kwargs) if found is None else found


def _with_indices(control: ControlWriter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequential | None:
    if f is itertools.count:
        return _numbers(*args, **kwargs)
    sources = args[:1] if f is enumerate else args
    if f in FROM_MEMORY and not all(type(x) in (range, tuple, StagedRange) or control.is_kept(x) for x in sources):
        return None
    parts = [sequential(arg, control) for arg in sources]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    counts = [part.count for part in known]
    if kwargs.get("strict", False) and not _are_equal(control, counts):
        return None
    if f is itertools.product:  # it takes all items at once
        return None if kwargs or any(part.is_counted for part in known) else Product(known)
    f(*[() if type(arg) is StagedRange else arg for arg in args], **kwargs)  # it takes no item, and raises the errors
    if f is reversed:
        return Reversed(known[0])
    if f is itertools.pairwise:
        return Pairwise(known[0])
    if f is enumerate:
        start = kwargs.get("start", args[1] if len(args) == 2 else 0)
        return Zipped([Items(range(start, start + MOST)), *known]) if type(start) is int else None
    return Zipped(known)


def _are_equal(control: ControlWriter, counts: Sequence[Any]) -> bool:
    """Whether all these numbers of items are the same. In a block the function itself runs if they are not."""
    return all(bool(control.required(count == counts[0], answer=True)) for count in counts[1:])


def _numbers(start: Any = 0, step: Any = 1) -> Items | None:
    """The integers of `itertools.count`, if they are plain."""
    return Items(range(start, start + step * MOST, step)) if type(start) is type(step) is int and step else None


def with_plain_ends(x: Any) -> Any:
    """A range of Python's in place of one with staged ends, which are asked; anything else as it is."""
    return x.pythons() if type(x) is StagedRange else x


def sequential(x: Any, control: ControlWriter) -> Sequential | None:
    """The items of an iterable, if they have indices."""
    if type(x) in (Items, StagedRange, Zipped, Sliced, Reversed, Pairwise, Product):
        found: Sequential = x
        return found
    if type(x) in (list, tuple, range) or (type(x) is ndarray and x.ndim) or control.is_staged_array(x):
        return Items(x)
    return Growing(x) if type(x) is GrowingList else None


def counting(control: ControlWriter, *ends: Any) -> Any:
    """`range(*ends)` with staged ends, or Python's own."""
    if not any(map(control.is_staged, ends)) or not all(issubclass(control.type_of(end), INTEGERS) for end in ends):
        return range(*ends)
    ends = tuple([end if issubclass(control.type_of(end), int) else python_number(end) for end in ends])
    start, stop, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
    step = int(step)  # the sign of a step decides too much: a staged one is asked
    return StagedRange(start, stop, step) if step else range(start, stop, step)
