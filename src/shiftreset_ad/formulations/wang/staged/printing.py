"""What the printers share: expressions with as few parentheses as their meaning allows, and lines with indents."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from math import copysign
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.formulations.wang.staged.code import Constant, Expression, Field, Operation, Read, Symbol


class Operator(NamedTuple):
    """An operator with two operands, and how tightly it binds."""

    text: str
    level: int


TEST, SUM, PRODUCT, SIGN, ATOM = range(5)
OPERATORS: Mapping[Callable[..., Any], Operator] = {
    np.less: Operator("<", TEST),
    np.less_equal: Operator("<=", TEST),
    np.greater: Operator(">", TEST),
    np.greater_equal: Operator(">=", TEST),
    np.equal: Operator("==", TEST),
    np.not_equal: Operator("!=", TEST),
    np.add: Operator("+", SUM),
    np.subtract: Operator("-", SUM),
    np.multiply: Operator("*", PRODUCT),
    np.divide: Operator("/", PRODUCT),
}


@dataclasses.dataclass
class Writer:
    """The text of a program, line by line; `read`, `field` and `applied` are how the language writes these."""

    names: Mapping[Symbol, str]
    read: Callable[[str], str]
    field: Callable[[str, str], str]
    applied: Callable[[Callable[..., Any], list[str]], str]
    number: Callable[[float], str] = repr
    lines: list[str] = dataclasses.field(default_factory=list)
    indent: int = 0

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("  " * self.indent + text)

    def text(self, expression: Expression, level: int = TEST) -> str:
        """The text of an expression, in parentheses if it binds less tightly than `level`."""
        own, text = self._text(expression)
        return f"({text})" if own < level else text

    def _text(self, expression: Expression) -> tuple[int, str]:
        match expression:
            case Symbol():
                return ATOM, self.names[expression]
            case Constant(value):
                return (SIGN if copysign(1.0, value) < 0.0 else ATOM), self.number(value)
            case Read(cell):
                return ATOM, self.read(self.names[cell])
            case Field(tree, name):
                return ATOM, self.field(self.text(tree, ATOM), name)
            case Operation(np.negative, (operand,)):
                return SIGN, f"-{self.text(operand, ATOM)}"
            case Operation(function, (a, b)) if function in OPERATORS:
                operator = OPERATORS[function]
                # A test has no test as an operand: Python would compare both.
                left, right = max(operator.level, SUM), operator.level + 1
                return operator.level, f"{self.text(a, left)} {operator.text} {self.text(b, right)}"
            case Operation(function, operands):
                return ATOM, self.applied(function, [self.text(operand) for operand in operands])
