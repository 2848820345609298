"""What functions read and do not hold: arrays in global variables and in attributes of objects.

A solver's function runs again on the way back, perhaps much later. If the program has changed by then what the function
reads, the derivative would be silently wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import getattr_static
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import WITHOUT_ARRAYS, is_holder, names_in
from shiftreset_ad.control import ControlError
from shiftreset_ad.control.frames import is_installed
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.plain_arrays import is_read_only, same


class Seen(NamedTuple):
    """An array in a global variable or in an attribute, and a copy of it."""

    described: str
    holder: Mapping[str, Any]
    name: str
    array: ndarray[Any, Any]
    copy: ndarray[Any, Any]

    def has_changed(self) -> bool:
        """Whether there is another array now, or other elements are in it."""
        return self.holder.get(self.name) is not self.array or not same(self.array, self.copy)


class Surroundings:
    """What can be reached from functions, and from what they hold, by the names in their code.

    `functions` has those that they call, too, but none of an installed package; `arrays` are those that they read.
    """

    def __init__(self, functions: Iterable[FunctionType], held: Iterable[tuple[str, Any]]) -> None:
        self.functions: list[FunctionType] = []
        self._objects: list[tuple[str, Any]] = []
        self._arrays: dict[tuple[int, str], Seen] = {}
        self._known: set[int] = set()
        for x in functions:
            self._enter("", x)
        for described, x in held:
            self._enter(described, x)
        size = -1
        while size != len(self._known):  # a name in one function may be an attribute that another one holds
            size = len(self._known)
            self._look()

    @property
    def arrays(self) -> list[Seen]:
        """The arrays."""
        return list(self._arrays.values())

    def _look(self) -> None:
        names = frozenset({"__call__"}).union(*(names_in(function.__code__) for function in self.functions))
        for function in list(self.functions):
            variables = function.__globals__
            for name in names_in(function.__code__) & variables.keys():
                self._meet(f"the global variable {name!r}", variables, name)
        for described, x in list(self._objects):
            attributes = getattr(x, "__dict__", {})
            for name in names:
                if name in attributes:
                    self._meet(f"the attribute {name!r} of {described}", attributes, name)
                elif type(method := getattr_static(type(x), name, None)) is FunctionType:
                    self._enter(described, method)

    def _meet(self, described: str, holder: Mapping[str, Any], name: str) -> None:
        x = holder[name]
        if type(x) is not ndarray:
            self._enter(described, x)
        elif not is_read_only(x) and (id(holder), name) not in self._arrays:
            self._arrays[id(holder), name] = Seen(described, holder, name, x, x.copy("K"))

    def _enter(self, described: str, x: Any) -> None:
        kind = type(x)
        if kind in WITHOUT_ARRAYS or issubclass(kind, Number | type | ModuleType | ndarray) or id(x) in self._known:
            return
        self._known.add(id(x))
        if kind is not FunctionType:
            if not is_holder(x):
                self._objects.append((described, x))
        elif not is_installed(x.__code__.co_filename):
            self.functions.append(x)


def require_unchanged(operator: str, arrays: Iterable[Seen]) -> None:
    """Raise ControlError if the program has changed one of these arrays."""
    for seen in arrays:
        if seen.has_changed():
            raise ControlError(
                f"{operator}: the function reads {seen.described}, an array that has changed since the call, and the "
                "derivative needs it as it was. Pass the array by args, or let the function close over it"
            )
