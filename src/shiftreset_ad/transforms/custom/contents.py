"""The contents of lists, dicts and objects that rules read: the program must not replace them before the way back.

A rule may count or log in a list that it holds, so the rules of a call get the list itself, and not a copy as it was at
the call. What changes while a rule runs is the rule's own. What changes between two runs was changed by the program,
and the rule on the way back would silently take the new content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakValueDictionary

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import PLAIN, WITHOUT_ARRAYS, is_holder, names_in
from shiftreset_ad.control import ControlError
from shiftreset_ad.numbers.number import Number

Items = list[Any] | dict[Any, Any]
ABSENT = object()


class Contents:
    """What a list, a dict or the attributes of an object hold, as rules last saw or left it: one for all calls.

    Of attributes and of global variables, only those of these `names` count.
    """

    __slots__ = ("__weakref__", "_before", "_holder", "_names", "_running", "changes", "described")

    def __init__(self, holder: Items, names: frozenset[str] | None, described: str) -> None:
        self._holder = holder
        self._names = names
        self._before = self._items()
        self._running = 0
        self.described = described
        self.changes = 0  # how often the program has replaced something

    def enter(self) -> None:
        """A rule starts to run: what has been replaced by now was replaced by the program, unless another rule runs."""
        if not self._running and replaced(self._before, now := self._items()):
            self.changes += 1
            self._before = now
        self._running += 1

    def leave(self) -> None:
        """A rule has run."""
        self._before = self._items()
        self._running -= 1

    def _items(self) -> Items:
        if self._names is None:
            return self._holder.copy()
        return {name: self._holder[name] for name in self._names if name in self._holder}  # type: ignore[call-overload]


KNOWN: WeakValueDictionary[tuple[int, frozenset[str] | None], Contents] = WeakValueDictionary()


def replaced(before: Any, now: Any) -> bool:
    """Whether an item of `before` is another one `now`. It does not matter what has been added."""
    if type(before) is list:
        return len(now) < len(before) or not all(map(_is_like, before, now))
    return not all(_is_like(x, now.get(key, ABSENT)) for key, x in before.items())


def _is_like(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and type(a) in PLAIN and repr(a) == repr(b))  # -0.0 is not 0.0, and nan is nan


class Watch:
    """The contents that the rules of one call read, as they were at its first run."""

    __slots__ = ("_changes", "_contents", "_name")

    def __init__(self, name: str, contents: Sequence[Contents]) -> None:
        self._name = name
        self._contents = contents
        self._changes: list[int] | None = None

    def run(self, use: Callable[..., Any], *args: Any) -> Any:
        """Use the rules. ControlError if the program has replaced something since the first use."""
        entered: list[Contents] = []
        try:
            for contents in self._contents:
                contents.enter()
                entered.append(contents)
            changes = [contents.changes for contents in self._contents]
            if self._changes is None:
                self._changes = changes
            if changes != self._changes:
                which = next(c for c, n in zip(self._contents, self._changes, strict=True) if c.changes != n)
                raise ControlError(
                    f"{self._name}: its rules read {which.described}, and the program has replaced something in it "
                    f"between the call and this use of a rule. Make what the rules need an argument of {self._name}, "
                    "or return it from the function's rule as a residual"
                )
            return use(*args)
        finally:
            for contents in entered:
                contents.leave()


def contents_read_by(
    functions: Iterable[FunctionType], held: Iterable[tuple[str, Any]]
) -> tuple[list[Contents], frozenset[str]]:
    """The contents that these functions may read, which hold these things by name; and the names in their code."""
    codes = [(function.__globals__, names_in(function.__code__)) for function in functions]
    names = frozenset[str]().union(*(read for _, read in codes))
    contents = [x for name, content in held for x in contents_of(content, names, name)]
    for variables in {id(variables): variables for variables, _ in codes}.values():
        read_here = frozenset[str]().union(*(read for others, read in codes if others is variables))
        if numbers := frozenset(name for name in read_here if type(variables.get(name)) in PLAIN):
            contents.append(_known(variables, numbers, "global variables"))
    return contents, names


def contents_of(x: Any, names: frozenset[str], described: str) -> list[Contents]:
    """The contents of the lists, dicts and objects in `x`; of an object only the attributes of these `names`."""
    found: list[Contents] = []
    waiting = [x]
    seen: set[int] = set()
    while waiting:
        x = waiting.pop()
        kind = type(x)
        if kind in WITHOUT_ARRAYS or kind is ndarray or issubclass(kind, Number) or is_holder(x) or id(x) in seen:
            continue
        seen.add(id(x))
        if issubclass(kind, tuple):
            waiting += x
        elif kind is list:
            found.append(_known(x, None, f"the list {described!r}"))
            waiting += x
        elif kind is dict:
            found.append(_known(x, None, f"the dict {described!r}"))
            waiting += x.values()
        elif (attributes := getattr(x, "__dict__", None)) and not issubclass(kind, type | ModuleType):
            read = names.intersection(attributes)
            if read:
                found.append(_known(attributes, read, f"attributes of {described!r}"))
                waiting += [attributes[name] for name in read]
    return found


def _known(holder: Any, names: frozenset[str] | None, described: str) -> Contents:
    key = id(holder), names
    contents = KNOWN.get(key)
    if contents is None:
        contents = KNOWN[key] = Contents(holder, names, described)
    return contents
