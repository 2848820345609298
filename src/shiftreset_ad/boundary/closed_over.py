"""The free variables of functions as a structure, and the functions with others put in.

The environment of a function is read off its cells: a cell may hold a number, a structure of numbers, or functions,
whose cells are then looked into as well. Two functions that share a cell share one variable. `functools.partial` and
bound methods are functions with some arguments put in. Globals are no free variables.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any, TypeAlias

import optree

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.control import ControlError

Holder: TypeAlias = FunctionType | MethodType | partial[Any]
HOLDERS = (FunctionType, MethodType, partial)
DEFAULTS = ("__defaults__", "__kwdefaults__")
EMPTY = object()  # what a variable has that is not bound yet


class Place:
    """Where values are held: an argument, a variable, the defaults of a function. `holder` is the function, if any."""

    __slots__ = ("cell", "content", "holder", "leaves", "name", "spec")

    def __init__(self, name: str, content: Any, holder: Any = None, cell: CellType | None = None) -> None:
        self.name = name
        self.content = content
        self.holder = holder
        self.cell = cell
        self.leaves: list[Any] = []
        self.spec: optree.PyTreeSpec | None = None
        if content is not EMPTY:
            self.leaves, self.spec = trees.flatten(content)

    @property
    def described(self) -> str:
        """As an error names it."""
        return self.name if self.holder is None else f"{self.name} of {_name(self.holder)}"

    def built(self, leaves: list[Any]) -> Any:
        """The content with these leaves; the very same object if they are the same."""
        if self.spec is None or all(map(_is, leaves, self.leaves)):
            return self.content
        return trees.unflatten(self.spec, leaves)


def _is(a: Any, b: Any) -> bool:
    return a is b


def _name(holder: Any) -> str:
    return getattr(holder, "__qualname__", None) or type(holder).__name__


class Environment:
    """Some values, and all that the functions among them close over, taken apart into `leaves`.

    The defaults of a function's parameters are held by it as its cells are, and belong to it too.
    """

    __slots__ = ("_by_cell", "_by_holder", "_places", "_roots", "leaves")

    def __init__(self, roots: dict[str, Any]) -> None:
        self._places: list[Place] = []
        self._by_cell: dict[int, Place] = {}
        self._by_holder: dict[int, tuple[Holder, dict[str, Place]]] = {}
        waiting = self._roots = [Place(name, content) for name, content in roots.items()]
        while waiting:  # and not by recursion, as functions may be composed of many
            self._places += waiting
            waiting = [
                place
                for outer in waiting
                for leaf in outer.leaves
                if isinstance(leaf, HOLDERS) and id(leaf) not in self._by_holder
                for place in self._enter(leaf)
            ]
        self.leaves = [leaf for place in self._places for leaf in place.leaves if not isinstance(leaf, HOLDERS)]

    def _enter(self, holder: Holder) -> list[Place]:
        """Look into a function; the places in it that were not known."""
        new, held = [], {}
        for name, content, cell in _held(holder):
            place = self._by_cell.get(id(cell)) if cell is not None else None
            if place is None:
                place = Place(name, content, holder, cell)
                new.append(place)
                if cell is not None:
                    self._by_cell[id(cell)] = place
            held[name] = place
        self._by_holder[id(holder)] = holder, held
        return new

    def with_leaves(self, leaves: Sequence[Any]) -> Instance:
        """The same with other leaves. The functions are new ones, whose variables are their own."""
        return Instance(self, leaves)

    def variables(self) -> list[int]:
        """Which of `leaves` are in a variable, and not only in the defaults of a parameter."""
        found, i = [], 0
        for place in self._places:
            for leaf in place.leaves:
                if not isinstance(leaf, HOLDERS):
                    found += [i] if place.cell is not None or isinstance(place.holder, MethodType | partial) else []
                    i += 1
        return found

    def sensitivity(self, of: Holder, derivatives: Sequence[Any]) -> Any:
        """The sensitivity of a function, given for each of `leaves` its derivative, or None."""
        rest = iter(derivatives)
        by_place = {
            place: [None if isinstance(leaf, HOLDERS) else next(rest) for leaf in place.leaves]
            for place in self._places
        }
        return self._sensitivity(of, by_place, set())

    def _sensitivity(self, holder: Any, by_place: dict[Place, list[Any]], going_on: set[int]) -> Any:
        _, held = self._by_holder[id(holder)]
        shown = {name: place for name, place in held.items() if name not in DEFAULTS}
        if id(holder) in going_on or not shown:  # one that is found again inside itself is left out there
            return None
        going_on.add(id(holder))
        found = {name: self._sensitivity_at(place, by_place, going_on) for name, place in shown.items()}
        going_on.discard(id(holder))
        return found

    def _sensitivity_at(self, place: Place, by_place: dict[Place, list[Any]], going_on: set[int]) -> Any:
        if place.spec is None:
            return None
        bars = [
            self._sensitivity(leaf, by_place, going_on) if isinstance(leaf, HOLDERS) else bar
            for leaf, bar in zip(place.leaves, by_place[place], strict=True)
        ]
        return trees.unflatten(place.spec, bars)


def _held(holder: Holder) -> list[tuple[str, Any, CellType | None]]:
    """What a function holds: name, content and, of a variable, its cell."""
    if isinstance(holder, Derived):
        return [("f", holder.__wrapped__, None)]
    if isinstance(holder, partial):
        return [(name, getattr(holder, name), None) for name in ("func", "args", "keywords")]
    if isinstance(holder, MethodType):
        return [("__func__", holder.__func__, None), ("__self__", holder.__self__, None)]
    variables = zip(holder.__code__.co_freevars, holder.__closure__ or (), strict=True)
    return [
        *((name, content_of(cell), cell) for name, cell in variables),
        *((name, getattr(holder, name), None) for name in DEFAULTS if getattr(holder, name)),
    ]


def content_of(cell: CellType) -> Any:
    """What a variable has; EMPTY if it is not bound."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class Instance:
    """An environment with other leaves put in: `roots`, in order, and afterwards what became of the variables."""

    __slots__ = ("_cells", "_contents", "_environment", "_functions", "_parts", "roots")

    def __init__(self, environment: Environment, leaves: Sequence[Any]) -> None:
        self._environment = environment
        places = environment._places
        rest = iter(leaves)
        # The functions come first, with variables that are not bound yet, as they may hold each other and themselves.
        self._cells = {place: CellType() for place in environment._by_cell.values()}
        self._functions: dict[int, Any] = {
            key: _copied(holder, tuple(self._cells[environment._by_cell[id(c)]] for c in holder.__closure__ or ()))
            for key, (holder, _) in environment._by_holder.items()
            if isinstance(holder, FunctionType)
        }
        self._parts = {
            place: [leaf if isinstance(leaf, HOLDERS) else next(rest) for leaf in place.leaves] for place in places
        }
        self._contents: dict[Place, Any] = {}
        for place in places:
            self._contents[place] = content = self._content(place)
            if place.cell is not None and content is not EMPTY:
                self._cells[place].cell_contents = content
            elif isinstance(place.holder, FunctionType) and place.name in DEFAULTS:
                setattr(self._functions[id(place.holder)], place.name, content)
        self.roots = [self._contents[place] for place in environment._roots]

    def _content(self, place: Place) -> Any:
        if place not in self._contents:
            self._parts[place] = [
                self._function(leaf) if isinstance(leaf, HOLDERS) else leaf for leaf in self._parts[place]
            ]
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

    def require_unchanged_structures(self, operator: str) -> None:
        """Raise ControlError if a list, say, that had to be copied has been changed: the original would not show it."""
        for place, content in self._contents.items():
            if content is place.content:
                continue
            leaves, spec = trees.flatten(content)
            if spec != place.spec or not all(map(_is, leaves, self._parts[place])):
                raise ControlError(
                    f"{operator}: {place.described} has been changed in place, and it has numbers in it that are "
                    "being differentiated. Make a new one, and return it"
                )

    def updates(self) -> dict[int, Any]:
        """The variables that were assigned to, by `nonlocal`, by number, with what they have now; EMPTY for deleted."""
        return {
            i: content
            for i, (place, cell) in enumerate(self._cells.items())
            if (content := content_of(cell)) is not self._contents[place]
        }

    def names_of(self, updates: dict[int, Any]) -> str:
        """The names of these variables."""
        return ", ".join(repr(place.name) for i, place in enumerate(self._cells) if i in updates)

    def assign(self, updates: dict[int, Any]) -> None:
        """Give the variables of the original functions what these were given."""
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
