"""The surroundings of a function: variables that it closes over, globals, defaults, attributes.

The search goes through the user's own functions, classes and modules, and through the lists, dicts and instances in
them. It does not go into installed packages. Recorded steps hold as long as all that was found is as it was.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import sysconfig
import time
from array import array as compact_array
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from operator import is_
from types import (
    BuiltinMethodType,
    CellType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.control.frames import PACKAGE
from shiftreset_ad.numbers.plain_arrays import is_read_only
from shiftreset_ad.staging.seen.parts import (
    FOUNDATIONS,
    NOT_THERE,
    attributes_of,
    content_of_slot,
    is_opaque,
    makings_of,
    names_in,
    package_of,
    parts_of,
    slots_of,
    state_of,
)
from shiftreset_ad.staging.steps.trace import UnstageableError, identical

MOST = 20_000  # things that are looked at
PLAIN = (float, int, complex, str, bytes, bool, type(None), np.generic)
CONTAINERS = (dict, MappingProxyType, list, tuple, set, frozenset, deque, bytearray, memoryview, compact_array)
CACHE = type(cache(lambda: None))
CLOCKS = (time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.process_time)
LOOKED_INTO = (os, time)  # the only modules of the standard library that are searched
_INSTALLED = tuple(
    {os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {PACKAGE, "<frozen "}
)


class Surroundings:
    """All that these functions and objects see now."""

    def __init__(self, *roots: Any) -> None:
        self.cells: list[tuple[CellType, str, Any]] = []
        self.entries: list[tuple[dict[str, Any], str, Any]] = []
        self.functions: list[tuple[FunctionType, tuple[Any, ...], str]] = []
        self.parts: list[tuple[Callable[[], list[Any]], list[Any], str]] = []
        self.arrays: list[tuple[ndarray[Any, Any], ndarray[Any, Any], str]] = []
        self.generators: list[Callable[[], Any]] = [random.getstate, _state_of_numpy]
        self.caches: list[Any] = []
        self.problem: str | None = None
        try:
            _Look(self, roots)
        except UnstageableError as error:
            self.problem = f"{error}"

    def changed(self) -> str | None:
        """The name of something that has changed; None if nothing has."""
        for cell, name, content in self.cells:
            if (now := content_of(cell)) is not content and not _is_same(now, content):
                return name
        for entries, name, content in self.entries:
            if (now := entries.get(name, NOT_THERE)) is not content and not _is_same(now, content):
                return name
        for function, makings, name in self.functions:
            if not all(map(is_, makings_of(function), makings)):
                return name
        for parts_now, parts, name in self.parts:
            if not _are_same(parts_now(), parts):
                return name
        for array, as_it_was, name in self.arrays:
            if not identical(array, as_it_was):
                return name
        return None

    @contextmanager
    def without_caching(self) -> Iterator[None]:
        """On exit, clear each cached function that has computed an answer inside the block."""
        before = [function.cache_info().misses for function in self.caches]
        try:
            yield
        finally:
            for function, misses in zip(self.caches, before, strict=True):
                if function.cache_info().misses != misses:
                    function.cache_clear()

    def states(self) -> list[Any]:
        """The states of the generators of random numbers."""
        return [state() for state in self.generators]


class _Look:
    """The search for all that can be seen from `roots`. It fills the lists of the surroundings."""

    def __init__(self, surroundings: Surroundings, roots: tuple[Any, ...]) -> None:
        self.found = surroundings
        self.packages = {package for root in roots for package in _packages_of(root)}
        self.attributes: set[str] = set()
        self.modules: dict[int, ModuleType] = {}
        self.entered: set[tuple[int, str]] = set()
        self.seen: dict[int, Any] = {}
        self.waiting: list[tuple[Any, str]] = [(root, "an argument") for root in roots]
        while self.waiting:
            x, name = self.waiting.pop()
            if id(x) not in self.seen and type(x) not in PLAIN and not isinstance(x, np.generic):
                self.seen[id(x)] = x
                self.look_at(x, name)
            if len(self.seen) > MOST:
                raise UnstageableError(f"it sees more than {MOST} things, and to look at all of them would take long")
            if not self.waiting:
                self.enter_modules()

    def look_at(self, x: Any, name: str) -> None:
        kind = type(x)
        if isinstance(x, ndarray):
            self.look_at_array(x, name)
        elif kind is FunctionType:
            self.look_at_function(x)
        elif isinstance(x, ModuleType):
            if x in LOOKED_INTO or self.is_users(x.__name__):
                self.modules[id(x)] = x
                self.found.parts.append((lambda: [len(vars(x))], [len(vars(x))], name))  # a name may be added
        elif isinstance(x, type):
            if self.is_users(x.__module__):
                self.look_at_class(x)
        elif kind is MethodType:
            self.waiting += [(x.__func__, name), (x.__self__, name)]
        elif isinstance(x, partial):
            self.waiting += [(x.func, name), (x.args, name), (x.keywords, name)]
            self.look_at_instance(x)
        elif isinstance(x, BuiltinMethodType) and x in CLOCKS:
            raise UnstageableError(f"it looks at the clock, by {name!r}. Make the time an argument")
        elif isinstance(x, BuiltinMethodType | MethodWrapperType):
            self.waiting.append((x.__self__, name))
        elif (state := state_of(x)) is not None:
            self.found.generators.append(state)
        elif isinstance(x, CACHE):
            self.found.caches.append(x)
            self.waiting.append((x.__wrapped__, name))
        elif isinstance(x, CONTAINERS):
            self.has_parts(partial(parts_of, x), name)
            self.look_at_instance(x)
        elif is_opaque(x):
            raise UnstageableError(
                f"it sees {name!r}, a {kind.__name__}, and staging cannot look into it. Give its values as arguments"
            )
        elif not isinstance(x, logging.Logger):  # a logger changes, and that does not matter
            self.look_at_instance(x)

    def look_at_array(self, x: Any, name: str) -> None:
        if x.dtype.hasobject:
            self.has_parts(lambda: list(x.flat), name)
        elif not is_read_only(x):
            self.found.arrays.append((x, np.array(x), name))
        if type(x) not in (ndarray, np.memmap):  # a masked array, say
            self.look_at_instance(x)

    def look_at_function(self, function: FunctionType) -> None:
        if function is os.getenv:
            self.waiting.append((os.environ, "environ"))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.found.cells.append((cell, name, content := content_of(cell)))
            self.waiting.append((content, name))
        self.waiting += [(function.__defaults__, "a default"), (function.__kwdefaults__, "a default")]
        if not self.is_users(function.__module__, function.__code__.co_filename):
            return
        self.found.functions.append((function, makings_of(function), function.__name__))
        self.look_at_instance(function)
        variables, attributes = names_in(function.__code__)
        self.attributes |= attributes
        for name in variables | (attributes & function.__globals__.keys()):
            self.enter(function.__globals__, name)
        for name in (variables | attributes) & sys.modules.keys():  # imported in the function
            self.waiting.append((sys.modules[name], name))

    def look_at_class(self, x: type) -> None:
        self.has_parts(partial(parts_of, vars(x)), f"an attribute of {x.__name__}")
        self.waiting += [(base, base.__name__) for base in (*x.__bases__, type(x))]
        for name, member in vars(x).items():
            if isinstance(member, property):
                self.waiting.append((member.fget, name))
            elif isinstance(member, staticmethod | classmethod):
                self.waiting.append((member.__func__, name))

    def look_at_instance(self, x: Any) -> None:
        """Its attributes, and its class."""
        kind, of_whom = type(x), f"an attribute of a {type(x).__name__}"
        if (attributes := attributes_of(x)) is not None:
            self.has_parts(partial(parts_of, attributes), of_whom)
        if slots := list(slots_of(kind)):
            self.has_parts(lambda: [content_of_slot(slot, x) for slot in slots], of_whom)
        self.waiting.append((kind, kind.__name__))

    def has_parts(self, parts: Callable[[], list[Any]], name: str) -> None:
        """Note the parts that something has now, and look at each of them later."""
        now = parts()
        self.found.parts.append((parts, now, name))
        self.waiting += [(part, name) for part in now if type(part) not in PLAIN]

    def enter_modules(self) -> None:
        """Look at each entry of the user's modules whose name is used by a function."""
        for module in list(self.modules.values()):
            for name in self.attributes & vars(module).keys():
                self.enter(vars(module), name)

    def enter(self, entries: dict[str, Any], name: str) -> None:
        if (id(entries), name) not in self.entered:
            self.entered.add((id(entries), name))
            self.found.entries.append((entries, name, content := entries.get(name, NOT_THERE)))
            self.waiting.append((content, name))

    def is_users(self, module: Any, filename: str | None = None) -> bool:
        """Whether a module is the user's own, and not a part of an installed package."""
        package = package_of(module)
        if package in self.packages:
            return True
        filename = filename or getattr(sys.modules.get(module), "__file__", None)
        return package not in FOUNDATIONS if filename is None else not filename.startswith(_INSTALLED)


