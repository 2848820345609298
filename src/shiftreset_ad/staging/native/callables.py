"""Objects whose calls begin in C.

For a call of an object, CPython looks up `__call__` in its class, binds it, and makes a tuple of the arguments. An
object of a class with a place for a function of C has this function called instead (PEP 590). No class that is written
in Python has such a place, but CPython makes a class that inherits from it, and has the place.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from shiftreset_ad.staging.native.machine import OF_THE_FIRST_SLOT, unfit

# From CPython's headers: kinds of members, places in a class, and flags.
T_PYSSIZET, READONLY, MEMBERS = 19, 1, 72
SIZE_OF_AN_ADDRESS = ctypes.sizeof(ctypes.c_void_p)
MAY_BE_INHERITED, HAS_A_PLACE_FOR_CALLS, USUAL = 1 << 10, 1 << 11, 1 << 18


class _Member(ctypes.Structure):
    """PyMemberDef of CPython."""

    _fields_ = (
        *(("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("offset", ctypes.c_ssize_t)),
        *(("flags", ctypes.c_int), ("doc", ctypes.c_char_p)),
    )


class _Slot(ctypes.Structure):
    """PyType_Slot of CPython."""

    _fields_ = (("number", ctypes.c_int), ("content", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    """PyType_Spec of CPython."""

    _fields_ = (
        *(("name", ctypes.c_char_p), ("size", ctypes.c_int), ("size_of_items", ctypes.c_int)),
        *(("flags", ctypes.c_uint), ("slots", ctypes.POINTER(_Slot))),
    )


@cache
def with_calls_in_c(kind: type) -> type:
    """A class that inherits from `kind`, whose first slot is `__call__`, and has the place; `kind` if there is none."""
    if unfit() is not None:
        return kind
    place = kind.__basicsize__
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", T_PYSSIZET, place, READONLY, None))  # the other ends them
    slots = (_Slot * 2)(_Slot(MEMBERS, ctypes.addressof(members)))
    name = f"{kind.__module__}.{kind.__qualname__}".encode()
    flags = MAY_BE_INHERITED | HAS_A_PLACE_FOR_CALLS | USUAL
    spec = _Spec(name, place + SIZE_OF_AN_ADDRESS, 0, flags, slots)
    new = ctypes.pythonapi.PyType_FromSpecWithBases
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object)
    made: type = new(ctypes.addressof(spec), (kind,))
    made.__doc__ = kind.__doc__
    return made if _has_calls_first(made) else kind


def _has_calls_first(kind: type) -> bool:
    called = object()
    x: Any = object.__new__(kind)
    x.__call__ = called
    return ctypes.c_void_p.from_address(id(x) + OF_THE_FIRST_SLOT).value == id(called)


def have_called(x: Any, kind: type, address: int) -> None:
    """Have this function of C called with `x` and the arguments, if `x` is an object of `with_calls_in_c(kind)`."""
    made = with_calls_in_c(kind)
    if type(x) is made and made is not kind:
        ctypes.c_void_p.from_address(id(x) + kind.__basicsize__).value = address
