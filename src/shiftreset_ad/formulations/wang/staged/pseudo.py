"""A program as the paper writes its intermediate representation: ref, !, :=, +=, and functions as arrows."""

from __future__ import annotations

from shiftreset_ad.formulations.wang.staged.code import (
    Add,
    Assign,
    Block,
    Call,
    Constant,
    Define,
    Function,
    If,
    NewCell,
    Program,
    Return,
)
from shiftreset_ad.formulations.wang.staged.names import names_of
from shiftreset_ad.formulations.wang.staged.printing import Writer

FIELDS = {"not_empty": "notEmpty"}  # as the paper writes it


def show(program: Program) -> str:
    """The text of a program."""
    writer = Writer(
        names_of(program),
        read=lambda cell: f"!{cell}",
        field=lambda tree, name: f"{tree}.{FIELDS.get(name, name)}",
        applied=lambda function, operands: f"{function.__name__}({', '.join(operands)})",
    )
    parameters = ", ".join(writer.names[parameter] for parameter in program.parameters)
    writer.line(f"def {program.name}({parameters}) = {{")
    _write(program.body, writer)
    writer.line("}")
    return "\n".join(writer.lines)


def _write(block: Block, writer: Writer) -> None:
    names, text = writer.names, writer.text
    writer.indent += 1
    for statement in block:
        match statement:
            case Define(symbol, value):
                writer.line(f"{names[symbol]} = {text(value)}")
            case NewCell(cell, value):
                writer.line(f"{names[cell]} = ref {'0' if value == Constant(0.0) else text(value)}")
            case Assign(cell, value):
                writer.line(f"{names[cell]} := {text(value)}")
            case Add(cell, value):
                writer.line(f"{names[cell]} += {text(value)}")
            case Call(function, arguments):
                writer.line(f"{names[function]}({', '.join(map(text, arguments))})")
            case If(condition, then, otherwise):
                writer.line(f"if ({text(condition)}) {{")
                _write(then, writer)
                writer.line("} else {")
                _write(otherwise, writer)
                writer.line("}")
            case Function(symbol, parameters, body):
                writer.line(f"{names[symbol]} = ({', '.join(names[p] for p in parameters)}) => {{")
                _write(body, writer)
                writer.line("}")
            case Return(value):
                writer.line(text(value))
    writer.indent -= 1
