"""The contents of things that a program may change: how to read them, and how to put them back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from operator import is_
from types import CellType
from typing import Any, Protocol

from shiftreset_ad.boundary.closed_over import EMPTY, content_of

MISSING = object()
MADE_BY_PYTHON = {"__dict__", "__weakref__", "__doc__", "__static_attributes__"}


@dataclass(frozen=True)
class Place:
    """Where one of the contents of `owner` is: in a container under a key, or in a slot."""

    owner: Any
    container: Any  # a list, a deque or a dict; the owner itself if the key is the name of a slot, or of a cell's
    key: Any
    is_slot: bool = False

    @property
    def name(self) -> str:
        """What the place is called."""
        return f"{self.key}"

    def identity(self) -> Any:
        """Two places are the same if this is the same."""
        return id(self.container), self.key

    def is_there(self) -> bool:
        """Whether the place has a value."""
        if self.is_slot:
            return OfSlots(self.owner, [self.key]).read()[0] is not MISSING
        return self.key in (self.container if isinstance(self.container, dict) else range(len(self.container)))

    def get(self) -> Any:
        """The value."""
        return object.__getattribute__(self.owner, self.key) if self.is_slot else self.container[self.key]

    def put(self, value: Any) -> None:
        """Another value."""
        if self.is_slot:
            object.__setattr__(self.owner, self.key, value)
        else:
            self.container[self.key] = value


@dataclass(frozen=True)
class Tail(Place):
    """The last items of a list or a deque, where blocks change the number of items; `key` is what it is called.

    They are `back` items before the blocks, from the index `start` on. What comes before them stays as it is.
    """

    back: int = 0
    start: int = 0

    def identity(self) -> Any:
        return id(self.container), Tail

    def is_there(self) -> bool:
        return True

    def get(self) -> Any:
        """The items as a tuple. So what a site hands on is not the list itself, which may change later."""
        return tuple(islice(self.container, self.start, None))

    def put(self, value: Any) -> None:
        items = [*islice(self.container, self.start), *value]
        self.container.clear()
        self.container.extend(items)

    def now(self) -> Tail:
        """The items that the list has now, before the blocks."""
        start = max(0, len(self.container) - self.back)
        return replace(self, start=start, back=len(self.container) - start)

    def has(self, place: Place) -> bool:
        """Whether a place is one of these items."""
        return type(place) is Place and place.container is self.container and place.key >= self.start


class Restorable(Protocol):
    """Some contents of one thing, which can be put back."""

    def identity(self) -> Any:
        """Two contents are the same if this is the same."""

    def read(self) -> list[Any]:
        """The contents as they are now."""

    def put_back(self, before: list[Any]) -> None:
        """Make the contents what they were."""

    def place(self, i: int) -> Place | None:
        """Where the i-th of the contents is, if it is a value that a block may change."""


def are_same(now: list[Any], before: list[Any]) -> bool:
    """Whether contents are the very same objects as before. It takes no call of Python's for each of them."""
    return len(now) == len(before) and all(map(is_, now, before))


