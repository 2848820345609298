"""Errors on the way back name the operation that they belong to, by a note.

The line is kept for a custom rule, for a checkpoint, and for linear maps that depend on the operands. It is not kept
for elementwise operations, for x[i] and for linear functions, as this would take up to a tenth of their time. Their
note has the name of the operation, and says how to get the line.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from shiftreset_ad.boundary.places import Line, line_text, name_of
from shiftreset_ad.control import Operation
from shiftreset_ad.control.frames import is_of_a_library, outwards
from shiftreset_ad.numbers import dispatch
from shiftreset_ad.numbers.number import numbers_in
from shiftreset_ad.rules import COMPOSITE
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of

# What was called, a function or a name, and where; a function alone if the place is not known.
CallSite = tuple[Any, CodeType, int] | Callable[..., Any]

# The files of the frames between a call and its operation.
ON_THE_WAY = {
    os.path.join(os.path.dirname(dispatch.__file__), f"{name}.py") for name in ("interface", "methods", "dispatch")
}

# The function of each pullback, for pullbacks that serve one function.
FUNCTION_OF: dict[Callable[[Operation], None], Callable[..., Any]] = {}


def site_of_structured(function: Callable[..., Any], frame: Any) -> CallSite:
    """The place where `function` was called: this frame, or the first one outwards that is not `ON_THE_WAY`."""
    while frame.f_code.co_filename in ON_THE_WAY:
        frame = frame.f_back
    return function, frame.f_code, frame.f_lasti


def call_site(called: Any, frame: FrameType) -> CallSite:
    """The place in the user's frame from which this frame of the library was called."""
    frame = next((frame for frame in outwards(frame) if not is_of_a_library(frame.f_code)), frame)
    return called, frame.f_code, frame.f_lasti


def add_note(error: Exception, operation: Operation | None) -> None:
    """Note in an error through which operation the way back was going."""
    note = None if operation is None else _note(operation)
    if note is None or note in getattr(error, "__notes__", ()):
        return
    _, _, line = note.partition("\n")
    if not line or line not in str(error):
        error.add_note(note)


def _note(operation: Operation) -> str | None:
    place = getattr(operation, "place", None)
    if place is not None:
        return None if place.line is None else _through(place.operation.name, place.line)
    site = operation[-1]
    if type(site) is tuple and len(site) == 3 and type(site[1]) is CodeType:
        called, code, last = site
    else:
        called, code, last = site if callable(site) else FUNCTION_OF.get(operation[0]), None, 0
    if called is None:
        return None
    name = called if isinstance(called, str) else name_of(called)
    if code is not None:
        if not is_of_a_library(code):
            return _through(name, (code, last))
        whole = [
            function for function, definition in COMPOSITE.items() if getattr(definition, "__code__", None) is code
        ]
        name += "".join(f", a part of {name_of(function)}" for function in whole[:1])
    answers = ", ".join(map(described, numbers_in(operation[1])))
    return f"on the way back through {name}, of {answers}; run it inside `with shiftreset_ad.debug():` to see its line"


def _through(name: str, line: Line) -> str:
    return f"on the way back through {name or 'an operation'}:\n{line_text(line)}"


def described(x: Any) -> str:
    """The type and shape of a number."""
    return f"{dtype_of(x)} of shape {shape_of(x)}" if shape_of(x) else f"{dtype_of(x)}"
