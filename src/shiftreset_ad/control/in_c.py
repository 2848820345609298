"""Greenlet's functions in C, for code that asks where it runs without a call of Python's."""

from __future__ import annotations

import ctypes

from greenlet._greenlet import _C_API

FUNCTIONS = {"PyGreenlet_GetCurrent": "ptr ()", "PyGreenlet_MAIN": "i32 (ptr)"}  # with their types, in LLVM's language
_NUMBERS = {"PyGreenlet_GetCurrent": 4, "PyGreenlet_MAIN": 8}  # in greenlet.h


def addresses() -> dict[str, int]:
    """The addresses of the functions, by their names."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = pointer(_C_API, b"greenlet._C_API")
    return {name: ctypes.c_void_p.from_address(functions + 8 * number).value or 0 for name, number in _NUMBERS.items()}
