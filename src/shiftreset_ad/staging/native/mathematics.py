"""Functions of mathematics are NumPy's own inner loops, called by their address, so that they have NumPy's bits.

An ufunc has a loop in C for each combination of dtypes: `loop(arrays, lengths, strides, data)`. NumPy's function on a
scalar is this loop on one element. The functions of `scipy.special` are ufuncs, too. Only `**` of Python's floats, and
of `numpy.float64`, is the `pow` of C (`c_functions`).
"""

from __future__ import annotations

import ctypes
import re
import sys
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from shiftreset_ad.staging.native.llvm import Code, function, refuse
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.values import unstaged

ADDRESS = ctypes.sizeof(ctypes.c_void_p)
PREFIX, OF_SPECIAL, SPECIAL = "loop_", "of_scipy_", "scipy.special"
CLIP = np._core.umath.clip  # type: ignore[attr-defined]  # which numpy.clip calls
POINTS = (0.375, 0.8125, 1.25)  # where a loop must agree with its function
LOOP = re.compile(rf"@({PREFIX}\w+) = external")
Loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Ufunc(ctypes.Structure):
    """How NumPy lays out a ufunc in memory, as far as it is read here."""

    _fields_ = (
        *(("count", ctypes.c_ssize_t), ("type", ctypes.c_void_p)),
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        *(("functions", ctypes.POINTER(ctypes.c_void_p)), ("data", ctypes.POINTER(ctypes.c_void_p))),
        *(("ntypes", ctypes.c_int), ("reserved", ctypes.c_int), ("name", ctypes.c_char_p)),
        ("types", ctypes.POINTER(ctypes.c_char)),
    )


def call_of_loop(code: Code, ufunc: np.ufunc, args: tuple[Any, ...]) -> str:
    """The call of a ufunc's loop for one element."""
    require_doubles(ufunc, args)
    if address_of(ufunc) is None:
        refuse(f"the loop of {name_in_program(ufunc)} was not found in this NumPy")
    code.use(f"@{_symbol(ufunc)} = external constant {{ptr, ptr}}")
    code.use(_definition(ufunc))
    given = ", ".join(f"double {code.double(arg)}" for arg in args)
    return code.new(f"call double @{_symbol(ufunc)}_of_one({given}, ptr %frame)")


def require_doubles(ufunc: np.ufunc, args: tuple[Any, ...]) -> None:
    """Refuse a ufunc if its loop for these arguments is not the one for doubles, with one answer."""
    name = name_in_program(ufunc)
    if _symbol(ufunc) is None or len(args) != ufunc.nin or ufunc.nout != 1 or ufunc.signature:
        refuse(f"{name} has no native form")
    kinds = [_dtype_of(unstaged(arg)) for arg in args]
    if any(dtype != np.float64 for dtype in ufunc.resolve_dtypes((*kinds, None))):
        refuse(f"{name} has no native form for these types")


def _dtype_of(x: Any) -> Any:
    return type(x) if type(x) in (float, int) else np.asarray(x).dtype


def _definition(ufunc: np.ufunc) -> str:
    """A function on numbers that calls the loop. NumPy's loops may clear the machine's flags, so it notes them."""
    name, count = _symbol(ufunc), ufunc.nin + 1
    parameters = ", ".join(f"double %x{i}" for i in range(ufunc.nin))
    lines = [
        f"  %numbers = alloca [{count} x double], align 64",
        f"  %arrays = alloca [{count} x ptr]",
    ]
    for i in range(count):
        lines += [
            f"  %n{i} = getelementptr double, ptr %numbers, i64 {i}",
            f"  %a{i} = getelementptr ptr, ptr %arrays, i64 {i}",
            f"  store ptr %n{i}, ptr %a{i}",
        ]
    lines += [f"  store double %x{i}, ptr %n{i}" for i in range(ufunc.nin)]
    lines += [
        "  call void @note_flags(ptr %frame)",
        f"  %loop = load ptr, ptr @{name}",
        f"  %pointer = getelementptr ptr, ptr @{name}, i64 1",
        "  %data = load ptr, ptr %pointer",
        "  call void %loop(ptr %arrays, ptr @one, ptr @eights, ptr %data)",
        f"  %answer = load double, ptr %n{ufunc.nin}",
        "  ret double %answer",
    ]
    head = f"double @{name}_of_one({parameters}, ptr %frame) noinline"
    return function(head, lines)


