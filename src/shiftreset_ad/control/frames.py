"""The frames of a program, from the inside out, and whether each one is the user's.

The way out goes through the greenlets that wait for the program. Only this file knows where the library's files are, so
all code that must tell the user's program from this library asks here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np
from greenlet import getcurrent as here

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_WITH_NUMPY = (PACKAGE, os.path.join(os.path.dirname(np.__file__), ""))
_OF_OPERATORS = tuple(
    os.path.join(PACKAGE, *path) for path in (("transforms", ""), ("batching", ""), ("boundary", "tracebacks.py"))
)
_FOLLOWED = f"{__name__.partition('.')[0]}.optimize."
LIBRARIES = sys.stdlib_module_names | {"numpy", "scipy", "pandas", "xarray", "sklearn", "joblib", "matplotlib"}


def module_of(x: type | FunctionType) -> str:
    """The module of a class or a function; "" for a class that was made where none is known, which is the user's."""
    module = getattr(x, "__module__", "")
    return module if isinstance(module, str) else "builtins"  # some built-in classes have a property there


def is_ours(code: CodeType) -> bool:
    """Whether this is code of this library."""
    return code.co_filename.startswith(PACKAGE)


def is_followed(module: Any) -> bool:
    """Whether a module of this library is plain Python that staging follows, as it follows the user's own: a solver."""
    return type(module) is str and module.startswith(_FOLLOWED)


def is_installed(filename: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to this library."""
    return filename.startswith(_installed())


@lru_cache(None)
def _installed() -> tuple[str, ...]:
    """Where installed files begin: `sysconfig`, which takes 2 ms to import, is imported when this is first asked."""
    import sysconfig

    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (PACKAGE, "<frozen ", *(os.path.join(path, "") for path in paths))


def is_of_a_library(code: CodeType) -> bool:
    """Whether this is code of this library or of NumPy."""
    return code.co_filename.startswith(_WITH_NUMPY)


def is_the_users(frame: FrameType) -> bool:
    """Whether a frame is the user's: not this library's, and not one of another library that the user has called."""
    return not is_ours(frame.f_code) and frame.f_globals.get("__name__", "").partition(".")[0] not in LIBRARIES


def is_of_an_operator(innermost: FrameType) -> bool:
    """Whether the program has called an operator, such as `grad(f)`, and only this library has run since."""
    called, frame = innermost, innermost.f_back
    while frame is not None and is_ours(frame.f_code):
        if is_followed(frame.f_globals.get("__name__")):
            return False
        called, frame = frame, frame.f_back
    return frame is not None and called.f_code.co_filename.startswith(_OF_OPERATORS)


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and the frames around it, and then the frames of the greenlets that wait for this greenlet."""
    greenlet: Any = here()
    while frame is not None:
        yield frame
        frame = frame.f_back
        while frame is None and greenlet is not None and greenlet.parent is not None:
            greenlet = greenlet.parent
            frame = greenlet.gr_frame
