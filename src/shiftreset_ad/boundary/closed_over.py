"""The free variables of functions as a structure, and the functions with other values put in.

The environment of a function is read off its cells. A cell may hold a number, a structure of numbers, or functions,
whose cells are then read too. Two functions that share a cell share one variable. `functools.partial` and bound methods
are functions with some arguments put in, and a `Composite` is an object made of functions. Globals are no free
variables.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from functools import cache, partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Self, TypeAlias

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.control import ControlError
from shiftreset_ad.numbers.number import Number


class Composite:
    """A function object that is made of functions, which it holds by name."""

    def held(self) -> dict[str, Any]:
        """The functions of which this object is made. The function that it stands for comes first."""
        raise NotImplementedError

    def made_of(self, held: dict[str, Any]) -> None:
        """Replace the functions of which this object is made."""
        raise NotImplementedError

    def copied(self) -> Self:
        """Another object, made of the same functions."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy


Holder: TypeAlias = FunctionType | MethodType | partial[Any] | Composite
HOLDERS = (FunctionType, MethodType, partial, Composite)
BUILT_ANEW = (FunctionType, Composite)
DEFAULTS = ("__defaults__", "__kwdefaults__")
EMPTY = object()  # the content of a variable that is not bound yet
PLAIN = {int, float, complex, bool, str, type(None), np.float64, np.float32, np.complex128, np.int64, np.bool_}
WITHOUT_ARRAYS = {*PLAIN, type, object, ModuleType, BuiltinFunctionType, np.ufunc}


def is_holder(x: Any) -> bool:
    """Whether `x` is a function that may hold something. It asks no number for the class of its value."""
    return issubclass(type(x), HOLDERS)


def is_object(x: Any) -> bool:
    """Whether `x` is none of these: a function, a number, an array of NumPy's, or plain. These are kept as they are."""
    kind = type(x)
    return kind is not ndarray and kind not in PLAIN and not issubclass(kind, (Number, *HOLDERS))


def plain_variables(holders: Sequence[Any]) -> tuple[list[tuple[CellType, Any]], list[FunctionType]] | None:
    """The variables that these hold, with their contents, and the functions. It is quick, and mostly enough.

    None if one of them may hold an array, or a number that is being differentiated.
    """
    found: list[tuple[CellType, Any]] = []
    functions: list[FunctionType] = []
    waiting: list[Any] = list(holders)
    seen: set[int] = set()
    while waiting:
        x = waiting.pop()
        kind = type(x)
        if kind in WITHOUT_ARRAYS:
            continue
        if kind is tuple:
            waiting += x
        elif id(x) in seen:
            continue
        elif kind is FunctionType:
            seen.add(id(x))
            functions.append(x)
            waiting += (x.__defaults__, x.__kwdefaults__)
            for cell in x.__closure__ or ():
                content = content_of(cell)
                if content is not EMPTY:
                    found.append((cell, content))
                    waiting.append(content)
        elif is_holder(x):
            seen.add(id(x))
            waiting += x.held().values() if isinstance(x, Composite) else [held for _, held, _ in held_by(x)]
        else:
            return None
    return found, functions


