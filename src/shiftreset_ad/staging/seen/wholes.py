"""What a run reads as a whole: a container, a class, or a thing that goes to code that is not watched.

Such code, as a function of C, may read all that can be reached from the thing. So all of it is guarded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.closed_over import content_of
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.seen.parts import (
    CACHE,
    CONTAINERS,
    PLAIN,
    has_nothing_inside,
    inside,
    is_made_by_python,
    is_of_the_front,
    is_opaque,
    is_read_as_a_tuple,
    parts_of,
    state_of,
)
from shiftreset_ad.staging.seen.stack import Unknown
from shiftreset_ad.staging.seen.surroundings import Surroundings, opaque
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import UnstageableError
from shiftreset_ad.staging.steps.values import Staged

VALUES = frozenset(map(id, (float, int, str, bool, type(None), np.float64, Staged)))  # types with nothing to look into


class Wholes:
    """What a run has read as a whole. `surroundings` has found before the run what is outside."""

    def __init__(self, surroundings: Surroundings, original: Callable[[Any], Any]) -> None:
        """`original` gives the function of which a function is a rewritten form, and the same for its code."""
        self.guards = Guards()
        self.original = original
        self.codes: set[CodeType] = set()  # the code of the user's functions that have run
        self._surroundings = surroundings
        self.is_users = surroundings.users.own
        self._is_module_of_users = surroundings.users.has
        self.has_variable = surroundings.has_variable
        self._outside = dict(surroundings.seen)
        self._handed: dict[int, tuple[Any, str]] = {}  # to code that is not watched
        self._looked_into: dict[int, tuple[FunctionType, list[Any]]] = {}
        self._of_libraries: dict[int, type] = {}  # classes with no base of the user's, by their ids

    # All guards

    def all_guards(self) -> Guards:
        """Guards on all that was read. Raises UnstageableError if something of it cannot be looked into."""
        self._guard_functions_of_the_library()
        for function in self._surroundings.functions:
            if function.__code__ in self.codes:
                self.called(function)
        handed = [x for x, _ in self._handed.values()]
        self._guard_all(Surroundings(*handed, through=False))
        # A function of a library may have kept answers of functions that it calls, and need not call them.
        called = Surroundings(*[x for x in handed if type(x) is FunctionType], through=False).functions
        self._guard_all(Surroundings(*[x for x in called if self.is_users(x) and x.__code__ not in self.codes]))
        return self.guards

    def _guard_functions_of_the_library(self) -> None:
        """The function itself may be made by an operator, such as `grad`, which is not watched."""
        self._guard_all(Surroundings(*self._surroundings.held_by_operators(), through=False))

    def _guard_all(self, found: Surroundings) -> None:
        if (problem := found.problem or found.opaque) is not None:
            raise UnstageableError(problem)
        self.guards.add(found.guards)

    def is_outside(self, x: Any) -> bool:
        """Whether an object was there before the run."""
        found = self._outside.get(id(x))
        return found is not None and found[0] is x

    def memory(self) -> set[int]:
        """The ids of the owners of all memory in which arrays lie that were there before the run."""
        return {id(owner) for x, _ in self._outside.values() if isinstance(x, ndarray) for owner in owners_of(x)}

    def met(self, x: Any, name: str) -> Any:
        """An object that was found in one from outside."""
        if type(x) not in PLAIN and type(x) is not Staged and id(x) not in self._outside:
            self._outside[id(x)] = x, name
        return x

    def called(self, function: FunctionType) -> None:
        """A function of the user's is called: its code, its defaults, and what it closes over."""
        function = self.original(function)
        if self.is_outside(function):
            self.guards.function(function)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                self.guards.cell(cell, name)
                self.met(content_of(cell), name)

    def name_of(self, x: Any) -> str:
        """The name by which an object from outside was found."""
        return self._outside[id(x)][1]

    # What is read

    def structure(self, x: Any) -> None:
        """A thing is read as a container: its parts, and not what the parts consist of."""
        kind = type(x)
        if kind is Unknown:
            for part in x.of:
                self.structure(part)
        elif kind in CONTAINERS or is_read_as_a_tuple(kind):
            self.class_of(x)
            if self.is_outside(x):
                self.guards.contents(x, self.name_of(x))
                for part in parts_of(x):
                    self.met(part, self.name_of(x))
        elif self.is_users(kind) and kind not in PLAIN:
            self.class_of(x)
            if not is_made_by_python(kind) or issubclass(kind, CONTAINERS):
                self.use(x)
        else:
            self.use(x)

    def kind(self, x: Any) -> None:
        """The class of an object is asked for, and not what is in the class."""
        if is_made_by_python(type(x)) and self.is_outside(x):
            self.guards.kind(x, f"an attribute of a {type(x).__name__}")
            self.met(type(x), type(x).__name__)

    def class_of(self, x: Any) -> None:
        """The class of an object is read in a way that no name tells, such as by an operator."""
        self.kind(x)
        self.whole_class(type(x))

    def whole_class(self, kind: type) -> None:
        """A class is read in a way that no name tells: by an operator, or as a function."""
        if id(kind) in self._of_libraries:
            return
        bases = [base for base in kind.__mro__ if is_made_by_python(base) and self.is_users(base)]
        if not bases:
            self._of_libraries[id(kind)] = kind
        for base in bases:
            self.guards.bases(base)
            self.guards.parts((id(base), "class"), partial(parts_of, vars(base)), f"an attribute of {base.__name__}")

    def is_harmless(self, x: Any) -> bool:
        """Whether a thing was not there before the run, and has nothing in it that code may read without a step."""
        kind = type(x)
        if id(kind) in VALUES:
            return True
        if kind is Unknown:
            return not x.of
        return (issubclass(kind, Number) or has_nothing_inside(x)) and not self.is_outside(x)

    def use(self, x: Any) -> None:
        """A thing goes to code that is not watched, which may read all that can be reached from it."""
        self._use(x, set())

    def _use(self, x: Any, met: set[int]) -> None:
        if self.is_harmless(x) or id(x) in met:
            return
        kind = type(x)
        if kind is Unknown:
            met.add(id(x))
            for part in x.of:
                self._use(part, met)
            return
        x = self.original(x)
        if kind in PLAIN or issubclass(kind, np.generic) or id(x) in met or id(x) in self._handed:
            return
        met.add(id(x))
        if issubclass(kind, ModuleType) or self.is_outside(x) or state_of(x) is not None:
            name = self.name_of(x) if self.is_outside(x) else kind.__name__
            if is_opaque(x) and state_of(x) is None:
                raise UnstageableError(opaque(name, kind))
            if is_made_by_python(kind):
                self.whole_class(kind)
            self._handed[id(x)] = x, name
            if kind is CACHE:
                self._handed[id(x.__wrapped__)] = x.__wrapped__, name
        elif not is_of_the_front(kind) and (kind is not FunctionType or self._is_new(x)):
            for part in inside(x):
                self._use(part, met)

    def _is_new(self, function: FunctionType) -> bool:
        """Whether a function that the run has made, and whose own run is watched, has other variables than before."""
        contents = [content_of(cell) for cell in function.__closure__ or ()]
        _, known = self._looked_into.get(id(function), (None, None))
        self._looked_into[id(function)] = function, contents
        return known is None or not all(map(is_, known, contents))