def _packages_of(root: Any) -> Iterator[str]:
    """The packages of the functions in a root: the root itself, or functions from which an operator has made it."""
    waiting, seen = [root], set()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        package = package_of(getattr(x, "__module__", type(x).__module__))
        if package not in FOUNDATIONS:
            yield package
        elif type(x) is FunctionType:
            waiting += [content for cell in x.__closure__ or () if callable(content := content_of(cell))]
        elif type(x) is partial:
            waiting.append(x.func)
        elif "__wrapped__" in (attributes_of(x) or ()):
            waiting.append(x.__wrapped__)


def _state_of_numpy() -> Any:
    return np.random.get_state(legacy=False)  # noqa: NPY002 (the user's function may use it)


def _are_same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and (all(map(is_, now, before)) or all(map(_is_same, now, before)))


def _is_same(now: Any, before: Any) -> bool:
    """Whether these are the same object, or values that nobody can tell apart."""
    if now is before:
        return True
    kind = type(now)
    if kind is not type(before):
        return False
    if kind is tuple:
        return _are_same(list(now), list(before))
    if kind is float or kind is complex:
        return repr(now) == repr(before)  # 0.0 and -0.0 differ
    if isinstance(now, np.generic):
        return identical(now, before)
    return kind in PLAIN and bool(now == before)


def are_same_states(now: Any, before: Any) -> bool:
    """Whether the states of generators of random numbers are the same."""
    if isinstance(now, dict):
        return all(are_same_states(now[name], before[name]) for name in before)
    if isinstance(now, list | tuple):
        return all(map(are_same_states, now, before))
    return bool(np.array_equal(now, before)) if isinstance(now, ndarray) else bool(now == before)