class OfSequence:
    """The items of a list, a deque or a set."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def identity(self) -> Any:
        return OfSequence, id(self.x)

    def read(self) -> list[Any]:
        return list(self.x)

    def put_back(self, before: list[Any]) -> None:
        self.x.clear()
        (self.x.extend if isinstance(self.x, list | deque) else self.x.update)(before)

    def place(self, i: int) -> Place | None:
        return Place(self.x, self.x, i) if type(self.x) in (list, deque) else None

    def tail(self, name: str, before: list[Any]) -> Tail | None:
        """The items from the first one on that is another one than before."""
        if type(self.x) not in (list, deque):
            return None
        same = takewhile(lambda pair: pair[0] is pair[1], zip(self.x, before, strict=False))
        return Tail(self.x, self.x, name, back=len(before) - sum(1 for _ in same))


class OfDict:
    """The keys and the values of a dict. `entry` is the only key that is looked at, if it is given."""

    def __init__(self, x: dict[Any, Any], entry: Any = MISSING) -> None:
        self._x = x
        self._entry = entry

    def identity(self) -> Any:
        return OfDict, id(self._x), self._entry

    def read(self) -> list[Any]:
        if self._entry is not MISSING:
            return [self._x.get(self._entry, MISSING)]
        items = list(self._x.items())  # at once, as another thread may change it
        return [*chain.from_iterable(zip(*items, strict=True))]  # the keys, and then the values

    def put_back(self, before: list[Any]) -> None:
        if self._entry is not MISSING:
            self._put_entry(self._entry, before[0])
            return
        wanted = _entries(before)
        for key in [*self._x, *wanted]:
            self._put_entry(key, wanted.get(key, MISSING))
        if list(self._x) != list(wanted):  # the order of the keys, too
            self._x.clear()
            self._x.update(wanted)

    def place(self, i: int) -> Place | None:
        if self._entry is not MISSING or type(self._x) is not dict or i < len(self._x):  # a key
            return None
        return Place(self._x, self._x, list(self._x)[i - len(self._x)])

    def _put_entry(self, key: Any, value: Any) -> None:
        if value is MISSING:
            self._x.pop(key, None)
        elif self._x.get(key, MISSING) is not value:
            self._x[key] = value


class OfInstance:
    """The class of an object, the dict of its attributes, and what is in the dict."""

    def __init__(self, x: Any) -> None:
        self._x = x
        self._kind = type(x)
        self._attributes = x.__dict__
        self._contents = OfDict(self._attributes)

    def identity(self) -> Any:
        return OfInstance, id(self._x)

    def read(self) -> list[Any]:
        return [type(self._x), self._x.__dict__, *self._contents.read()]

    def put_back(self, before: list[Any]) -> None:
        if type(self._x) is not self._kind:
            self._x.__class__ = self._kind
        if self._x.__dict__ is not self._attributes:
            self._x.__dict__ = self._attributes
        self._contents.put_back(before[2:])

    def place(self, i: int) -> Place | None:
        names = list(self._attributes)
        if self._x.__dict__ is not self._attributes or i < 2 + len(names):  # the class, the dict itself, or a name
            return None
        return Place(self._x, self._attributes, names[i - 2 - len(names)])


class OfCell:
    """The content of a variable."""

    def __init__(self, cell: CellType) -> None:
        self._cell = cell

    def identity(self) -> Any:
        return OfCell, id(self._cell)

    def read(self) -> list[Any]:
        return [MISSING if (content := content_of(self._cell)) is EMPTY else content]

    def put_back(self, before: list[Any]) -> None:
        if before[0] is not MISSING:
            self._cell.cell_contents = before[0]
        elif content_of(self._cell) is not EMPTY:
            del self._cell.cell_contents

    def place(self, i: int) -> Place | None:
        return Place(self._cell, self._cell, "cell_contents", is_slot=True)


class OfSlots:
    """The slots of an object, by their names. No code of the object's class is run."""

    def __init__(self, x: Any, names: list[str]) -> None:
        self._x = x
        self._names = names

    def identity(self) -> Any:
        return OfSlots, id(self._x)

    def read(self) -> list[Any]:
        return [self._content(name) for name in self._names]

    def put_back(self, before: list[Any]) -> None:
        for name, value in zip(self._names, before, strict=True):
            if value is not MISSING:
                object.__setattr__(self._x, name, value)
            elif self._content(name) is not MISSING:
                object.__delattr__(self._x, name)

    def place(self, i: int) -> Place | None:
        return Place(self._x, self._x, self._names[i], is_slot=True)

    def _content(self, name: str) -> Any:
        try:
            return object.__getattribute__(self._x, name)
        except (AttributeError, ValueError):  # the latter for a cell
            return MISSING


class OfClass:
    """What a class has."""

    def __init__(self, x: type) -> None:
        self._x = x

    def identity(self) -> Any:
        return OfClass, id(self._x)

    def read(self) -> list[Any]:
        entries = vars(self._x).copy()
        names = _lasting(entries)
        return [*names, *[entries[name] for name in names]]

    def put_back(self, before: list[Any]) -> None:
        wanted = _entries(before)
        for name in {*_lasting(vars(self._x)), *wanted}:
            if name not in wanted:
                delattr(self._x, name)
            elif vars(self._x).get(name, MISSING) is not wanted[name]:
                setattr(self._x, name, wanted[name])

    def place(self, i: int) -> Place | None:
        return None


def _entries(contents: list[Any]) -> dict[Any, Any]:
    """The entries of a dict, of its keys and then its values."""
    count = len(contents) // 2
    return dict(zip(contents[:count], contents[count:], strict=True))


def _lasting(names: Iterable[str]) -> list[str]:
    """The names in a class without those that come and go by themselves, as the counts of an abstract class do."""
    return [name for name in names if name not in MADE_BY_PYTHON and not name.startswith("_abc_")]
