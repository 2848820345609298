"""What a block changes beside its variables: a block that is written down must not change anything.

The things that a block can reach are looked at before it runs, and compared after it: the variables that it and the
functions that it calls see, and the lists, dicts, sets, arrays and instances in them. A change is taken back, as the
program may never reach the block.
"""

from __future__ import annotations

import logging
from array import array as compact_array
from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property, partial
from inspect import getattr_static
from operator import is_
from types import CellType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.boundary.code_names import names_in
from shiftreset_ad.staging.front.contents import OfAttributes, OfCell, OfClass, OfDict, OfSequence, Restorable
from shiftreset_ad.staging.front.refusals import FOREIGN_ITERATOR, SEES_TOO_MUCH
from shiftreset_ad.staging.front.users import is_of_the_user
from shiftreset_ad.staging.seen.parts import CACHE
from shiftreset_ad.staging.steps.trace import identical

MOST = 20_000  # things that are looked at
PLAIN = {float, int, complex, bool, str, bytes, type(None), range, slice, type(...)}
CONTAINERS = (dict, list, set, deque)
WRAPPERS = (MethodType, partial, property, staticmethod, classmethod, cached_property, CACHE)
PARTS = ("__func__", "__self__", "__wrapped__", "func", "args", "keywords", "fget", "fset")
OURS = f"{__name__.partition('.')[0]}."


class Effects:
    """The things that functions reach, as they are now."""

    def __init__(self, functions: Iterable[Callable[..., Any]], own: Iterable[CellType]) -> None:
        """`own` are the variables that the functions may bind."""
        self.problem: str | None = None
        self._contents: list[tuple[str, Restorable, list[Any]]] = []
        self._arrays: list[tuple[str, ndarray[Any, Any], ndarray[Any, Any]]] = []
        self._own = {id(cell) for cell in own}
        self._seen: dict[int, Any] = {}
        self._waiting: list[tuple[str, Any]] = [("a function", function) for function in functions]
        while self._waiting and self.problem is None:
            name, x = self._waiting.pop()
            if type(x) not in PLAIN and id(x) not in self._seen:
                self._seen[id(x)] = x
                self._look_at(name, x)
            if len(self._seen) > MOST:
                self.problem = SEES_TOO_MUCH

    def taken_back(self) -> str | None:
        """Take all changes back. The name of something that had changed; None if nothing had."""
        changed = None
        for name, contents, before in self._contents:
            now = contents.read()
            if len(now) != len(before) or not all(map(is_, now, before)):
                changed = changed or name
                contents.put_back(before)
        for name, array, as_it_was in self._arrays:
            if not identical(array, as_it_was):
                changed = changed or name
                array[...] = as_it_was
        return changed

    def _look_at(self, name: str, x: Any) -> None:
        if isinstance(x, logging.Logger) or type(x).__module__.startswith(OURS):
            return  # a logger changes, and that does not matter; a number, or a staged value, has nothing else in it
        if isinstance(x, FunctionType):
            self._look_at_function(x)
        elif isinstance(x, WRAPPERS):
            self._waiting += [(name, getattr(x, part, None)) for part in PARTS]
        elif isinstance(x, ndarray | compact_array | bytearray | memoryview):
            array = np.asarray(x)
            if array.flags.writeable:
                self._arrays.append((name, array, array.copy()))
        elif isinstance(x, tuple | frozenset):
            self._waiting += [(name, part) for part in x]
        elif isinstance(x, ModuleType):
            if is_of_the_user(x.__name__, getattr(x, "__file__", None)):
                self._has(name, OfDict(vars(x)), enters=False)
        elif isinstance(x, type):
            if is_of_the_user(x.__module__):
                self._has(name, OfClass(x))
        elif isinstance(x, CONTAINERS):
            self._has(name, OfDict(x) if isinstance(x, dict) else OfSequence(x))
        elif hasattr(type(x), "__next__"):
            self.problem = FOREIGN_ITERATOR.format(kind=type(x).__name__)
        if not isinstance(x, FunctionType | ModuleType | type):
            if type(attributes := getattr(x, "__dict__", None)) is dict:
                self._has(name, OfDict(attributes))
            if slots := [slot for base in type(x).__mro__ for slot in _slots(base) if is_slot(type(x), slot)]:
                self._has(name, OfAttributes(x, slots))
            self._waiting.append((name, type(x)))

    def _look_at_function(self, function: FunctionType) -> None:
        self._waiting += [("a default", part) for part in (function.__defaults__, function.__kwdefaults__)]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if id(cell) not in self._own:
                self._has(name, OfCell(cell))
            else:
                self._waiting.append((name, content_of(cell)))
        if is_of_the_user(function.__module__, function.__code__.co_filename):
            for name in names_in(function.__code__) & function.__globals__.keys():
                self._has(name, OfDict(function.__globals__, name))

    def _has(self, name: str, contents: Restorable, enters: bool = True) -> None:
        now = contents.read()
        self._contents.append((name, contents, now))
        if enters:
            self._waiting += [(name, part) for part in now]


def is_slot(kind: type, name: str) -> bool:
    """Whether a name is a slot in this class, and no property of a class below the one that has the slot."""
    return isinstance(getattr_static(kind, name, None), MemberDescriptorType)


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]
