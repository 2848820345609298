"""The entry is how Python calls native code: a function of CPython's C API that takes and makes Python's objects.

It checks the types of its arguments, has the steps run, and makes a list of the answers. It returns the number of a
question that has another answer. It returns None if its arguments have other types, if Python would raise an error in a
step, or if NumPy would warn: then the NumPy steps tell. It raises the error of a user who has interrupted it. The
function `fill` does it without a list: it puts the answers where its caller says, which may be a gate.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.control.in_c import in_table
from shiftreset_ad.staging.native import exchange, frames, lock, pages, stack
from shiftreset_ad.staging.native.answers import VIEWED, copied, dropped, given, new_answers, no_answers
from shiftreset_ad.staging.native.effort import ONCE
from shiftreset_ad.staging.native.exchange import DTYPES
from shiftreset_ad.staging.native.lines import loaded, unless
from shiftreset_ad.staging.native.llvm import (
    DONE,
    DOUBLE,
    FIRST_QUESTION,
    INTERRUPTED,
    LEAVE,
    form_of,
    function,
    refuse,
)
from shiftreset_ad.staging.native.loops import OF_LOOPS, ONE_BY_ONE
from shiftreset_ad.staging.native.machine import (
    DATA,
    DTYPE,
    HEADER,
    NDIM,
    OF_A_FLOAT,
    OF_A_LIST,
    OF_A_TUPLE,
    SHAPE,
    STICKY,
    STRIDES,
    Linked,
)
from shiftreset_ad.staging.native.mathematics import OF_SPECIAL
from shiftreset_ad.staging.native.program import Leaf, Program
from shiftreset_ad.staging.native.slots import FLAGS, SELF

NAME, FILL = "entry", "fill"
MANY_ANSWERS = 64  # LLVM takes long for the code of so many, most of whose time NumPy takes
MOST_ON_THE_STACK = 4096  # slots of a frame
METH_FASTCALL = 0x80
RAISED = INTERRUPTED  # the status for any error of Python's
ALIGNED = 7  # bits of an address that are 0
TYPES: dict[Any, str] = {
    float: "float_type",
    np.float64: "float64_type",
    int: "int_type",
    np.int64: "int64_type",
    ndarray: "array_type",
}
OF_NUMPY = {"PyArray_New": 93, "PyArray_SetBaseObject": 282}  # the numbers of NumPy's functions in C
OBJECTS: dict[str, Any] = {
    **{name: kind for kind, name in TYPES.items()},
    "none": None,
    "true": True,
    "false": False,
    "numpy_true": np.True_,
    "numpy_false": np.False_,
    "dtype_float64": np.dtype(np.float64),
    "dtype_bool": np.dtype(np.bool),
    "dtype_int64": np.dtype(np.int64),
}
# Functions of CPython that the code calls.
FUNCTIONS = {
    "PyFloat_FromDouble": "ptr (double)",
    "PyType_GenericAlloc": "ptr (ptr, i64)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
    "PyList_New": "ptr (i64)",
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "PyMem_RawMalloc": "ptr (i64)",
    "PyMem_RawFree": "void (ptr)",
    "PyErr_CheckSignals": "i32 ()",
    "PyErr_Occurred": "ptr ()",
    "PyErr_Clear": "void ()",
    "Py_GetRecursionLimit": "i32 ()",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
}


class Definition(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = (
        *(("name", ctypes.c_char_p), ("function", ctypes.c_void_p)),
        *(("flags", ctypes.c_int), ("doc", ctypes.c_char_p)),
    )


def addresses() -> Mapping[str, int]:
    """The addresses of the objects and the functions of Python that the code may name."""
    return {name: id(x) for name, x in OBJECTS.items()} | addresses_of(FUNCTIONS) | _of_numpy() | pages.addresses()


def addresses_of(functions: Iterable[str]) -> dict[str, int]:
    """The addresses of functions of CPython's C API."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in functions}


def declared(functions: Mapping[str, str]) -> Iterator[str]:
    """The lines that declare functions, each with the form of its answer and those of its arguments."""
    for name, signature in functions.items():
        answer, _, arguments = signature.partition(" ")
        yield f"declare {answer} @{name}{arguments}"


def _of_numpy() -> dict[str, int]:
    """The addresses of NumPy's functions in C."""
    return in_table(np._core._multiarray_umath._ARRAY_API, None, OF_NUMPY)  # type: ignore[attr-defined]


