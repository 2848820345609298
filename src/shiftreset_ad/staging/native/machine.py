"""The machine that native code is compiled for, and whether it is one that is known here."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import sysconfig
import threading
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from itertools import count
from types import CellType
from typing import Any

import numpy as np

SWITCH = "SHIFTRESET_AD_NATIVE"
LEVEL = 1  # of LLVM's passes; for numbers one after another, higher levels take longer and gain nothing
HEADER, OF_A_FLOAT, OF_A_LIST, OF_A_TUPLE = 8, 16, 24, 24  # where CPython has the type of an object, and its content
LENGTH, OF_A_CELL, OF_BYTES = 16, 16, 32  # of a list, a tuple, a dict or bytes; what a cell and bytes have
OF_THE_FIRST_SLOT = 16  # of an object of a class that has it
OF_A_DEFINITION, OF_ITS_OBJECT = 16, 24  # of a function that is written in C: its description, and what it belongs to
OF_BASES = 344  # where CPython has the classes from which a class inherits
STICKY = 0x3F  # the flags among the bits of the machine's control word
DATA, NDIM, SHAPE, STRIDES, DTYPE = 16, 24, 32, 40, 56  # where NumPy has what it knows of an array
LARGEST_STACK, STACK_WITHOUT_LIMIT = 2**23, 2**21  # bytes; the latter is what a thread has if there is no limit
_numbers = count()


@cache
def unfit() -> str | None:
    """Why there is no native code here; None if there is."""
    if os.environ.get(SWITCH) == "0":
        return f"it is switched off by {SWITCH}=0"
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed: pip install 'shiftreset_ad[native]'"
    if platform.machine() not in ("x86_64", "AMD64") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return f"native code is made for x86-64 only, and this is {platform.machine()}"
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or sys.flags.debug:
        return "native code is made for CPython with its global lock only"
    checks = _are_objects_as_expected, _are_others_as_expected, _are_functions_as_expected, _are_arrays_as_expected
    if not all(check() for check in checks):
        return "this Python or this NumPy lays out its objects in another way"
    return None


def _are_objects_as_expected() -> bool:
    sizes = list.__basicsize__ - 16, tuple.__basicsize__, bytes.__basicsize__ - 1
    if (
        sizes != (OF_A_LIST, OF_A_TUPLE, OF_BYTES) or type(type).__sizeof__(type) < OF_BASES + 8
    ):  # a wrong address must not be read
        return False
    for number in (1.5, np.float64(1.5)):
        kind = ctypes.c_void_p.from_address(id(number) + HEADER).value
        if kind != id(type(number)) or ctypes.c_double.from_address(id(number) + OF_A_FLOAT).value != 1.5:
            return False
    if ctypes.c_int64.from_address(id(np.int64(2**40)) + OF_A_FLOAT).value != 2**40:
        return False
    both: Any = [number, None], (number, None)
    items = ctypes.c_void_p.from_address(id(both[0]) + OF_A_LIST).value
    in_list = [ctypes.c_void_p.from_address((items or 0) + 8 * i).value for i in range(2)]
    in_tuple = [ctypes.c_void_p.from_address(id(both[1]) + OF_A_TUPLE + 8 * i).value for i in range(2)]
    return in_list == in_tuple == [id(number), id(None)]


def _are_others_as_expected() -> bool:
    """Whether what a gate looks at is where it is expected."""
    text, cell = b"\1\0", CellType(None)
    if bytes.__basicsize__ != OF_BYTES + 1 or type.__sizeof__(float) < OF_BASES + 8:
        return False
    sized: Any = text, (1, 2), [], [1, 2, 3], {}, {1: 2, 3: 4}
    classes: tuple[type, ...] = float, type("Kind", (int,), {})
    return (
        ctypes.string_at(id(text) + OF_BYTES, len(text)) == text
        and ctypes.c_void_p.from_address(id(cell) + OF_A_CELL).value == id(None)
        and all(ctypes.c_ssize_t.from_address(id(x) + LENGTH).value == len(x) for x in sized)
        and all(ctypes.c_void_p.from_address(id(x) + OF_BASES).value == id(x.__mro__) for x in classes)
    )


def _are_functions_as_expected() -> bool:
    append: Any = [].append
    if type(append).__basicsize__ < OF_ITS_OBJECT + 8:
        return False
    get = ctypes.pythonapi.PyCFunction_GetFunction
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object,)
    definition, of = (ctypes.c_void_p.from_address(id(append) + x).value for x in (OF_A_DEFINITION, OF_ITS_OBJECT))
    return of == id(append.__self__) and ctypes.c_void_p.from_address((definition or 0) + 8).value == get(append)


def _are_arrays_as_expected() -> bool:
    x = np.zeros((2, 3))
    start = id(x)
    if np.ndarray.__basicsize__ < DTYPE + 8 or ctypes.c_int.from_address(start + NDIM).value != x.ndim:
        return False
    pointers = [ctypes.c_void_p.from_address(start + offset).value for offset in (DATA, DTYPE)]
    if pointers != [x.ctypes.data, id(x.dtype)]:
        return False
    for offset, expected in ((SHAPE, x.shape), (STRIDES, x.strides)):
        numbers = ctypes.c_void_p.from_address(start + offset).value or 0
        if tuple(ctypes.c_ssize_t.from_address(numbers + 8 * axis).value for axis in range(x.ndim)) != expected:
            return False
    return True


def stack() -> int:
    """The bytes of the stack of C that native code may use for calls: a quarter of what a thread has, or less."""
    sizes = [threading.stack_size() or LARGEST_STACK]
    if find_spec("resource") is not None:
        import resource

        size, _ = resource.getrlimit(resource.RLIMIT_STACK)
        sizes.append(STACK_WITHOUT_LIMIT if size == resource.RLIM_INFINITY else size)
    return min(sizes) // 4


@cache
def _llvm() -> Any:
    import llvmlite.binding

    llvmlite.binding.initialize_native_target()
    llvmlite.binding.initialize_native_asmprinter()
    return llvmlite.binding


@cache
def described() -> str:
    """The processor and the versions that compiled code depends on."""
    binding = _llvm()
    features = binding.get_host_cpu_features().flatten()
    versions = *binding.llvm_version_info, np.__version__, sys.version, platform.platform()
    return " ".join(map(str, (binding.get_host_cpu_name(), features, *versions)))


@cache
def _target() -> Any:
    binding = _llvm()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=LEVEL,
        reloc="pic",
        codemodel="small",
    )


@cache
def _linker() -> Any:
    # JITLink has the sections of an object side by side. The other linker lets the system place each of them, and ends
    # the process if they are too far apart for the addresses in the code; on Windows, too.
    return _llvm().create_lljit_compiler(_target(), use_jit_link=True)


def compiled(text: str) -> bytes:
    """The object file of a text in LLVM's language."""
    binding, target = _llvm(), _target()
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=LEVEL)
    options.slp_vectorization = False  # for numbers one after another it takes most of the time, and gains nothing
    passes = binding.create_pass_builder(target, options)
    passes.getModulePassManager().run(module, passes)
    return bytes(target.emit_object(module))


class Linked:
    """Code in memory, with these addresses for the names that it leaves open. It lives as long as this object."""

    __slots__ = ("_code",)

    def __init__(self, code: bytes, open_names: Mapping[str, int], *names: str) -> None:
        builder = _llvm().JITLibraryBuilder().add_object_img(code)
        for name in names:
            builder.export_symbol(name)
        for open_name, address in open_names.items():
            builder.import_symbol(open_name, address)
        self._code = builder.link(_linker(), f"way{next(_numbers)}")

    def address(self, name: str) -> int:
        """The address of a function."""
        return int(self._code[name])
