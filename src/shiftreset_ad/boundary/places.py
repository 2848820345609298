"""The place of an operation in the user's program, read off the frames: it costs nothing until somebody asks.

The library's frames of one operation lie between the user's frame and the frame that captures the operation:

    the user's line          y = np.log(x)
    interface.py             __array_ufunc__(self, ufunc, ...)      what was called, and with what
    elementwise.py           operate(x)
    debugging/               look(source, operation)
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from shiftreset_ad.boundary import trees
from shiftreset_ad.control.frames import PACKAGE, is_of_a_library, outwards
from shiftreset_ad.numbers import dispatch
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules import ELEMENTWISE
from shiftreset_ad.rules.building import OBJECT

_REGIONS = os.path.join(PACKAGE, "transforms", "checkpointing", "")
# The functions that call a function of the user's, which may be a function of NumPy, as in grad(np.sin).
_CALLS_OF_THE_USERS = {"_guarded", "push", "expanded"}

Line = tuple[CodeType, int]  # with `f_lasti`, from which the line is found when it is needed


class OperationPlace:
    """An operation of the user's.

    It may be many operations of the library: `made` has the ids of their answers, and `spoilt` says that the adjoint of
    one of these answers is not finite.
    """

    __slots__ = ("line", "made", "operation", "spoilt")

    def __init__(self, operation: Called, line: Line | None) -> None:
        self.operation = operation
        self.line = line
        self.made: set[int] = set()
        self.spoilt = False

    def again(self) -> OperationPlace:
        """The same place, for operations on the way back from it."""
        return OperationPlace(self.operation, self.line)

    def __str__(self) -> str:
        """The line as in a traceback."""
        return "" if self.line is None else line_text(self.line)


def position(line: Line) -> tuple[str, int, str]:
    """The file of a line, its number, and its text."""
    code, last = line
    number = next((n for start, stop, n in code.co_lines() if start <= last < stop), None) or code.co_firstlineno
    return code.co_filename, number, linecache.getline(code.co_filename, number).strip()


def line_text(line: Line) -> str:
    """A line as in a traceback, with its text."""
    filename, number, text = position(line)
    return f'  File "{filename}", line {number}, in {line[0].co_name}' + (f"\n    {text}" if text else "")


class FramesOutwards:
    """What the frames say, from a frame of the library outwards to the user's frame.

    `operation` is what the user called. `inside` is the place of the larger operation of which it is a part.
    `in_region`: it stands for code of the user's that is run by itself, in a checkpoint.
    """

    __slots__ = ("_frames", "in_region", "inside", "line", "operation")

    def __init__(self, innermost: FrameType, larger: dict[CodeType, str]) -> None:
        self._frames: list[FrameType] = []
        self.inside: OperationPlace | None = None
        self.in_region = False
        self.line: Line | None = None
        self.operation = Called()
        entered = False  # whether the walk has left a function of the user's
        for frame in outwards(innermost):
            code = frame.f_code
            if not is_of_a_library(code):
                self.line = code, frame.f_lasti
                return
            if entered:
                continue
            if code in larger:
                self.inside = frame.f_locals[larger[code]]
                return
            entered = code.co_name in _CALLS_OF_THE_USERS
            if not entered:
                self.in_region = self.in_region or code.co_filename.startswith(_REGIONS)
                self._frames.append(frame)
                self.operation = called_in(frame) or self.operation

    @property
    def place(self) -> OperationPlace:
        """The place of the operation, or of the larger operation of which it is a part."""
        return OperationPlace(self.operation, self.line) if self.inside is None else self.inside

    @property
    def operands(self) -> list[Any]:
        """The arguments that the user gave: floats, arrays and numbers. Numbers in an array become one number."""
        return self._arguments(lambda arguments: trees.flatten(arguments)[0])

    @property
    def given(self) -> list[Any]:
        """The same as they are: arrays of objects stay what they are, so that no operation is carried out."""
        return self._arguments(trees.leaves_as_they_are)

    def _arguments(self, leaves: Callable[[list[Any]], list[Any]]) -> list[Any]:
        # A lambda turns the operands round.
        named = [frame for frame in self._frames if frame.f_code.co_name != "<lambda>"]
        for frame in reversed(named):
            found = leaves(arguments_of(frame))
            if any(isinstance(x, Number) or getattr(x, "dtype", None) is OBJECT for x in found):
                return [x for x in found if trees.is_number(x) or isinstance(x, int) or hasattr(x, "__dlpack__")]
        return []


def arguments_of(frame: FrameType) -> list[Any]:
    """The arguments of the function that runs in this frame."""
    code, given = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    own = code.co_name in ("__array_ufunc__", "__array_function__")  # `self` is one of the operands again
    return [given[name] for name in code.co_varnames[own:count] if name in given]


class Called(NamedTuple):
    """What the user called, a function or an operator, by the `name` that the user knows."""

    name: str = ""
    elementwise: bool = False


def called_in(frame: FrameType) -> Called | None:
    """What was called, if this frame of an operation says so."""
    given, code = frame.f_locals, frame.f_code
    function = given.get("ufunc", given.get("function"))
    if callable(function):
        method = given.get("method", "__call__") if "ufunc" in given else "__call__"
        name = name_of(function) if method == "__call__" else f"{name_of(function)}.{method}"
        return Called(name, method == "__call__" and is_elementwise(function))
    if code.co_name == "__call__":
        return Called(getattr(given.get("self"), "__name__", ""))
    return Called(OPERATORS[code.co_name]) if code.co_name in OPERATORS else None


def is_elementwise(function: Callable[..., Any]) -> bool:
    """Whether an element of the answer depends only on the elements of the operands at the same place."""
    return function in ELEMENTWISE or getattr(function, "__module__", "") == "_operator"


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or the symbol of an operator."""
    if getattr(function, "__module__", "") == "_operator":
        return OPERATORS.get(f"__{function.__name__.strip('_')}__", function.__name__)
    return dispatch.name_of(function)


OPERATORS = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__mod__": "%",
    "__pow__": "**",
    "__neg__": "-",
    "__pos__": "+",
    "__abs__": "abs",
    "__matmul__": "@",
    "__rmatmul__": "@",
    "__getitem__": "x[i]",
    "getitem": "x[i]",
    "__setitem__": "x[i] = v",
}
