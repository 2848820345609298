"""Terms as text: `parse(show(term))` is the term again."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.grammar import INFIX_OF, PREFIX_OF, Level
from shiftreset_ad.formulations.language.names import UNUSED
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Lam,
    Let,
    Pair,
    Primitive,
    Shift,
    Term,
    Var,
)


def show(term: Term, width: int = 100) -> str:
    """The text of a term, on several lines where one is longer than `width`.

    >>> x = Var("x")
    >>> show(Lam("x", x * x + np.sin(x)))
    'fun x -> x * x + sin x'
    """
    return _Printer(width).text(term, Level.EXPRESSION)


class _Printer:
    def __init__(self, width: int) -> None:
        self._width = width

    def text(self, term: Term, level: Level) -> str:
        """The term where a construct of this level may stand."""
        own, text = self._construct(term)
        return f"({_hanging(text, 1)})" if own < level else text

    def _construct(self, term: Term) -> tuple[Level, str]:
        """How tightly the term binds, and its text."""
        text = self.text
        match term:
            case Var(name):
                return Level.ATOM, name
            case Const(value):
                return _constant(value)
            case Pair(first, second):
                pair = f"({text(first, Level.EXPRESSION)}, {text(second, Level.EXPRESSION)})"
                return Level.ATOM, _hanging(pair, 1)
            case Primitive(function, (a, b)) if function in INFIX_OF:
                symbol, level = INFIX_OF[function]
                left = Level(level + 1) if level is Level.COMPARISON else level
                return level, f"{text(a, left)} {symbol} {text(b, Level(level + 1))}"
            case Primitive(np.negative, (a,)):
                operand = text(a, Level.SIGN)
                return Level.SIGN, f"-({operand})" if isinstance(a, Const) else f"-{operand}"
            case Primitive(function, operands):
                words = [function.__name__, *(text(operand, Level.OPERAND) for operand in operands)]
                return Level.OPERAND, " ".join(words)
            case App(function, argument):
                return Level.APPLICATION, f"{text(function, Level.APPLICATION)} {text(argument, Level.OPERAND)}"
            case Assign(cell, value):
                return Level.ASSIGNMENT, f"{text(cell, Level.COMPARISON)} := {text(value, Level.COMPARISON)}"
            case Lam(name, body):
                return Level.EXPRESSION, self._joined(f"fun {name} ->", body, indent=2)
            case Shift(name, body):
                return Level.EXPRESSION, self._joined(f"shift {name} in", body, indent=2)
            case Let("_", value, body):
                return Level.EXPRESSION, self._joined(f"{text(value, Level.ASSIGNMENT)};", body, indent=0)
            case Let(name, value, body):
                bound = _hanging(text(value, Level.EXPRESSION), 4)
                return Level.EXPRESSION, self._joined(f"let {name} = {bound} in", body, indent=0)
            case Case():
                return Level.EXPRESSION, self._case(term)
        (operand,) = (getattr(term, name) for name in term.__match_args__)  # type: ignore[attr-defined]
        word = PREFIX_OF[type(term)]
        return Level.OPERAND, f"{word}{'' if word == '!' else ' '}{text(operand, Level.OPERAND)}"

    def _joined(self, head: str, body: Term, indent: int) -> str:
        text = self.text(body, Level.EXPRESSION)
        line = f"{head} {text}"
        if len(line) <= self._width and "\n" not in line:
            return line
        return f"{head}\n{' ' * indent}{_hanging(text, indent)}"

    def _case(self, case: Case) -> str:
        scrutinee = self.text(case.scrutinee, Level.EXPRESSION)
        left, right = self.text(case.left, Level.EXPRESSION), self.text(case.right, Level.EXPRESSION)
        if case.left_name == UNUSED == case.right_name:
            heads = f"if {scrutinee}", "then", "else"
        else:
            heads = f"case {scrutinee} of", f"{case.left_name} ->", f"| {case.right_name} ->"
        head, to_left, to_right = heads
        line = f"{head} {to_left} {left} {to_right} {right}"
        if len(line) <= self._width and "\n" not in line:
            return line
        return f"{head}\n  {to_left} {_hanging(left, 4)}\n  {to_right} {_hanging(right, 4)}"


def _constant(value: Any) -> tuple[Level, str]:
    if isinstance(value, (float, np.floating)):
        text = repr(float(value))
        return Level.SIGN if text.startswith("-") else Level.ATOM, text
    return Level.ATOM, repr(value)


def _hanging(text: str, indent: int) -> str:
    """The text with every line but the first indented."""
    return text.replace("\n", "\n" + " " * indent)
