"""Guards: places outside a function, and their contents at its recording. The steps hold while the contents stay."""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Hashable
from functools import partial
from operator import is_
from types import CellType, FunctionType
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.staging.seen.at_once import (
    AtOnce,
    dict_of,
    have_same_layout,
    in_c,
    is_element,
    is_entry,
)
from shiftreset_ad.staging.seen.parts import (
    NOT_THERE,
    PLAIN,
    Slot,
    are_same_states,
    attributes_of,
    contents_of_slots,
    fields_of,
    flags_of,
    item_of,
    layout_of,
    makings_of,
    parts_of,
)
from shiftreset_ad.staging.steps.trace import identical

Looks = list[tuple[Callable[[list[Any]], str | None], list[Any]]]  # comparisons, each with the places it looks at
TWO = struct.Struct("dd")  # floats
MANY = 100  # places, which are looked at one after another


class Guards:
    """Places and their contents, each place once. A place is a variable, an attribute, an element, or a whole thing."""

    def __init__(self) -> None:
        self._cells: dict[Any, tuple[CellType, str, Any]] = {}
        self._entries: dict[Any, tuple[Any, str, Any]] = {}
        self._items: dict[Any, tuple[Any, Any, Any, str]] = {}
        self._functions: dict[Any, tuple[FunctionType, tuple[Any, ...], str]] = {}
        self._kinds: dict[Any, tuple[Callable[[], Any], type, Any, str]] = {}
        self._bases: dict[Any, tuple[type, tuple[type, ...], str]] = {}
        self._dicts: dict[Any, tuple[dict[Any, Any], list[Any], str]] = {}
        self._parts: dict[Any, tuple[Callable[[], list[Any]], list[Any], str]] = {}
        self._arrays: dict[Any, tuple[ndarray[Any, Any], ndarray[Any, Any], str]] = {}
        self._states: dict[Any, tuple[Callable[[], Any], Any, str]] = {}

    def cell(self, cell: CellType, name: str) -> None:
        """A variable that a function closes over."""
        self._cells[id(cell)] = cell, name, content_of(cell)

    def entry(self, entries: Any, key: str, name: str, of: Any = None) -> None:
        """An entry of a dictionary: of a module, a class or an object. It may be missing.

        `of` is the class, which gives another view of its dictionary each time that it is asked.
        """
        self._entries[id(entries if of is None else of), key] = entries, key, entries.get(key, NOT_THERE)

    def item(self, holder: Any, key: Any, name: str) -> None:
        """The element of a container or an array at a key. It may be missing."""
        self._items[id(holder), type(key), key] = holder, key, item_of(holder, key), name

    def function(self, function: FunctionType) -> None:
        """The code and the defaults of a function. Those of keywords are in a dictionary, which may be written to."""
        self._functions[id(function)] = function, makings_of(function), function.__name__
        if function.__kwdefaults__:
            self.contents(function.__kwdefaults__, function.__name__)

    def kind(self, x: Any, name: str) -> None:
        """The class of an object, and its dictionary. The object itself is not kept alive."""
        try:
            reference: Callable[[], Any] = weakref.ref(x)
        except TypeError:
            reference = lambda: x  # noqa: E731
        self._kinds[id(x)] = reference, type(x), attributes_of(x), name

    def contents(self, container: Any, name: str) -> None:
        """All parts of a container."""
        kind = type(container)
        if kind is dict:
            self._dicts[id(container)] = container, parts_of(container), name
        elif kind is not frozenset and getattr(kind, "__iter__", None) is not tuple.__iter__:  # these never change
            self.parts(id(container), partial(parts_of, container), name)

    def parts(self, of: Hashable, parts: Callable[[], list[Any]], name: str) -> None:
        """All parts of a thing. `of` tells the thing from others, and `parts` keeps it alive."""
        self._parts[of] = parts, parts(), name

    def layout(self, array: ndarray[Any, Any], name: str) -> None:
        """The shape and the type of an array."""
        self.parts((id(array), "layout"), partial(layout_of, array), name)
        self._fields(array, name)

    def flags(self, array: ndarray[Any, Any], name: str) -> None:
        """How an array lies in memory, and whether it may be written to."""
        self.parts((id(array), "flags"), partial(flags_of, array), name)

    def _fields(self, array: ndarray[Any, Any], name: str) -> None:
        """The names of the fields of an array: they may be changed in its dtype itself."""
        if array.dtype.names is not None:
            self.parts((id(array), "fields"), partial(fields_of, array), name)

    def slot(self, x: Any, slot: Slot, name: str) -> None:
        """The content of a slot of an object, or an attribute that Python itself keeps."""
        self.parts((id(x), slot.__name__), partial(contents_of_slots, x, [slot]), name)

    def bases(self, kind: type) -> None:
        """The classes from which a class inherits."""
        self._bases[id(kind)] = kind, kind.__mro__, kind.__name__

    def array(self, array: ndarray[Any, Any], name: str) -> None:
        """All elements of an array."""
        if id(array) not in self._arrays:
            self._arrays[id(array)] = array, np.array(array), name
            self._fields(array, name)

    def state(self, of: Any, state: Callable[[], Any], name: str) -> None:
        """The state of a generator of random numbers."""
        self._states[id(of)] = state, state(), name

    def add(self, others: Guards) -> Guards:
        """Guard the places of others, too."""
        for mine, theirs in zip(vars(self).values(), vars(others).values(), strict=True):
            mine.update(theirs)
        return self

    def changed(self) -> str | None:
        """The name of something that has changed; None if nothing has."""
        return self.comparison()()

    def comparison(self) -> Callable[[], str | None]:
        """A function that answers what `changed` answers, for the places that are guarded by now."""
        looks, others = self._looks()
        are_there = as_they_were([*self._cells.values()], [*self._entries.values()], [*self._functions.values()])

        def changed() -> str | None:
            return _first_change(others if are_there() else looks)

        return changed if others else lambda: None if are_there() else changed()

    def _looks(self) -> tuple[Looks, Looks]:
        """All comparisons, and those among them that cannot be made at once."""
        looks = [(look, [*places.values()]) for look, places in zip(LOOKS, vars(self).values(), strict=True) if places]
        return looks, [(look, places) for look, places in looks if look not in AT_ONCE]

    def at_once(self) -> AtOnce:
        """The places that can be compared in C, and a comparison of the rest."""
        if any(type(dict_of(places)) is not dict for places, _, _ in self._entries.values()):
            return AtOnce.only(self.comparison())
        simple: dict[Any, Callable[..., bool]] = {
            _changed_item: lambda holder, key, *_: is_entry(holder, key) or is_element(holder, key),
            _changed_dict: lambda *_: True,
            _changed_parts: lambda parts, before, _: in_c(parts, before) is not None,
            _changed_array: lambda array, as_it_was, _: have_same_layout(array, as_it_was),
            _changed_kind: lambda *_: True,
            _changed_bases: lambda *_: True,
        }
        others = []
        for look, places in self._looks()[1]:
            is_simple = simple.get(look)
            if left := [place for place in places if is_simple is None or not is_simple(*place)]:
                others.append((look, left))
        items = [place[:3] for place in self._items.values()]
        return AtOnce.of(
            cells=[(cell, content) for cell, _, content in self._cells.values()],
            entries=[(dict_of(places), key, content) for places, key, content in self._entries.values()]
            + [item for item in items if is_entry(*item[:2])],
            functions=[(function, *makings) for function, makings, _ in self._functions.values()],
            kinds=[place[:3] for place in self._kinds.values()],
            bases=[place[:2] for place in self._bases.values()],
            elements=[item for item in items if is_element(*item[:2])],
            wholes=[place[:2] for place in self._dicts.values()],
            arrays=[(x, before, x.nbytes) for x, before, _ in self._arrays.values() if have_same_layout(x, before)],
            parts=[place[:2] for place in self._parts.values()],
            others=partial(_first_change, others) if others else None,
        )


