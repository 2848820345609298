"""The surroundings of a function: variables that it closes over, globals, defaults, attributes.

The search goes through the user's own functions, classes and modules, and through the lists, dicts and instances in
them. It does not go into installed packages. Recorded steps hold as long as all that was found is as it was.
"""

from __future__ import annotations

import functools
import logging
import os
import random
import sys
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from types import (
    BuiltinMethodType,
    CellType,
    FunctionType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.control.frames import is_installed, module_of
from shiftreset_ad.numbers.plain_arrays import is_read_only
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.parts import (
    CACHE,
    CONTAINERS,
    FOUNDATIONS,
    NOT_THERE,
    OF_AN_ABSTRACT_CLASS,
    OURS,
    PLAIN,
    attributes_of,
    classes_registered,
    contents_of_slots,
    count_of,
    is_made_by_python,
    is_opaque,
    names_in,
    package_of,
    parts_of,
    slots_of,
    state_of,
)
from shiftreset_ad.staging.steps.trace import UnstageableError

MOST = 200_000  # things that are looked at
WEAK = (WeakKeyDictionary, WeakValueDictionary)
builtins_of = attrgetter("__builtins__")  # of a function; mypy forgets attributes of this name in its cache
LOOKED_INTO = (os, time)  # the only modules of the standard library that are searched


class Surroundings:
    """All that these functions and objects see now, with `guards` on all of it.

    With `through=False` the search does not go on through functions and modules: only through what they are themselves.
    """

    def __init__(self, *roots: Any, through: bool = True) -> None:
        self.guards = Guards()
        self.functions: list[FunctionType] = []
        self.generators: list[Callable[[], Any]] = [random.getstate, _state_of_numpy]
        self.caches: list[Any] = []
        self.seen: dict[int, tuple[Any, str]] = {}
        self.opaque: str | None = None
        self.problem: str | None = None
        self.users = Users(roots)
        self._roots = roots
        try:
            _Look(self, roots, through)
        except UnstageableError as error:
            self.problem = f"{error}"
        except Exception as error:  # of a class that raises it whatever it is asked for
            self.problem = f"it sees something that cannot be looked into: {error!r}"

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

    def held_by_operators(self) -> list[Any]:
        """The roots that library code has made, such as `grad(f)` and `partial(f, 1.0)`."""
        return [x for x in self._roots if isinstance(x, partial) or not (self._is_plain(x) or self._is_users(x))]

    def _is_users(self, x: Any) -> bool:
        owner = x.__self__ if isinstance(x, MethodType) else x
        return self.users.own(owner if isinstance(owner, FunctionType) else type(owner))

    def _is_plain(self, x: Any) -> bool:
        return isinstance(x, (*CONTAINERS, *PLAIN, ndarray, type)) or not callable(x)

    def has_variable(self, cell: CellType) -> bool:
        """Whether a variable is that of a function from outside."""
        return any(x is cell for function in self.functions for x in function.__closure__ or ())

    def states(self) -> list[Any]:
        """The states of the generators of random numbers."""
        return [state() for state in self.generators]


class Users:
    """Tells the user's own modules from installed packages."""

    def __init__(self, roots: tuple[Any, ...]) -> None:
        self._packages = {package for root in roots for package in _packages_of(root)}
        self._known: dict[tuple[str, str | None], bool] = {}

    def has(self, module: Any, filename: str | None = None) -> bool:
        """Whether a module is the user's own."""
        if type(module) is not str or (filename is None and module not in sys.modules):
            return self._has(module, filename)
        key = module, filename
        if key not in self._known:
            self._known[key] = self._has(module, filename)
        return self._known[key]

    def own(self, x: FunctionType | type) -> bool:
        """Whether a class or a function is the user's own.

        A function is told by its code: one that a library has made around another one has the module of the other one.
        """
        if isinstance(x, FunctionType):
            return self.has(x.__globals__.get("__name__"), x.__code__.co_filename)
        return self.has(module_of(x))

    def _has(self, module: Any, filename: str | None) -> bool:
        package = package_of(module)
        if package in self._packages:
            return True
        if package == OURS:  # also a method that Python has made, of a dataclass, which has no file
            return False
        known = sys.modules.get(module) if isinstance(module, str) else None
        if filename is None and isinstance(known, ModuleType):
            filename = vars(known).get("__file__")
        return package not in FOUNDATIONS if filename is None else not is_installed(filename)


class _Look:
    """The search for all that can be seen from `roots`. It fills the lists of the surroundings."""

    def __init__(self, surroundings: Surroundings, roots: tuple[Any, ...], through: bool) -> None:
        self.found = surroundings
        self.guards = surroundings.guards
        self.users = surroundings.users
        self.through = through
        self.attributes: set[str] = set()
        self.modules: dict[int, ModuleType] = {}
        self.entered: set[tuple[int, str]] = set()
        self.waiting: list[tuple[Any, str]] = [(root, "an argument") for root in roots]
        seen = surroundings.seen
        while self.waiting:
            x, name = self.waiting.pop()
            if id(x) not in seen and type(x) not in PLAIN and not isinstance(x, np.generic):
                seen[id(x)] = x, name
                self.look_at(x, name)
            if len(seen) > MOST:
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
            if x in LOOKED_INTO or self.users.has(x.__name__):
                self.look_at_module(x, name)
        elif isinstance(x, type):
            if self.users.own(x):
                self.look_at_class(x)
        elif kind is MethodType:
            self.waiting += [(x.__func__, name), (x.__self__, name)]
        elif isinstance(x, partial):
            self.waiting += [(x.func, name), (x.args, name), (x.keywords, name)]
            if self.through or package_of(module_of(kind)) != OURS:  # the code of an operator reads no attributes
                self.look_at_instance(x)
        elif issubclass(kind, WEAK):
            self.has_parts(id(x), lambda: [*x.keys(), *x.values()], name)
        elif isinstance(x, BuiltinMethodType | MethodWrapperType):
            self.waiting.append((x.__self__, name))
        elif (state := state_of(x)) is not None:
            self.found.generators.append(state)
            self.guards.state(x, state, name)
        elif isinstance(x, CACHE):
            self.found.caches.append(x)
            self.waiting.append((x.__wrapped__, name))
        elif isinstance(x, CONTAINERS):
            self.has_contents(x, name)
            self.look_at_instance(x)
        elif type(x) is OF_AN_ABSTRACT_CLASS:
            self.guards.parts("abstract classes", classes_registered, name)
        elif is_opaque(x):
            self.found.opaque = self.found.opaque or opaque(name, kind)
        elif not isinstance(x, logging.Logger):  # a logger changes, and that does not matter
            self.look_at_instance(x)

    def look_at_array(self, x: Any, name: str) -> None:
        if x.dtype.hasobject:
            self.has_parts(id(x), lambda: list(x.flat), name)
        elif is_read_only(x):
            self.guards.layout(x, name)  # which may be changed even so
        else:
            self.guards.array(x, name)
        if type(x) not in (ndarray, np.memmap):  # a masked array, say
            self.look_at_instance(x)

    def look_at_function(self, function: FunctionType) -> None:
        is_users = self.users.own(function)
        self.found.functions.append(function)
        if is_users:
            self.guards.function(function)
            self.look_at_attributes(function)
            if not self.through:
                return
        if function is os.getenv:
            self.waiting.append((os.environ, "environ"))
        if function.__code__.co_filename == functools.__file__ and "registry" in vars(function):
            self.waiting.append((vars(function)["registry"], function.__name__))  # its variables are caches
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.guards.cell(cell, name)
            self.waiting.append((content_of(cell), name))
        self.waiting += [(function.__defaults__, "a default"), (function.__kwdefaults__, "a default")]
        if not is_users:
            return
        variables, attributes = names_in(function.__code__)
        self.attributes |= attributes
        for name in variables | (attributes & function.__globals__.keys()):
            self.enter(function.__globals__, name)
            if name not in function.__globals__:
                self.enter(builtins_of(function), name)
        for name in (variables | attributes) & sys.modules.keys():  # imported in the function
            self.waiting.append((sys.modules[name], name))

    def look_at_module(self, x: ModuleType, name: str) -> None:
        if self.through:
            self.modules[id(x)] = x
            self.guards.parts(id(x), partial(count_of, vars(x)), name)  # a name may be added
        else:
            self.has_contents(vars(x), name)

    def look_at_class(self, x: type) -> None:
        self.guards.bases(x)
        self.has_parts(id(x), partial(parts_of, vars(x)), f"an attribute of {x.__name__}")
        self.waiting += [(base, base.__name__) for base in (*x.__bases__, type(x))]
        for name, member in vars(x).items():
            if isinstance(member, property):
                self.waiting += [(function, name) for function in (member.fget, member.fset, member.fdel)]
            elif isinstance(member, staticmethod | classmethod):
                self.waiting.append((member.__func__, name))

    def look_at_instance(self, x: Any) -> None:
        """Its attributes, and its class."""
        kind, of_whom = type(x), f"an attribute of a {type(x).__name__}"
        self.look_at_attributes(x)
        if slots := list(slots_of(kind)):
            self.has_parts((id(x), "slots"), partial(contents_of_slots, x, slots), of_whom)
        self.waiting.append((kind, kind.__name__))

    def look_at_attributes(self, x: Any) -> None:
        of_whom = f"an attribute of a {type(x).__name__}"
        if is_made_by_python(type(x)):
            self.guards.kind(x, of_whom)
        if (attributes := attributes_of(x)) is not None:
            self.has_contents(attributes, of_whom)

    def has_contents(self, container: Any, name: str) -> None:
        """Note the parts that a container has now, and look at each of them later."""
        self.guards.contents(container, name)
        self.waiting += [(part, name) for part in parts_of(container) if type(part) not in PLAIN]

    def has_parts(self, of: Hashable, parts: Callable[[], list[Any]], name: str) -> None:
        """Note the parts that something has now, and look at each of them later."""
        self.guards.parts(of, parts, name)
        self.waiting += [(part, name) for part in parts() if type(part) not in PLAIN]

    def enter_modules(self) -> None:
        """Look at each entry of the user's modules whose name is used by a function."""
        for module in list(self.modules.values()):
            for name in self.attributes & vars(module).keys():
                self.enter(vars(module), name)

    def enter(self, entries: dict[str, Any], name: str) -> None:
        if (id(entries), name) not in self.entered:
            self.entered.add((id(entries), name))
            self.guards.entry(entries, name, name)
            self.waiting.append((entries.get(name, NOT_THERE), name))


def opaque(name: str, kind: type) -> str:
    """The reason why a function is not staged that sees something of this kind."""
    return f"it sees {name!r}, a {kind.__name__}, and staging cannot look into it. Give its values as arguments"


def _packages_of(root: Any) -> Iterator[str]:
    """The packages of the functions in a root: the root itself, or functions from which an operator has made it."""
    waiting, seen = [root], set()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        package = package_of(getattr(x, "__module__", module_of(type(x))))
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
