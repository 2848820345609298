"""Whether functions hold the very things that they held before: then there is no need to look into them again."""

from __future__ import annotations

from collections.abc import Iterable
from types import CellType, FunctionType
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.closed_over import WITHOUT_ARRAYS, Composite, content_of
from shiftreset_ad.numbers.number import Number


class Snapshot:
    """What a function holds, and the functions that it holds, as it is now."""

    __slots__ = ("_cells", "_composites", "_functions")

    def __init__(self) -> None:
        self._cells: list[tuple[CellType, Any]] = []
        self._functions: list[tuple[FunctionType, Any]] = []
        self._composites: list[tuple[Composite, list[Any]]] = []

    @classmethod
    def of(cls, held: Iterable[Any]) -> Snapshot | None:
        """A snapshot of a function that holds these; None if it may hold something that can change and stay the same
        object, as a list can.
        """
        found = cls()
        waiting = list(held)
        seen: set[int] = set()
        while waiting:
            x = waiting.pop()
            kind = type(x)
            if kind in WITHOUT_ARRAYS or issubclass(kind, Number) or (kind is ndarray and not x.dtype.hasobject):
                continue
            if kind is tuple:
                waiting += x
            elif id(x) in seen:
                continue
            elif kind is FunctionType and not x.__kwdefaults__:
                seen.add(id(x))
                found._functions.append((x, x.__defaults__))
                cells = [(cell, content_of(cell)) for cell in x.__closure__ or ()]
                found._cells += cells
                waiting += (x.__defaults__, *(content for _, content in cells))
            elif issubclass(kind, Composite):
                seen.add(id(x))
                held = list(x.held().values())
                found._composites.append((x, held))
                waiting += held
            else:
                return None
        return found

    def is_true(self) -> bool:
        """Whether all is as it was."""
        for cell, content in self._cells:
            if content_of(cell) is not content:
                return False
        for function, defaults in self._functions:
            if function.__defaults__ is not defaults or function.__kwdefaults__:
                return False
        for composite, held in self._composites:
            if any(x is not before for x, before in zip(composite.held().values(), held, strict=True)):
                return False
        return True
