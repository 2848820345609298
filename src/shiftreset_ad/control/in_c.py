"""Greenlet's functions in C, for code that asks where it runs without a call of Python's."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from greenlet._greenlet import _C_API

FUNCTIONS = {"PyGreenlet_GetCurrent": "ptr ()", "PyGreenlet_MAIN": "i32 (ptr)"}  # with their types, in LLVM's language
_NUMBERS = {"PyGreenlet_GetCurrent": 4, "PyGreenlet_MAIN": 8}  # in greenlet.h


def addresses() -> dict[str, int]:
    """The addresses of the functions, by their names."""
    return in_table(_C_API, b"greenlet._C_API", _NUMBERS)


def in_table(capsule: Any, name: bytes | None, numbers: Mapping[str, int]) -> dict[str, int]:
    """The addresses of functions that a library has in a table, by their numbers there, in a capsule of this name."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(capsule, name)
    return {name: ctypes.c_void_p.from_address(table + 8 * number).value or 0 for name, number in numbers.items()}