def _first_change(looks: Looks) -> str | None:
    for look, places in looks:
        name = look(places)
        if name is not None:
            return name
    return None


def as_they_were(
    cells: list[tuple[CellType, str, Any]],
    entries: list[tuple[Any, str, Any]],
    functions: list[tuple[FunctionType, tuple[Any, ...], str]],
) -> Callable[[], bool]:
    """A function that tells at once whether these places have the very same contents; never, if they are many.

    It is one expression, which takes a third of the time of a loop.
    """
    if len(cells) + len(entries) + len(functions) > MANY:
        return bool  # which answers False
    names: dict[str, Any] = {"NOT_THERE": NOT_THERE}
    tests = []
    for i, (cell, _, content) in enumerate(cells):
        names |= {f"cell{i}": cell, f"content{i}": content}
        tests.append(f"cell{i}.cell_contents is content{i}")
    for i, (places, key, content) in enumerate(entries):
        names |= {f"get{i}": places.get, f"key{i}": key, f"entry{i}": content}
        tests.append(f"get{i}(key{i}, NOT_THERE) is entry{i}")
    for i, (function, (code, defaults, named), _) in enumerate(functions):
        names |= {f"function{i}": function, f"code{i}": code, f"defaults{i}": defaults, f"named{i}": named}
        tests += [
            f"function{i}.__code__ is code{i}",
            f"function{i}.__defaults__ is defaults{i}",
            f"function{i}.__kwdefaults__ is named{i}",
        ]
    compare = eval(f"lambda: {' and '.join(tests) or True}", names)
    return _or_false(compare) if cells else compare