def built(linked: Linked, objects: list[Any], count: int, *kept: Any) -> Callable[..., Any]:
    """The function of Python's whose code is linked, and finds the `objects`. It keeps all of these alive.

    Its last object has the address of `fill` and the `count` of answers.
    """
    definition = Definition(b"native", linked.address(NAME), METH_FASTCALL, None)
    fill = b"".join(number.to_bytes(8, sys.byteorder) for number in (linked.address(FILL), count))
    return function_of(definition, (*objects, linked, definition, *kept, fill))


def function_of(definition: Definition, has: tuple[Any, ...]) -> Callable[..., Any]:
    """The function of Python's with this definition, which has these objects."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    made: Callable[..., Any] = new(ctypes.addressof(definition), has, None)
    return made


def fill_of(entry: Any) -> bytes:
    """The address of the function `fill` of an entry, and the number of answers."""
    found: bytes = entry.__self__[-1]
    return found


def checks_all(program: Program) -> bool:
    """Whether the entry checks the types of all arguments; it does not look at arrays that no step needs."""
    return all(map(is_checked, program.inputs))


def is_checked(leaf: Leaf) -> bool:
    """Whether the entry can check the type of this argument."""
    return leaf.kind in TYPES and not leaf.is_object


def objects_of(program: Program) -> list[Any]:
    """What the code finds at its entry: the answers that are the same for all inputs, and the functions it calls."""
    return [*_constants_of(program), *program.foreign]


def _constants_of(program: Program) -> list[Any]:
    return [leaf.constant for leaf in program.outputs if leaf.kind is None]


def text_of(program: Program) -> str:
    """The whole module: the program, and its entry."""
    names = [f"@{name} = external global i8" for name in OBJECTS]
    names += declared(FUNCTIONS)
    names += [
        "declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
        "declare i32 @PyArray_SetBaseObject(ptr, ptr)",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        pages.DECLARATION,
        "declare void @llvm.x86.sse.stmxcsr(ptr)",
        "declare void @llvm.x86.sse.ldmxcsr(ptr)",
        "@one = private constant i64 1",
        f"@eights = private constant [8 x i64] [{', '.join(['i64 8'] * 8)}]",
    ]
    arguments = "ptr %self, ptr %args, i64 %count"
    effort = ONCE if len(program.outputs) > MANY_ANSWERS else program.once
    fill = function(f"i64 @{FILL}({arguments}, ptr %items){effort}", _fill(program), "")
    entry = function(f"ptr @{NAME}({arguments})", _entry(program), "")
    shared = [exchange.note_flags(program.flags)]
    if any(leaf.is_view for leaf in program.outputs):
        shared.append(VIEWED)
    if program.foreign:
        first = OF_A_TUPLE + 8 * len(_constants_of(program))
        shared += [exchange.GIVEN, exchange.TAKEN, exchange.functions(first, program.flags)]
    of_loops = [OF_LOOPS] if ONE_BY_ONE in program.text else []
    return "\n".join([*names, *shared, program.text, fill, entry, *of_loops, ""])


def _entry(program: Program) -> Iterator[str]:
    yield f"  %list = call ptr @PyList_New(i64 {len(program.outputs)})"
    yield from unless("is_no_list", "icmp eq ptr %list, null", "no_list")
    yield from loaded("items", "%list", OF_A_LIST)
    yield f"  %status = call i64 @{FILL}(ptr %self, ptr %args, i64 %count, ptr %items)"
    yield from unless("is_not_given", f"icmp ne i64 %status, {DONE}", "not_given")
    yield "  ret ptr %list"
    yield "not_given:"
    yield "  call void @Py_DecRef(ptr %list)"
    yield f"  switch i64 %status, label %other [i64 {LEAVE}, label %leave i64 {RAISED}, label %no_list]"
    yield "other:"
    yield f"  %question = sub i64 %status, {FIRST_QUESTION}"
    yield "  %number = call ptr @PyLong_FromLongLong(i64 %question)"
    yield "  ret ptr %number"
    yield "leave:"
    yield "  call void @Py_IncRef(ptr @none)"
    yield "  ret ptr @none"
    yield "no_list:"
    yield "  ret ptr null"


def _fill(program: Program) -> Iterator[str]:
    slots = program.slots + -program.slots % 8
    words = slots + program.memory // 8
    is_large = words > MOST_ON_THE_STACK
    yield "  %word = alloca i32"
    yield "  %too_long = alloca i32"
    yield from no_answers(program)
    if is_large:
        yield f"  %frame = call ptr @PyMem_RawMalloc(i64 {8 * words + 64})"
        yield "  %is_there = icmp ne ptr %frame, null"
        yield "  br i1 %is_there, label %ask_for_pages, label %leave"
        yield "ask_for_pages:"
        yield from pages.in_large_pages("%frame", 8 * words)
        yield "  br label %start"
    else:
        yield f"  %frame = alloca [{words} x i64], align 64"
        yield "  br label %start"
    yield "start:"
    yield f"  %memory = getelementptr i64, ptr %frame, i64 {slots}"
    yield f"  %is_right = icmp eq i64 %count, {len(program.inputs)}"
    yield "  br i1 %is_right, label %take0, label %leave"
    for i, leaf in enumerate(program.inputs):
        yield from _taken(i, leaf)
    yield f"take{len(program.inputs)}:"
    yield from new_answers(program)
    yield from _run(program)
    yield "give:"
    yield from copied(program)
    yield "  br label %give0"
    constants = 0
    for i, leaf in enumerate(program.outputs):
        yield from given(i, leaf, constants)
        constants += leaf.kind is None
    yield f"give{len(program.outputs)}:"
    yield from dropped(program, "done")
    yield from _returned(f"{DONE}", is_large)
    yield "problem:"
    yield from dropped(program, "problem")
    yield from _returned(f"{RAISED}", is_large)
    yield "other:"
    yield from dropped(program, "other")
    yield from _returned("%status", is_large)
    yield "leave:"
    yield from dropped(program, "leave")
    yield from _returned(f"{LEAVE}", is_large)


def _returned(status: str, is_large: bool) -> Iterator[str]:
    if is_large:
        yield "  call void @PyMem_RawFree(ptr %frame)"
    yield f"  ret i64 {status}"


def _taken(i: int, leaf: Leaf) -> Iterator[str]:
    """The lines that put an argument into its slot."""
    yield f"take{i}:"
    if not is_checked(leaf) and (leaf.slot is None or not leaf.is_object):
        if leaf.slot is not None:
            refuse(f"it takes a {leaf.kind.__name__}")
        yield f"  br label %take{i + 1}"
        return
    yield f"  %of_x{i} = getelementptr ptr, ptr %args, i64 {i}"
    yield f"  %x{i} = load ptr, ptr %of_x{i}"
    if leaf.is_object:
        yield f"  %slot{i} = getelementptr i64, ptr %frame, i64 {leaf.slot}"
        yield f"  store ptr %x{i}, ptr %slot{i}"
        yield f"  br label %take{i + 1}"
        return
    yield f"  %of_type{i} = getelementptr i8, ptr %x{i}, i64 {HEADER}"
    yield f"  %type{i} = load ptr, ptr %of_type{i}"
    yield f"  %is_right{i} = icmp eq ptr %type{i}, @{TYPES[leaf.kind]}"
    yield f"  br i1 %is_right{i}, label %get{i}, label %leave"
    yield f"get{i}:"
    if leaf.kind is ndarray:
        yield from _layout_checked(i, leaf.example)
    if leaf.slot is None:
        yield f"  br label %take{i + 1}"
        return
    yield f"  %slot{i} = getelementptr i64, ptr %frame, i64 {leaf.slot}"
    if leaf.kind is int:
        yield f"  %n{i} = call i64 @PyLong_AsLongLongAndOverflow(ptr %x{i}, ptr %too_long)"
        yield f"  store i64 %n{i}, ptr %slot{i}"
        yield f"  %is_long{i} = load i32, ptr %too_long"
        yield f"  %fits{i} = icmp eq i32 %is_long{i}, 0"
        yield f"  br i1 %fits{i}, label %take{i + 1}, label %leave"
        return
    yield f"  %content{i} = getelementptr i8, ptr %x{i}, i64 {DATA if leaf.kind is ndarray else OF_A_FLOAT}"
    if leaf.kind is ndarray and form_of(leaf.example) == DOUBLE:  # an array without axes is a number
        yield f"  %element{i} = load ptr, ptr %content{i}"
        yield f"  %n{i} = load i64, ptr %element{i}"
    else:
        yield f"  %n{i} = load i64, ptr %content{i}"
    yield f"  store i64 %n{i}, ptr %slot{i}"
    yield f"  br label %take{i + 1}"


def _layout_checked(i: int, example: ndarray[Any, Any]) -> Iterator[str]:
    """The lines that leave if an array has another dtype, shape or strides than the one that was recorded."""
    for name, offset in (("shape", SHAPE), ("strides", STRIDES)):
        yield f"  %of_{name}{i} = getelementptr i8, ptr %x{i}, i64 {offset}"
        yield f"  %{name}{i} = load ptr, ptr %of_{name}{i}"
    tests = [("ptr", f"%x{i}", DTYPE, f"@{DTYPES[example.dtype.char]}"), ("i32", f"%x{i}", NDIM, f"{example.ndim}")]
    for name, numbers in (("shape", example.shape), ("strides", example.strides)):
        tests += [("i64", f"%{name}{i}", 8 * axis, f"{number}") for axis, number in enumerate(numbers)]
    yield f"  br label %is{i}_0"
    for k, (form, base, offset, expected) in enumerate(tests):
        yield f"is{i}_{k}:"
        yield f"  %at{i}_{k} = getelementptr i8, ptr {base}, i64 {offset}"
        yield f"  %found{i}_{k} = load {form}, ptr %at{i}_{k}"
        yield f"  %same{i}_{k} = icmp eq {form} %found{i}_{k}, {expected}"
        yield f"  br i1 %same{i}_{k}, label %is{i}_{k + 1}, label %leave"
    yield f"is{i}_{len(tests)}:"
    yield f"  %of_data{i} = getelementptr i8, ptr %x{i}, i64 {DATA}"
    yield f"  %data{i} = load i64, ptr %of_data{i}"
    yield f"  %low{i} = and i64 %data{i}, {ALIGNED}"
    yield f"  %is_aligned{i} = icmp eq i64 %low{i}, 0"
    yield f"  br i1 %is_aligned{i}, label %use{i}, label %leave"
    yield f"use{i}:"


def _run(program: Program) -> Iterator[str]:
    """The lines that have the steps run, and look at the flags."""
    if program.has_frames:
        yield from frames.BEGIN
    if program.calls:
        yield from stack.begin()
    if program.flags:
        yield f"  %noted = getelementptr i64, ptr %frame, i64 {FLAGS}"
        yield "  store i64 0, ptr %noted"
        yield "  call void @llvm.x86.sse.stmxcsr(ptr %word)"
        yield "  %before = load i32, ptr %word"
        yield f"  %cleared = and i32 %before, {~STICKY}"
        yield "  store i32 %cleared, ptr %word"
        yield "  call void @llvm.x86.sse.ldmxcsr(ptr %word)"
    if program.foreign:
        yield f"  %of_self = getelementptr i64, ptr %frame, i64 {SELF}"
        yield "  store ptr %self, ptr %of_self"
    if program.may_release:
        yield f"  %of_thread = getelementptr i64, ptr %frame, i64 {lock.THREAD}"
        yield "  store ptr null, ptr %of_thread"
    if program.is_large:
        yield "  call void @release_lock(ptr %frame)"
    yield "  %status = call i64 @run(ptr %frame, ptr %memory)"
    if program.has_frames:
        yield from frames.END_OF_ALL
    if program.flags:
        yield "  call void @note_flags(ptr %frame)"
        yield "  store i32 %before, ptr %word"
        yield "  call void @llvm.x86.sse.ldmxcsr(ptr %word)"
    if program.may_release:
        yield "  call void @take_lock(ptr %frame)"
    if program.may_raise:
        yield f"  %is_interrupted = icmp eq i64 %status, {INTERRUPTED}"
        yield "  br i1 %is_interrupted, label %problem, label %finished"
        yield "finished:"
    if OF_SPECIAL in program.text:  # a loop of SciPy's raises an error if the user has asked for that
        yield "  %error = call ptr @PyErr_Occurred()"
        yield "  %is_error = icmp ne ptr %error, null"
        yield "  br i1 %is_error, label %forget, label %on_without"
        yield "forget:"
        yield "  call void @PyErr_Clear()"
        yield "  br label %leave"
        yield "on_without:"
    if program.flags:
        yield "  %flags = load i32, ptr %noted"
        yield f"  %raised = and i32 %flags, {program.flags}"
        yield "  %is_quiet = icmp eq i32 %raised, 0"
        yield "  br i1 %is_quiet, label %quiet, label %leave"
        yield "quiet:"
    yield f"  switch i64 %status, label %other [i64 {DONE}, label %give i64 {LEAVE}, label %leave]"
