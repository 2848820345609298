"""The lines that make an object of Python's, or of NumPy's, from the bits in a slot: `y` from the address `from`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from shiftreset_ad.staging.native.machine import OF_A_FLOAT


def _float(i: str) -> Iterator[str]:
    yield f"  %r{i} = load double, ptr %from{i}"
    yield f"  %y{i} = call ptr @PyFloat_FromDouble(double %r{i})"


def _float64(i: str) -> Iterator[str]:
    yield f"  %r{i} = load i64, ptr %from{i}"
    yield f"  %y{i} = call ptr @PyType_GenericAlloc(ptr @float64_type, i64 0)"
    yield f"  %is_new{i} = icmp ne ptr %y{i}, null"
    yield f"  br i1 %is_new{i}, label %set{i}, label %problem"
    yield f"set{i}:"
    yield f"  %to{i} = getelementptr i8, ptr %y{i}, i64 {OF_A_FLOAT}"
    yield f"  store i64 %r{i}, ptr %to{i}"


def _int(i: str) -> Iterator[str]:
    yield f"  %r{i} = load i64, ptr %from{i}"
    yield f"  %y{i} = call ptr @PyLong_FromLongLong(i64 %r{i})"


def _truth(true: str, false: str) -> Callable[[str], Iterator[str]]:
    def lines(i: str) -> Iterator[str]:
        yield f"  %r{i} = load i64, ptr %from{i}"
        yield f"  %is_true{i} = icmp ne i64 %r{i}, 0"
        yield f"  %y{i} = select i1 %is_true{i}, ptr @{true}, ptr @{false}"
        yield f"  call void @Py_IncRef(ptr %y{i})"

    return lines


MADE: dict[Any, Callable[[str], Iterator[str]]] = {
    float: _float,
    np.float64: _float64,
    int: _int,
    bool: _truth("true", "false"),
    np.bool: _truth("numpy_true", "numpy_false"),
}
NUMPYS: dict[Any, Any] = {float: np.float64, bool: np.bool}
