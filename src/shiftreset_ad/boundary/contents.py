"""What functions read and do not hold: the program must not change it between a call and the way back.

A function that runs again on the way back, such as a derivative rule, may count or log in a list, so it gets the list
itself, and not a copy as it was at the call. What changes while such a function runs is its own. What changes between
two runs was changed by the program, and the way back would silently take the new content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any
from weakref import WeakValueDictionary

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import PLAIN, content_of
from shiftreset_ad.control import ControlError
from shiftreset_ad.numbers.plain_arrays import same

ABSENT = object()


class Contents:
    """What something holds, as functions last saw or left it: one for all calls.

    A kind of contents says what is `now` in its holder, and what of it has changed.
    """

    __slots__ = ("__weakref__", "_before", "_running", "changed", "changes", "described", "holder", "owner")

    def __init__(self, owner: Any, holder: Any, described: str) -> None:
        self.owner = owner  # the list, the object, the function or whatever else it is that has the holder
        self.holder = holder
        self.described = described
        self.changes = 0  # how often the program has changed it
        self.changed = described  # what of it, the last time
        self._running = 0
        self._before = self.now()

    @property
    def leads(self) -> bool:
        """Whether other lists, objects or arrays can be in it."""
        return True

    def now(self) -> Any:
        """What is in the holder, in an object that does not change."""
        raise NotImplementedError

    def difference(self, before: Any) -> str | None:
        """What has changed, as errors name it; None if nothing has."""
        raise NotImplementedError

    def leads_elsewhere(self, before: Any) -> bool:
        """Whether other lists, objects or arrays can be reached from here than from what was here `before`."""
        raise NotImplementedError

    def enter(self) -> int:
        """A function starts to run: the program has made the changes until now, unless another one runs. How many."""
        if not self._running and (changed := self.difference(self._before)) is not None:
            self.changes += 1
            self.changed = changed
            self._before = self.now()
        self._running += 1
        return self.changes

    def leave(self) -> None:
        """A function has run."""
        if self.difference(self._before) is not None:
            self._before = self.now()
        self._running -= 1


class ListItems(Contents):
    """The items of a list or a deque. It does not matter what has been added."""

    __slots__ = ()

    def now(self) -> list[Any]:
        return [*self.holder]

    def difference(self, before: list[Any]) -> str | None:
        now = self.holder
        same_items = len(now) >= len(before) and (all(map(is_, before, now)) or all(map(is_like, before, now)))
        return None if same_items else self.described

    def leads_elsewhere(self, before: list[Any]) -> bool:
        return len(before) != len(self.holder) or not all(map(leads_like, before, self.holder))


class Entries(Contents):
    """The entries of a dict. It does not matter what has been added."""

    __slots__ = ()

    def now(self) -> dict[Any, Any]:
        return dict.copy(self.holder)

    def difference(self, before: dict[Any, Any]) -> str | None:
        now = self.holder
        same_items = all(is_like(x, dict.get(now, key, ABSENT)) for key, x in before.items())
        return None if same_items else self.described

    def leads_elsewhere(self, before: dict[Any, Any]) -> bool:
        now = self.holder
        if len(before) != len(now):
            return True
        return not all(leads_like(x, dict.get(now, key, ABSENT)) for key, x in before.items())


class Members(Contents):
    """The members of a set."""

    __slots__ = ()

    def now(self) -> set[Any]:
        return {*self.holder}

    def difference(self, before: set[Any]) -> str | None:
        return None if before == self.holder else self.described

    def leads_elsewhere(self, before: set[Any]) -> bool:
        return bool(before != self.holder)


class Names(Contents):
    """What some names stand for: global variables, the variables of a function, or attributes."""

    __slots__ = ("_names",)

    def __init__(self, owner: Any, holder: Any, described: str, names: frozenset[str]) -> None:
        self._names = names
        super().__init__(owner, holder, described)

    def now(self) -> dict[str, Any]:
        return {name: self.holder.get(name, ABSENT) for name in self._names}

    def difference(self, before: dict[str, Any]) -> str | None:
        get = self.holder.get
        for name, x in before.items():
            if (now := get(name, ABSENT)) is not x and not is_like(x, now):
                return self.described.format(repr(name))
        return None

    def leads_elsewhere(self, before: dict[str, Any]) -> bool:
        get = self.holder.get
        return any((now := get(name, ABSENT)) is not x and not leads_like(x, now) for name, x in before.items())


class Elements(Contents):
    """The elements of an array: of NumPy's, of `array.array`, of a bytearray or of a memoryview."""

    __slots__ = ()

    def now(self) -> Any:
        array = self.holder
        if not isinstance(array, ndarray):
            return bytes(array)
        return array.ravel().tolist() if array.dtype.hasobject else array.copy("K")

    def difference(self, before: Any) -> str | None:
        array = self.holder
        if not isinstance(array, ndarray):
            changed = bytes(array) != before
        elif isinstance(before, list):
            changed = array.size != len(before) or not all(map(is_like, before, array.flat))
        else:
            changed = not same(array, before)
        return self.described if changed else None

    @property
    def leads(self) -> bool:
        return isinstance(self._before, list)

    def leads_elsewhere(self, before: list[Any]) -> bool:
        return not all(map(leads_like, before, self.holder.flat))


