"""A program as C++: functions are lambdas that capture by reference, so that all of it lies on the stack.

Nothing outlives its block: a continuation is called before the function returns that has made it, and so is the cell of
an adjoint read (section 3.4 of the paper). A function that calls itself, or that is handed over, has the type
`std::function`; in the paper it is `auto`, which a compiler does not take for a function that calls itself.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from shiftreset_ad.formulations.wang.staged.code import (
    BOOL,
    DOUBLE,
    NODE,
    REF,
    Add,
    Assign,
    Block,
    Call,
    Define,
    Function,
    If,
    Kind,
    NewCell,
    Program,
    Return,
    uses,
)
from shiftreset_ad.formulations.wang.staged.generation import kind_of
from shiftreset_ad.formulations.wang.staged.names import names_of
from shiftreset_ad.formulations.wang.staged.printing import Writer
from shiftreset_ad.formulations.wang.staged.trees import Struct

KINDS = {DOUBLE: "double", REF: "double&", NODE: "const Tree*", BOOL: "bool"}
FUNCTIONS = {
    **{
        getattr(np, name): f"std::{name}"
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")
    },
    **{getattr(np, name): f"std::{name}" for name in ("exp2", "expm1", "log2", "log10", "log1p", "cbrt", "hypot")},
    **{getattr(np, f"arc{name}"): f"std::a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
    np.power: "std::pow",
    np.absolute: "std::fabs",
}
RESERVED = {"double", "bool", "const", "auto", "if", "else", "return", "true", "false", "std", "Tree", "extern"}
HEADER = """\
#include <cmath>
#include <functional>

struct Tree { bool notEmpty; double value; const Tree* left; const Tree* right; };
"""
OPTIONS = ("-std=c++17", "-O3", "-shared", "-fPIC")


def show(program: Program) -> str:
    """The text of the function, without the header.

    Raises NotImplementedError for a function of NumPy that C++ has under no name.
    """
    writer = Writer(
        names_of(program, reserved={*RESERVED, program.name}),
        read=str,
        field=lambda tree, name: f"{tree}->{'notEmpty' if name == 'not_empty' else name}",
        applied=_applied,
        number=_number,
    )
    parameters = ", ".join(f"{_kind(p.kind)} {writer.names[p]}" for p in program.parameters)
    writer.line(f"double {program.name}({parameters}) {{")
    _write(program.body, writer)
    writer.line("}")
    return "\n".join(writer.lines)


def _write(block: Block, writer: Writer) -> None:
    names, text = writer.names, writer.text
    writer.indent += 1
    for statement in block:
        match statement:
            case Define(symbol, value):
                writer.line(f"{_kind(kind_of(value))} {names[symbol]} = {text(value)};")
            case NewCell(cell, value):
                writer.line(f"double {names[cell]} = {text(value)};")
            case Assign(cell, value):
                writer.line(f"{names[cell]} = {text(value)};")
            case Add(cell, value):
                writer.line(f"{names[cell]} += {text(value)};")
            case Call(function, arguments):
                writer.line(f"{names[function]}({', '.join(map(text, arguments))});")
            case If(condition, then, otherwise):
                writer.line(f"if ({text(condition)}) {{")
                _write(then, writer)
                writer.line("} else {")
                _write(otherwise, writer)
                writer.line("}")
            case Function(symbol, parameters, body):
                kind = f"std::{_signature(symbol.kind)}" if uses(body)[symbol] else "auto"
                given = ", ".join(f"{_kind(p.kind)} {names[p]}" for p in parameters)
                writer.line(f"{kind} {names[symbol]} = [&]({given}) {{")
                _write(body, writer)
                writer.line("};")
            case Return(value):
                writer.line(f"return {text(value)};")
    writer.indent -= 1


def _kind(kind: Kind) -> str:
    return f"const std::{_signature(kind)}&" if kind.name == "function" else KINDS[kind]


def _signature(kind: Kind) -> str:
    return f"function<void({', '.join(map(_kind, kind.parameters))})>"


def _number(value: float) -> str:
    if isfinite(value):
        return repr(value)
    return "NAN" if value != value else "INFINITY" if value > 0.0 else "-INFINITY"


def _applied(function: Callable[..., Any], operands: list[str]) -> str:
    if function is np.where:
        condition, then, otherwise = operands
        return f"({condition} ? {then} : {otherwise})"
    if function is np.bitwise_and:
        return f"({' && '.join(operands)})"
    if function not in FUNCTIONS:
        raise NotImplementedError(f"{function.__name__}: C++ has no such function; use the printer for Python")
    return f"{FUNCTIONS[function]}({', '.join(operands)})"


def compiler() -> str | None:
    """The compiler of this machine, if there is one."""
    return next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)


def compiled(program: Program) -> Callable[..., float]:
    """The program as a function of Python, compiled from C++. Raises RuntimeError where there is no compiler."""
    return library([program])[0]


def library(programs: Sequence[Program]) -> list[Callable[..., float]]:
    """Several programs with different names, compiled together."""
    found = compiler()
    if found is None:
        raise RuntimeError("no C++ compiler is here: install g++ or clang++, or use the printer for Python")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "program.cpp"), Path(folder, "program.so")
        source.write_text("\n".join([HEADER, *(f'extern "C" {show(program)}\n' for program in programs)]))
        subprocess.run([found, *OPTIONS, "-o", target, source], check=True)
        loaded = ctypes.CDLL(str(target))  # it stays loaded when the file is gone
    return [_callable(loaded[program.name], program) for program in programs]


def _callable(function: Any, program: Program) -> Callable[..., float]:
    kinds = [parameter.kind for parameter in program.parameters]
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.POINTER(Struct) if kind == NODE else ctypes.c_double for kind in kinds]

    def run(*arguments: Any) -> float:
        given = zip(arguments, kinds, strict=True)
        return float(function(*(ctypes.byref(Struct.of(x)) if kind == NODE else x for x, kind in given)))

    return run