def _or_false(compare: Callable[[], bool]) -> Callable[[], bool]:
    """The same, where a variable may have no value."""

    def compared() -> bool:
        try:
            return compare()
        except ValueError:
            return False

    return compared


def _changed_cell(places: list[tuple[CellType, str, Any]]) -> str | None:
    for cell, name, content in places:
        try:
            if cell.cell_contents is content:  # the usual case, for speed
                continue
        except ValueError:
            pass
        if not is_same(content_of(cell), content):
            return name
    return None


def _changed_entry(places: list[tuple[Any, str, Any]]) -> str | None:
    for entries, name, content in places:
        if (now := entries.get(name, NOT_THERE)) is not content and not is_same(now, content):
            return name
    return None


def _changed_item(places: list[tuple[Any, Any, Any, str]]) -> str | None:
    for holder, key, content, name in places:
        if (now := item_of(holder, key)) is not content and not is_same(now, content):
            return name
    return None


def _changed_function(places: list[tuple[FunctionType, tuple[Any, ...], str]]) -> str | None:
    for function, (code, defaults, named), name in places:
        if (
            function.__code__ is not code
            or function.__defaults__ is not defaults
            or function.__kwdefaults__ is not named
        ):
            return name
    return None


def _changed_kind(places: list[tuple[Callable[[], Any], type, Any, str]]) -> str | None:
    for reference, kind, attributes, name in places:
        x = reference()
        if type(x) is not kind or (attributes is not None and attributes_of(x) is not attributes):
            return name  # the class says whether there is a dictionary
    return None


def _changed_bases(places: list[tuple[type, tuple[type, ...], str]]) -> str | None:
    return next((name for kind, bases, name in places if not is_same(kind.__mro__, bases)), None)


def _changed_dict(places: list[tuple[dict[Any, Any], list[Any], str]]) -> str | None:
    for container, parts, name in places:
        if container or parts:
            now = [*container, *container.values()]  # at once, as another thread may change the dictionary
            if not are_same(now, parts):
                return name
    return None


def _changed_parts(places: list[tuple[Callable[[], list[Any]], list[Any], str]]) -> str | None:
    return next((name for parts_now, parts, name in places if not are_same(parts_now(), parts)), None)


def _changed_array(places: list[tuple[ndarray[Any, Any], ndarray[Any, Any], str]]) -> str | None:
    for array, as_it_was, name in places:
        if not identical(array, as_it_was):
            return name
    return None


def _changed_state(places: list[tuple[Callable[[], Any], Any, str]]) -> str | None:
    return next((name for state, before, name in places if not are_same_states(state(), before)), None)


# In the order of the attributes of `Guards`.
LOOKS: tuple[Callable[[list[Any]], str | None], ...] = (
    *(_changed_cell, _changed_entry, _changed_item, _changed_function, _changed_kind, _changed_bases, _changed_dict),
    *(_changed_parts, _changed_array, _changed_state),
)
AT_ONCE = {_changed_cell, _changed_entry, _changed_function}


def are_same(now: list[Any], before: list[Any]) -> bool:
    """Whether these are the same objects, one by one, or values that nobody can tell apart."""
    return len(now) == len(before) and (all(map(is_, now, before)) or all(map(is_same, now, before)))


def is_same(now: Any, before: Any) -> bool:
    """Whether these are the same object, or values that nobody can tell apart."""
    if now is before:
        return True
    kind = type(now)
    if kind is not type(before):
        return False
    if kind is tuple:
        return are_same(list(now), list(before))
    if kind is float or kind is complex:
        return TWO.pack(now.real, now.imag) == TWO.pack(before.real, before.imag)  # signs of 0.0 and of NaN differ
    if isinstance(now, np.generic):
        return identical(now, before)
    return kind in PLAIN and bool(now == before)