def call_on_arrays(
    code: Code, ufunc: np.ufunc, addresses: list[str], lengths: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """The call of a ufunc's loop on arrays at these addresses, the answer among them."""
    if (name := _symbol(ufunc)) is None or address_of(ufunc) is None:
        refuse(f"the loop of {name_in_program(ufunc)} was not found in this NumPy")
    many = len(addresses)
    code.use(f"@{name} = external constant {{ptr, ptr}}")
    arrays = [f"ptr %a{i}" for i in range(many)]
    lines = [f"  %arrays = alloca [{many} x ptr]"]
    for i in range(many):
        lines += [f"  %at{i} = getelementptr ptr, ptr %arrays, i64 {i}", f"  store ptr %a{i}, ptr %at{i}"]
    lines += [
        "  call void @note_flags(ptr %frame)",
        "  %loop = load ptr, ptr %ufunc",
        "  %pointer = getelementptr ptr, ptr %ufunc, i64 1",
        "  %data = load ptr, ptr %pointer",
        "  call void %loop(ptr %arrays, ptr %lengths, ptr %strides, ptr %data)",
        "  ret void",
    ]
    head = f"void @loop{many}(ptr %ufunc, ptr %frame, ptr %lengths, ptr %strides, {', '.join(arrays)}) noinline"
    code.use(function(head, lines))
    given = ", ".join(f"ptr {address}" for address in addresses)
    both = f"ptr {longs(code, lengths)}, ptr {longs(code, strides)}"
    code.lines.append(f"  call void @loop{many}(ptr @{name}, ptr %frame, {both}, {given})")


def longs(code: Code, numbers: tuple[int, ...]) -> str:
    """A constant array of integers."""
    name = "@longs" + "".join(f"_{number}" for number in numbers).replace("-", "m")
    code.use(f"{name} = private constant [{len(numbers)} x i64] [{', '.join(f'i64 {number}' for number in numbers)}]")
    return name


def loops_in(text: str) -> dict[str, int]:
    """The names of the loops in a text, and the addresses of what these names stand for."""
    return {name: ctypes.addressof(address_of(_ufunc(name))) for name in LOOP.findall(text)}


def _symbol(ufunc: np.ufunc) -> str | None:
    """The name of a ufunc's loop in the text; None if it is neither NumPy's nor one of `scipy.special`."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc or ufunc is CLIP:
        return f"{PREFIX}{name}"
    special = sys.modules.get(SPECIAL)
    return f"{PREFIX}{OF_SPECIAL}{name}" if getattr(special, name, None) is ufunc else None


def _ufunc(symbol: str) -> Any:
    """The ufunc whose loop has this name."""
    name = symbol.removeprefix(PREFIX)
    if name.startswith(OF_SPECIAL):
        return getattr(import_module(SPECIAL), name.removeprefix(OF_SPECIAL))
    return CLIP if name == CLIP.__name__ else getattr(np, name)


@cache
def address_of(ufunc: np.ufunc) -> Any:
    """The addresses of the loop for doubles and of its data; None if the ufunc is not laid out as it should be."""
    layout = _Ufunc.from_address(id(ufunc))
    expected = ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes, ufunc.__name__.encode()
    if (layout.nin, layout.nout, layout.nargs, layout.ntypes, layout.name) != expected:
        return None
    signature = "d" * ufunc.nin + "->" + "d" * ufunc.nout
    numbers = bytes([np.dtype(np.float64).num] * ufunc.nargs)
    if signature not in ufunc.types or layout.types[: ufunc.ntypes * ufunc.nargs].find(numbers) < 0:
        return None
    number = ufunc.types.index(signature)
    if layout.types[number * ufunc.nargs : (number + 1) * ufunc.nargs] != numbers or not layout.functions[number]:
        return None
    found = (ctypes.c_void_p * 2)(layout.functions[number], layout.data[number] if layout.data else None)
    return found if _agrees(ufunc, found) else None


def _agrees(ufunc: np.ufunc, found: Any) -> bool:
    """Whether a loop answers as its function does. A product of matrices is tried with matrices of one element."""
    loop, many = Loop(found[0]), ufunc.nargs
    lengths = (ctypes.c_ssize_t * 4)(1, 1, 1, 1)
    strides = (ctypes.c_ssize_t * (3 * many))(*[ADDRESS] * (3 * many))
    for point in POINTS:
        numbers = (ctypes.c_double * many)(*[point] * ufunc.nin)
        start = ctypes.addressof(numbers)
        arrays = (ctypes.c_void_p * many)(*[start + ADDRESS * i for i in range(many)])
        with np.errstate(all="ignore"):
            expected = ufunc(*[np.full((1, 1) if ufunc.signature else (), point)] * ufunc.nin)
        loop(arrays, lengths, strides, found[1])
        if not np.array_equal(numbers[ufunc.nin], np.ravel(expected)[0], equal_nan=True):
            return False
    return True
