"""What a block changes beside its variables: the site carries it from block to block, or the block is not written down.

The things that a block can reach are looked at before it runs, and compared after it: the variables that it and the
functions that it calls see, and the lists, dicts, sets, arrays, instances and generators of random numbers in them. A
change is taken back, as the program may never reach the block.
"""

from __future__ import annotations

import logging
import random
from array import array as compact_array
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from functools import cached_property, partial
from inspect import getattr_static
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, ForwardRef, NamedTuple, TypeAlias, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.boundary.code_names import names_in
from shiftreset_ad.control.frames import is_followed, module_of
from shiftreset_ad.staging.front.contents import (
    MISSING,
    OfCell,
    OfClass,
    OfDict,
    OfInstance,
    OfSequence,
    OfSlots,
    Place,
    Restorable,
    Tail,
    are_same,
)
from shiftreset_ad.staging.front.refusals import FOREIGN_ITERATOR, SEES_TOO_MUCH
from shiftreset_ad.staging.front.users import MADE_BY_A_STATEMENT, is_of_the_user
from shiftreset_ad.staging.seen.parts import CACHE, GENERATORS, are_same_states, put_state, state_of
from shiftreset_ad.staging.steps.trace import identical
from shiftreset_ad.staging.steps.values import Staged

MOST = 20_000  # things that are looked at
# Nothing changes in such things
PLAIN = {float, int, complex, bool, str, bytes, type(None), range, slice, type(...), Staged}
PLAIN |= {CodeType, GetSetDescriptorType, MemberDescriptorType, ForwardRef}
CONTAINERS = (dict, list, set, deque)
WRAPPERS = (MethodType, partial, property, staticmethod, classmethod, cached_property, CACHE)
PARTS = ("__func__", "__self__", "__wrapped__", "func", "args", "keywords", "fget", "fset")
OURS = f"{__name__.partition('.')[0]}."
# Whose methods are `numpy.random.normal`, `random.gauss` and their kin
GLOBAL_GENERATORS: list[tuple[str, Any]] = [
    ("numpy.random", cast(Any, np.random.normal).__self__),
    ("random", cast(Any, random.gauss).__self__),
]
GROWING = f"{__package__}.growing"  # the module of lists whose length depends on values


Variable: TypeAlias = tuple[CodeType, str]  # one of a function around this one, by the code and the name in it


class Change(NamedTuple):
    """Something that has changed: the name by which it was found, and its place if it can be put there by itself."""

    name: str
    place: Place | None = None
    is_new: bool = False  # it had no value before
    array: ndarray[Any, Any] | None = None  # a plain array with other elements


PLAIN.add(type(vars(Change)["name"]))  # what stands for a field in the class of a named tuple


