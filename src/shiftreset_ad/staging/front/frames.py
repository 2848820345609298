"""The variables of a running function, as the cells that its blocks share with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any

UNBOUND: Any = object()  # the content of a variable that has no value


class FrameVariables:
    """Some variables of a running function, by their names."""

    def __init__(self, seen: Any) -> None:
        """`seen` is a function that sees the variables."""
        self.cells: dict[str, CellType] = dict(zip(seen.__code__.co_freevars, seen.__closure__ or (), strict=True))

    def __getitem__(self, name: str) -> Any:
        try:
            return self.cells[name].cell_contents
        except ValueError:
            return UNBOUND

    def __setitem__(self, name: str, value: Any) -> None:
        if value is not UNBOUND:
            self.cells[name].cell_contents = value
        elif self[name] is not UNBOUND:
            del self.cells[name].cell_contents

    def values(self, names: Iterable[str]) -> list[Any]:
        """The values of variables."""
        return [self[name] for name in names]

    def copy(self, names: Iterable[str]) -> dict[str, Any]:
        """The variables that these names have here, with their values."""
        return {name: self[name] for name in names if name in self.cells}

    def fill(self, values: Mapping[str, Any]) -> None:
        """Give variables these values."""
        for name, value in values.items():
            self[name] = value

    def codes(self) -> dict[str, CodeType]:
        """The code of each function among the variables."""
        found = {name: _code_of(self[name]) for name in self.cells}
        return {name: code for name, code in found.items() if code is not None}


class Variable:
    """A variable of a frame, as a place for a value."""

    def __init__(self, frame: FrameVariables, name: str) -> None:
        self._frame = frame
        self.name = name

    def identity(self) -> str:
        """Two variables of the frame are the same if this is the same."""
        return self.name

    def get(self) -> Any:
        """The value."""
        return self._frame[self.name]

    def put(self, value: Any) -> None:
        """Another value."""
        self._frame[self.name] = value


def _code_of(f: Any) -> CodeType | None:
    """The code of a function, of a method, and of the function in a partial one or in a derivative."""
    while callable(f):
        if type(f) is FunctionType:
            return f.__code__
        f = next((getattr(f, name, None) for name in ("__wrapped__", "__func__", "func") if hasattr(f, name)), None)
    return None