@cache
def assigned_by(code: CodeType) -> frozenset[str]:
    """The free variables to which a function with this code assigns, itself or in an inner function."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_DEREF", "DELETE_DEREF")}
    inner = (assigned_by(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(names.union(*inner).intersection(code.co_freevars))


class Place:
    """A place that holds values: an argument, a variable, or the defaults of a function.

    `holder` is the function, if there is one. A variable `is_assigned` if a function that holds it has a statement that
    assigns to it.
    """

    __slots__ = ("cell", "content", "has_holders", "holder", "is_assigned", "leaves", "name", "spec")

    def __init__(self, name: str, content: Any, holder: Any = None, cell: CellType | None = None) -> None:
        self.name = name
        self.content = content
        self.holder = holder
        self.cell = cell
        self.is_assigned = False
        self.leaves: list[Any] = []
        self.spec: optree.PyTreeSpec | None = None
        if content is not EMPTY:
            self.leaves, self.spec = trees.flatten(content)
        self.has_holders = any(map(is_holder, self.leaves))

    @property
    def described(self) -> str:
        """The place as an error names it."""
        return self.name if self.holder is None else f"{self.name} of {_name(self.holder)}"

    def built(self, leaves: list[Any]) -> Any:
        """The content with these leaves; the same object if the leaves are the same."""
        if self.spec is None or all(map(_is, leaves, self.leaves)):
            return self.content
        return trees.unflatten(self.spec, leaves)


def _is(a: Any, b: Any) -> bool:
    return a is b


def _name(holder: Any) -> str:
    return getattr(holder, "__qualname__", None) or type(holder).__name__


class Environment:
    """Some values, and all that the functions among them close over, taken apart into `leaves`.

    A function holds its cells, and the defaults of its parameters. `before` has the values to use for variables that
    have been assigned to meanwhile.
    """

    __slots__ = ("_before", "_by_cell", "_by_holder", "_places", "_roots", "leaves")

    def __init__(self, roots: dict[str, Any], before: Sequence[tuple[CellType, Any]] = ()) -> None:
        self._before = {id(cell): content for cell, content in before}
        self._places: list[Place] = []
        self._by_cell: dict[int, Place] = {}
        self._by_holder: dict[int, tuple[Holder, dict[str, Place]]] = {}
        waiting = self._roots = [Place(name, content) for name, content in roots.items()]
        while waiting:  # a loop, as recursion could be too deep for a function composed of many
            self._places += waiting
            waiting = [
                place
                for outer in waiting
                if outer.has_holders
                for leaf in outer.leaves
                if is_holder(leaf) and id(leaf) not in self._by_holder
                for place in self._enter(leaf)
            ]
        self.leaves = [
            leaf for place in self._places for leaf in place.leaves if not (place.has_holders and is_holder(leaf))
        ]

    def _enter(self, holder: Holder) -> list[Place]:
        """Read a function, and return the places in it that were not known."""
        new, held = [], {}
        assigned = assigned_by(holder.__code__) if isinstance(holder, FunctionType) else ()
        for name, content, cell in held_by(holder):
            place = self._by_cell.get(id(cell)) if cell is not None else None
            if place is None:
                place = Place(name, self._before.get(id(cell), content), holder, cell)
                new.append(place)
                if cell is not None:
                    self._by_cell[id(cell)] = place
            place.is_assigned = place.is_assigned or name in assigned
            held[name] = place
        self._by_holder[id(holder)] = holder, held
        return new

    def with_leaves(self, leaves: Sequence[Any], sharing: bool = False) -> Instance:
        """The same with other leaves, in new functions with variables of their own.

        With `sharing`, the new functions share a variable to which they assign with the original functions, unless it
        gets other leaves, or holds functions.
        """
        return Instance(self, leaves, sharing)

    def variables(self) -> list[int]:
        """The positions of the `leaves` that are in a variable, and not in the defaults of parameters."""
        found, i = [], 0
        for place in self._places:
            for leaf in place.leaves:
                if not is_holder(leaf):
                    found += [i] if place.cell is not None or isinstance(place.holder, MethodType | partial) else []
                    i += 1
        return found

    def contents(self) -> list[tuple[CellType, Any]]:
        """The variables that are bound, and their contents."""
        return [(place.cell, place.content) for place in self._by_cell.values() if place.content is not EMPTY]  # type: ignore[misc]

    def functions(self) -> list[FunctionType]:
        """The functions."""
        return [holder for holder, _ in self._by_holder.values() if isinstance(holder, FunctionType)]

    def structures(self, built_anew: bool) -> list[tuple[str, Any]]:
        """What is held, by name; also what is `built_anew` for other leaves, as it has functions or numbers in it."""
        return [
            (place.name, place.content)
            for place in self._places
            if built_anew or not (place.has_holders or any(isinstance(leaf, Number) for leaf in place.leaves))
        ]

    def objects(self) -> list[tuple[str, Any]]:
        """The leaves, by name of their place, that are neither functions nor numbers nor arrays of NumPy's."""
        return [(place.name, leaf) for place in self._places for leaf in place.leaves if is_object(leaf)]

    def sensitivity(self, of: Holder, derivatives: Sequence[Any]) -> Any:
        """The sensitivity of a function, given the derivative of each of the `leaves`, or None."""
        rest = iter(derivatives)
        by_place = {place: [None if is_holder(leaf) else next(rest) for leaf in place.leaves] for place in self._places}
        return self._sensitivity(of, by_place, set())

    def _sensitivity(self, holder: Any, by_place: dict[Place, list[Any]], going_on: set[int]) -> Any:
        _, held = self._by_holder[id(holder)]
        if isinstance(holder, Composite):  # it stands for a function
            return self._sensitivity_at(next(iter(held.values())), by_place, going_on)
        shown = {name: place for name, place in held.items() if name not in DEFAULTS}
        if id(holder) in going_on or not shown:  # a function inside itself is left out there
            return None
        going_on.add(id(holder))
        found = {name: self._sensitivity_at(place, by_place, going_on) for name, place in shown.items()}
        going_on.discard(id(holder))
        return found

    def _sensitivity_at(self, place: Place, by_place: dict[Place, list[Any]], going_on: set[int]) -> Any:
        if place.spec is None:
            return None
        bars = [
            self._sensitivity(leaf, by_place, going_on) if is_holder(leaf) else bar
            for leaf, bar in zip(place.leaves, by_place[place], strict=True)
        ]
        return trees.unflatten(place.spec, bars)


def held_by(holder: Holder) -> list[tuple[str, Any, CellType | None]]:
    """What a function holds: the name, the content, and for a variable the cell."""
    if isinstance(holder, Derived):
        return [("f", holder.__wrapped__, None)]
    if isinstance(holder, partial):
        return [(name, getattr(holder, name), None) for name in ("func", "args", "keywords")]
    if isinstance(holder, MethodType):
        return [("__func__", holder.__func__, None), ("__self__", holder.__self__, None)]
    if isinstance(holder, Composite):
        return [(name, content, None) for name, content in holder.held().items()]
    variables = zip(holder.__code__.co_freevars, holder.__closure__ or (), strict=True)
    return [
        *((name, content_of(cell), cell) for name, cell in variables),
        *((name, getattr(holder, name), None) for name in DEFAULTS if getattr(holder, name)),
    ]