class Variables(Mapping[str, Any]):
    """The variables that a function closes over, by name."""

    __slots__ = ("_cells",)

    def __init__(self, function: FunctionType) -> None:
        self._cells: dict[str, CellType] = dict(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )

    def __getitem__(self, name: str) -> Any:
        return content_of(self._cells[name])

    def __iter__(self) -> Any:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


class SlotAttributes(Mapping[str, Any]):
    """The attributes of an object that has them in slots, by name."""

    __slots__ = ("_members", "_object")

    def __init__(self, x: Any, members: Mapping[str, MemberDescriptorType]) -> None:
        self._object = x
        self._members = members

    def __getitem__(self, name: str) -> Any:
        try:
            return self._members[name].__get__(self._object)
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Any:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def is_like(a: Any, b: Any) -> bool:
    """Whether two are the same, or are numbers or words that nobody can tell apart."""
    return a is b or (type(a) is type(b) and type(a) in PLAIN and repr(a) == repr(b))  # -0.0 is not 0.0, and nan is nan


def leads_like(a: Any, b: Any) -> bool:
    """Whether nothing else can be reached from `a` than from `b`."""
    return a is b or (type(a) in PLAIN and type(b) in PLAIN)


KNOWN: WeakValueDictionary[tuple[Any, ...], Contents] = WeakValueDictionary()


def known(kind: type[Contents], owner: Any, holder: Any, described: str, *names: frozenset[str]) -> Contents:
    """The contents of this holder, which belongs to the `owner`: those that are known, or new ones."""
    key = kind, id(owner), *names
    contents = KNOWN.get(key)
    if contents is None:
        contents = KNOWN[key] = kind(owner, holder, described, *names)
    return contents


class ReadContents:
    """The contents that some functions read in one call of the user's, as they were at the first run.

    An error says what has changed between the words `before` and `after`.
    """

    __slots__ = ("_after", "_before", "_changes", "_contents")

    def __init__(self, contents: Sequence[Contents], before: str, after: str) -> None:
        self._contents = list(contents)
        self._before = before
        self._after = after
        self._changes: list[int] | None = None

    def add(self, contents: Sequence[Contents]) -> None:
        """Watch these, too, as they are now."""
        if self._changes is None:
            self._changes = [contents.changes for contents in self._contents]
        self._contents += contents
        self._changes += [contents.changes for contents in contents]

    def run(self, use: Callable[..., Any], *args: Any) -> Any:
        """Use the functions. ControlError if the program has changed something since the first use."""
        entered: list[Contents] = []
        try:
            changes = []
            for contents in self._contents:
                changes.append(contents.enter())
                entered.append(contents)
            if self._changes is None:
                self._changes = changes
            if changes != self._changes:
                what = next(c.changed for c, n in zip(self._contents, self._changes, strict=True) if c.changes != n)
                raise ControlError(f"{self._before} {what}, which the program has changed {self._after}")
            return use(*args)
        finally:
            for contents in entered:
                contents.leave()
