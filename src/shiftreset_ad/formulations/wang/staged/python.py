"""A program as Python that runs: a cell is a list of one number, and functions nest."""

from __future__ import annotations

from collections.abc import Callable
from keyword import kwlist
from typing import Any

import numpy as np

from shiftreset_ad.formulations.wang.staged.code import (
    Add,
    Assign,
    Block,
    Call,
    Define,
    Function,
    If,
    NewCell,
    Program,
    Return,
)
from shiftreset_ad.formulations.wang.staged.names import names_of
from shiftreset_ad.formulations.wang.staged.printing import Writer

GLOBALS = {"np": np, "inf": np.inf, "nan": np.nan}


def show(program: Program) -> str:
    """The text of a program."""
    writer = Writer(
        names_of(program, reserved={*kwlist, *GLOBALS, program.name}),
        read=lambda cell: f"{cell}[0]",
        field=lambda tree, name: f"{tree}.{name}",
        applied=lambda function, operands: f"np.{function.__name__}({', '.join(operands)})",
    )
    parameters = ", ".join(writer.names[parameter] for parameter in program.parameters)
    writer.line(f"def {program.name}({parameters}):")
    _write(program.body, writer)
    return "\n".join(writer.lines)


def _write(block: Block, writer: Writer) -> None:
    names, text = writer.names, writer.text
    writer.indent += 1
    for statement in block:
        match statement:
            case Define(symbol, value):
                writer.line(f"{names[symbol]} = {text(value)}")
            case NewCell(cell, value):
                writer.line(f"{names[cell]} = [{text(value)}]")
            case Assign(cell, value):
                writer.line(f"{names[cell]}[0] = {text(value)}")
            case Add(cell, value):
                writer.line(f"{names[cell]}[0] += {text(value)}")
            case Call(function, arguments):
                writer.line(f"{names[function]}({', '.join(map(text, arguments))})")
            case If(condition, then, otherwise):
                writer.line(f"if {text(condition)}:")
                _write(then, writer)
                writer.line("else:")
                _write(otherwise, writer)
            case Function(symbol, parameters, body):
                writer.line(f"def {names[symbol]}({', '.join(names[p] for p in parameters)}):")
                _write(body, writer)
            case Return(value):
                writer.line(f"return {text(value)}")
    if not block:
        writer.line("pass")
    writer.indent -= 1


def compiled(program: Program) -> Callable[..., Any]:
    """The program as a function of Python. A loop is a recursion: n rounds need n frames of Python's stack.

    >>> from shiftreset_ad.formulations.wang.staged import generate, grad
    >>> compiled(generate(grad(lambda x: x * x)))(3.0)
    6.0
    """
    namespace: dict[str, Any] = dict(GLOBALS)
    exec(compile(show(program), f"<{program.name}>", "exec"), namespace)
    return namespace[program.name]  # type: ignore[no-any-return]
