"""The contents of things that a program may change: how to read them, and how to put them back."""

from __future__ import annotations

from collections import deque
from types import CellType
from typing import Any, Protocol

from shiftreset_ad.boundary.closed_over import EMPTY, content_of

MISSING = object()


class Restorable(Protocol):
    """Some contents of one thing, which can be put back."""

    def read(self) -> list[Any]:
        """The contents as they are now."""

    def put_back(self, before: list[Any]) -> None:
        """Make the contents what they were."""


class OfSequence:
    """The items of a list, a deque or a set."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def read(self) -> list[Any]:
        return list(self._x)

    def put_back(self, before: list[Any]) -> None:
        self._x.clear()
        (self._x.extend if isinstance(self._x, list | deque) else self._x.update)(before)


class OfDict:
    """The keys and the values of a dict. `entry` is the only key that is looked at, if it is given."""

    def __init__(self, x: dict[Any, Any], entry: Any = MISSING) -> None:
        self._x = x
        self._entry = entry

    def read(self) -> list[Any]:
        if self._entry is not MISSING:
            return [self._x.get(self._entry, MISSING)]
        return [part for item in list(self._x.items()) for part in item]

    def put_back(self, before: list[Any]) -> None:
        if self._entry is not MISSING:
            self._put_entry(self._entry, before[0])
            return
        wanted = dict(zip(before[::2], before[1::2], strict=True))
        for key in [*self._x, *wanted]:
            self._put_entry(key, wanted.get(key, MISSING))
        if list(self._x) != list(wanted):  # the order of the keys, too
            self._x.clear()
            self._x.update(wanted)

    def _put_entry(self, key: Any, value: Any) -> None:
        if value is MISSING:
            self._x.pop(key, None)
        elif self._x.get(key, MISSING) is not value:
            self._x[key] = value


class OfCell:
    """The content of a variable."""

    def __init__(self, cell: CellType) -> None:
        self._cell = cell

    def read(self) -> list[Any]:
        return [content_of(self._cell)]

    def put_back(self, before: list[Any]) -> None:
        if before[0] is not EMPTY:
            self._cell.cell_contents = before[0]
        elif content_of(self._cell) is not EMPTY:
            del self._cell.cell_contents


class OfAttributes:
    """Attributes of an object, by their names."""

    def __init__(self, x: Any, names: list[str]) -> None:
        self._x = x
        self._names = names

    def read(self) -> list[Any]:
        return [getattr(self._x, name, MISSING) for name in self._names]

    def put_back(self, before: list[Any]) -> None:
        for name, value in zip(self._names, before, strict=True):
            if value is not MISSING:
                setattr(self._x, name, value)
            elif hasattr(self._x, name):
                delattr(self._x, name)


class OfClass:
    """What a class has."""

    def __init__(self, x: type) -> None:
        self._x = x

    def read(self) -> list[Any]:
        return [part for item in vars(self._x).items() for part in item if not _is_made_by_python(item[0])]

    def put_back(self, before: list[Any]) -> None:
        wanted = dict(zip(before[::2], before[1::2], strict=True))
        for name in {*vars(self._x), *wanted}:
            if name not in wanted and not _is_made_by_python(name):
                delattr(self._x, name)
            elif name in wanted and vars(self._x).get(name, MISSING) is not wanted[name]:
                setattr(self._x, name, wanted[name])


def _is_made_by_python(name: str) -> bool:
    """Whether an entry of a class comes and goes by itself, as the counts of an abstract class do."""
    return name.startswith("_abc_") or name in ("__dict__", "__weakref__", "__doc__", "__static_attributes__")
