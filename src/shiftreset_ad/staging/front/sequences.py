"""The sequences that a written `for` loop can go over: ranges whose ends are staged, lists, tuples and arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from numpy import ndarray

from shiftreset_ad.staging.front.session import ControlWriter, Note


class Sequential(Protocol):
    """Items by their index."""

    is_counted: bool  # whether the count is staged

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
        self._start = start
        self._step = step
        self.count = (stop - start + step - (1 if step > 0 else -1)) // step

    def at(self, position: Any) -> Any:
        return self._start + position * self._step

    def at_any_index(self, control: ControlWriter, note: Note) -> Callable[[Any], Any]:
        return self.at


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
        return control.items(items, note)


def sequential(x: Any, control: ControlWriter) -> Sequential | None:
    """The items of an iterable, if they have indices."""
    if type(x) is StagedRange:
        return x
    if type(x) in (list, tuple, range) or (type(x) is ndarray and x.ndim) or control.is_staged_array(x):
        return Items(x)
    return None


def counting(control: ControlWriter, *ends: Any) -> Any:
    """`range(*ends)` with staged ends, or Python's own."""
    if not any(map(control.is_staged, ends)) or not all(issubclass(control.type_of(end), int) for end in ends):
        return range(*ends)
    start, stop, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
    step = int(step)  # the sign of a step decides too much: a staged one is asked
    return StagedRange(start, stop, step) if step else range(start, stop, step)