def content_of(cell: CellType) -> Any:
    """The content of a variable; EMPTY if the variable is not bound."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class Instance:
    """An environment with other leaves put in: the `roots`, in order, and later the variables that have changed."""

    __slots__ = ("_cells", "_contents", "_environment", "_functions", "_parts", "_shared", "roots")

    def __init__(self, environment: Environment, leaves: Sequence[Any], sharing: bool) -> None:
        self._environment = environment
        places = environment._places
        rest = iter(leaves)
        self._parts = {place: [leaf if is_holder(leaf) else next(rest) for leaf in place.leaves] for place in places}
        # The functions are made first, with unbound variables, as functions may hold each other and themselves.
        self._shared = {place for place in environment._by_cell.values() if sharing and self._is_shared(place)}
        self._cells: dict[Place, Any] = {
            place: place.cell if place in self._shared else CellType() for place in environment._by_cell.values()
        }
        self._functions: dict[int, Any] = {
            key: _copied(holder, tuple(self._cells[environment._by_cell[id(c)]] for c in holder.__closure__ or ()))
            if isinstance(holder, FunctionType)
            else holder.copied()
            for key, (holder, _) in environment._by_holder.items()
            if isinstance(holder, BUILT_ANEW)
        }
        self._contents: dict[Place, Any] = {}
        for place in places:
            self._contents[place] = content = self._content(place)
            if place.cell is not None and content is not EMPTY and place not in self._shared:
                self._cells[place].cell_contents = content
            elif isinstance(place.holder, FunctionType) and place.name in DEFAULTS:
                setattr(self._functions[id(place.holder)], place.name, content)
        for key, (holder, held) in environment._by_holder.items():
            if isinstance(holder, Composite):
                self._functions[key].made_of({name: self._contents[place] for name, place in held.items()})
        self.roots = [self._contents[place] for place in environment._roots]

    def _is_shared(self, place: Place) -> bool:
        """Whether the new functions share a variable with the original ones: it is unbound, or they assign to it."""
        if not place.is_assigned or place.has_holders:
            return place.content is EMPTY
        return all(map(_is, self._parts[place], place.leaves))

    def _content(self, place: Place) -> Any:
        if place not in self._contents:
            self._parts[place] = [self._function(leaf) if is_holder(leaf) else leaf for leaf in self._parts[place]]
            self._contents[place] = place.built(self._parts[place])
        return self._contents[place]

    def _function(self, holder: Any) -> Any:
        if id(holder) not in self._functions:
            held = {name: self._content(p) for name, p in self._environment._by_holder[id(holder)][1].items()}
            if isinstance(holder, MethodType):
                self._functions[id(holder)] = MethodType(held["__func__"], held["__self__"])
            elif isinstance(holder, Derived):
                self._functions[id(holder)] = holder.of(held["f"])
            else:
                self._functions[id(holder)] = type(holder)(held["func"], *held["args"], **held["keywords"])
        return self._functions[id(holder)]

    def updates(self) -> dict[int, Any]:
        """What the functions assigned to variables, by `nonlocal`: the new contents, by number; EMPTY for a deletion.

        Shared variables are left out, as the originals have changed with them.
        """
        return {
            i: content
            for i, (place, cell) in enumerate(self._cells.items())
            if place not in self._shared and (content := content_of(cell)) is not self._contents[place]
        }

    def checked_updates(self, operator: str) -> dict[int, Any]:
        """The updates. Raises ControlError if a copied structure, such as a list, has changed: the original has not."""
        for place, content in self._contents.items():
            if content is place.content:
                continue
            leaves, spec = trees.flatten(content)
            if spec != place.spec or not all(map(_is, leaves, self._parts[place])):
                raise ControlError(
                    f"{operator}: {place.described} has been changed in place, and it has numbers in it that are "
                    "being differentiated. Make a new object, and return it"
                )
        return self.updates()

    def names_of(self, updates: dict[int, Any]) -> str:
        """The names of these variables."""
        return ", ".join(repr(place.name) for i, place in enumerate(self._cells) if i in updates)

    def assign(self, updates: dict[int, Any]) -> None:
        """Assign these contents to the variables of the original functions."""
        cells = [place.cell for place in self._cells]
        for i, content in updates.items():
            cell: Any = cells[i]
            if content is EMPTY:
                del cell.cell_contents
            else:
                cell.cell_contents = content


def _copied(function: FunctionType, cells: tuple[CellType, ...]) -> FunctionType:
    """The function with other cells."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    copy.__annotations__ = function.__annotations__
    copy.__dict__.update(function.__dict__)
    if sys.version_info >= (3, 12):
        copy.__type_params__ = function.__type_params__
    return copy