class Effects:
    """The things that functions reach, as they are now."""

    def __init__(self, roots: Iterable[Any], own: Iterable[CellType], around: Effects | None = None) -> None:
        """The roots are functions, and what they are given. `own` are the variables that the functions may bind.

        If there is a block `around`, its effects see the generators that are global. Their states are long.
        """
        self.problem: str | None = None
        self.growing_lists: list[Any] = []
        self._contents: list[tuple[str, Restorable, list[Any]]] = []
        self._arrays: list[tuple[str, ndarray[Any, Any], ndarray[Any, Any]]] = []
        self._states: list[tuple[str, Any, Callable[[], Any], Any]] = []
        self._own = {id(cell): cell for cell in own}
        self._variables = defaultdict[Variable, list[CellType]](list)
        self._expected = set[Any]()
        self._starts: dict[int, int] = {}  # of the tails of lists that may change, by the ids of the lists
        self._seen: dict[int, Any] = {}
        self._modules: list[tuple[str, ModuleType]] = []
        self._names = set[str]()  # in the code of the functions
        self._waiting: list[tuple[str, Any]] = [("an argument", root) for root in roots]
        if around is None:
            self._waiting += GLOBAL_GENERATORS
        while self.problem is None and (self._waiting or self._has_more_in_modules()):
            name, x = self._waiting.pop()
            kind = type(x)
            if kind in PLAIN or id(x) in self._seen or (kind is type and not x.__flags__ & MADE_BY_A_STATEMENT):
                continue
            self._seen[id(x)] = x
            self._look_at(name, x)
            if len(self._seen) > MOST:
                self.problem = SEES_TOO_MUCH
        contents = {each.identity(): each for _, each, _ in self._contents}
        known = frozenset[Any]() if around is None else around._known
        self._new = [each for identity, each in contents.items() if identity not in known]  # not seen around
        self._known: frozenset[Any] = known.union(contents)

    def reaches(self, x: Any) -> bool:
        """Whether the functions can reach an object."""
        return self._seen.get(id(x)) is x

    def expects(self, places: Collection[Place]) -> None:
        """These places may change."""
        self._expected = {place.identity() for place in places}
        self._starts = {id(place.container): place.start for place in places if isinstance(place, Tail)}

    def changes(self) -> list[Change]:
        """What has changed beside the places that may."""
        found: list[Change] = []
        for name, contents, as_it_was in self._contents:
            now, before = contents.read(), as_it_was
            if are_same(now, before):  # the usual case, for speed
                continue
            if isinstance(contents, OfSequence):
                start = self._starts.get(id(contents.x))
                now, before = now[:start], before[:start]
                if len(now) != len(before):
                    found.append(Change(name, contents.tail(name, as_it_was)))
                    continue
            if len(now) != len(before):
                key = next((x for x in now if type(x) is str and all(x is not y for y in before)), None)
                found.append(Change(name if key is None else key, is_new=key is not None))
                continue
            for i, (x, y) in enumerate(zip(now, before, strict=True)):
                if x is not y:
                    place = None if x is MISSING else contents.place(i)
                    is_new = y is MISSING and place is not None
                    if place is None or place.identity() not in self._expected:
                        key = None if place is None or isinstance(contents, OfCell) else place.key
                        found.append(Change(key if is_new and key is not None else name, place, is_new))
        found += [Change(name, array=array) for name, array, before in self._arrays if not identical(array, before)]
        return found + [Change(name) for name, _, state, before in self._states if not are_same_states(state(), before)]

    def holders(self, x: Any) -> list[Place]:
        """The places that hold an object now."""
        places = [
            contents.place(i)
            for _, contents, _ in self._contents
            if id(x) in map(id, parts := contents.read())  # which needs no call for each part
            for i, part in enumerate(parts)
            if part is x
        ]
        return list({place.identity(): place for place in places if place is not None}.values())

    def variables_of(self, owners: Iterable[Any]) -> list[Variable]:
        """The variables that have one of these cells. A later call of the function has other cells."""
        wanted = {id(owner) for owner in owners if type(owner) is CellType}
        return [key for key, cells in self._variables.items() if not wanted.isdisjoint(map(id, cells))]

    def places_of(self, variables: Iterable[Variable]) -> list[Place]:
        """Where these variables are now."""
        cells = [cell for variable in variables for cell in self._variables.get(variable, ())]
        return [Place(cell, cell, "cell_contents", is_slot=True) for cell in cells]

    def renew(self, versions: dict[int, Any]) -> None:
        """Put new versions of arrays, which are known by the ids of the old ones, where the old ones are.

        The places that are seen around the block, too, are left to the effects there.
        """
        for contents in self._new:
            parts = contents.read()
            if versions.keys().isdisjoint(map(id, parts)):  # which needs no call for each part
                continue
            for i, part in enumerate(parts):
                if id(part) in versions and (place := contents.place(i)) is not None:
                    place.put(versions[id(part)])
        for cell in self._own.values():
            if id(content := content_of(cell)) in versions:
                cell.cell_contents = versions[id(content)]

    def take_back(self) -> None:
        """Take all changes back."""
        for _, contents, before in self._contents:
            if not are_same(contents.read(), before):
                contents.put_back(before)
        for _, array, as_it_was in self._arrays:
            if not identical(array, as_it_was):
                array[...] = as_it_was
        for _, generator, state, before in self._states:
            if not are_same_states(state(), before):
                put_state(generator, before)

    def _look_at(self, name: str, x: Any) -> None:
        module = module_of(type(x))
        if module == GROWING:
            if type(x).__hash__ is None:  # a list, and no form of its items
                self.growing_lists.append(x)
            self._has(name, OfSlots(x, slots_of(x)))
        if isinstance(x, logging.Logger) or (module.startswith(OURS) and not is_followed(module)):
            return  # a logger changes, and that does not matter; a number, or a staged value, has nothing else in it
        if isinstance(x, FunctionType):
            self._look_at_function(x)
        elif isinstance(x, WRAPPERS):
            self._waiting += [(name, getattr(x, part, None)) for part in PARTS]
        elif isinstance(x, ndarray | compact_array | bytearray | memoryview):
            array = np.asarray(x)
            if array.flags.writeable:
                self._arrays.append((name, array, array.copy()))
        elif isinstance(x, BuiltinMethodType):
            self._waiting.append((name, x.__self__))
        elif isinstance(x, GENERATORS):
            if not isinstance(x, random.SystemRandom):
                state: Any = state_of(x)
                self._states.append((name, x, state, state()))
        elif isinstance(x, tuple | frozenset):
            self._waiting += [(name, part) for part in x]
        elif isinstance(x, ModuleType):
            if is_of_the_user(x.__name__, getattr(x, "__file__", None)):
                self._has(name, OfDict(vars(x)), enters=False)
                self._modules.append((name, x))
        elif isinstance(x, type):
            if _may_change(module_of(x)):
                self._has(name, OfClass(x))
        elif isinstance(x, CONTAINERS):
            self._has(name, OfDict(x) if isinstance(x, dict) else OfSequence(x))
        elif hasattr(type(x), "__next__"):
            self.problem = FOREIGN_ITERATOR.format(kind=type(x).__name__)
        if not isinstance(x, FunctionType | ModuleType | type):
            if type(getattr(x, "__dict__", None)) is dict:
                self._has(name, OfInstance(x))
            if slots := slots_of(x):
                self._has(name, OfSlots(x, slots))
            self._waiting.append((name, type(x)))

    def _look_at_function(self, function: FunctionType) -> None:
        self._waiting += [("a default", part) for part in (function.__defaults__, function.__kwdefaults__)]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) not in self._own:
                self._variables[function.__code__, name].append(cell)
                self._seen[id(cell)] = cell
                self._has(name, OfCell(cell))
            else:
                self._waiting.append((name, content_of(cell)))
        if _may_change(function.__module__, function.__code__.co_filename):
            self._names |= names_in(function.__code__)
            for name in names_in(function.__code__) & function.__globals__.keys():
                self._has(name, OfDict(function.__globals__, name))

    def _has_more_in_modules(self) -> bool:
        """Look at what modules have under names that are in the code. Whether there is something new."""
        found = [(name, vars(x)[name]) for _, x in self._modules for name in self._names & vars(x).keys()]
        self._waiting += [(name, x) for name, x in found if type(x) not in PLAIN and self._seen.get(id(x)) is not x]
        return bool(self._waiting)

    def _has(self, name: str, contents: Restorable, enters: bool = True) -> None:
        now = contents.read()
        self._contents.append((name, contents, now))
        if enters:
            self._waiting += [(name, part) for part in now]


def _may_change(module: Any, filename: str | None = None) -> bool:
    """Whether a block may change what a module has: the user's, and not one of ours, though it may be followed."""
    return not is_followed(module) and is_of_the_user(module, filename)


def is_slot(kind: type, name: str) -> bool:
    """Whether a name is a slot in this class, and no property of a class below the one that has the slot."""
    return isinstance(getattr_static(kind, name, None), MemberDescriptorType)


def slots_of(x: Any) -> list[str]:
    """The names of an object's slots."""
    kind = type(x)
    if kind not in _slots_of_kinds:  # to find them takes time
        _slots_of_kinds[kind] = [slot for base in kind.__mro__ for slot in _slots(base) if is_slot(kind, slot)]
    return _slots_of_kinds[kind]


_slots_of_kinds: WeakKeyDictionary[type, list[str]] = WeakKeyDictionary()


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]
