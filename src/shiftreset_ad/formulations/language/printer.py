"""The printer turns terms into text: `parse(show(term))` is the term again."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.grammar import INFIX_OF, PREFIX_OF, Level
from shiftreset_ad.formulations.language.names import UNUSED
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of, for_each
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Deref,
    Lam,
    Let,
    Pair,
    Primitive,
    Shift,
    Term,
    Var,
    children,
)


def show(term: Term, width: int = 100) -> str:
    """The text of a term, on several lines if one line would be longer than `width` (without its indentation).

    >>> x = Var("x")
    >>> show(Lam("x", x * x + np.sin(x)))
    'fun x -> x * x + sin x'
    """
    return answer_of(_Printer(width).text(term, Level.EXPRESSION))


class _Printer:
    def __init__(self, width: int) -> None:
        self._width = width

    def text(self, term: Term, level: Level) -> Recursion[str]:
        """The text of a term at a place for constructs of this level."""
        own, text = yield self._construct(term)
        return f"({_hanging(text, 1)})" if own < level else text

    def _construct(self, term: Term) -> Recursion[tuple[Level, str]]:
        """How tightly the term binds, and its text."""
        text = self.text
        match term:
            case Var(name):
                return Level.ATOM, name
            case Const(value):
                return _constant(value)
            case Pair(first, second):
                left, right = (yield text(first, Level.EXPRESSION)), (yield text(second, Level.EXPRESSION))
                return Level.ATOM, _hanging(f"({self._joined(f'{left},', right)})", 1)
            case Primitive(function, (a, b)) if function in INFIX_OF:
                symbol, level = INFIX_OF[function]
                left = yield text(a, Level(level + 1) if level is Level.COMPARISON else level)
                right = yield text(b, Level(level + 1))
                return level, self._joined(left, f"{symbol} {_hanging(right, len(symbol) + 1)}")
            case Primitive(np.negative, (a,)):
                operand = yield text(a, Level.SIGN)
                return Level.SIGN, f"-({operand})" if isinstance(a, Const) else f"-{_hanging(operand, 1)}"
            case App(function, argument):
                left, right = (yield text(function, Level.APPLICATION)), (yield text(argument, Level.OPERAND))
                return Level.APPLICATION, self._joined(left, right, indent=2, aligned=not isinstance(argument, Lam))
            case Assign(cell, value):
                left, right = (yield text(cell, Level.COMPARISON)), (yield text(value, Level.COMPARISON))
                return Level.ASSIGNMENT, self._joined(f"{left} :=", right, indent=2)
            case Lam(name, body):
                head, inside = f"fun {name} ->", (yield text(body, Level.EXPRESSION))
                curried = isinstance(body, Lam)
                joined = self._joined(head, inside, aligned=False) if curried else self._under(head, inside)
                return Level.EXPRESSION, joined
            case Shift(name, body):
                return Level.EXPRESSION, self._under(f"shift {name} in", (yield text(body, Level.EXPRESSION)))
            case Let(name, value, body):
                if name == UNUSED:
                    head = f"{(yield text(value, Level.ASSIGNMENT))};"
                else:
                    head = self._bound(name, (yield text(value, Level.EXPRESSION)))
                return Level.EXPRESSION, self._under(head, (yield text(body, Level.EXPRESSION)), indent=0)
            case Case(scrutinee, left_name, left, right_name, right):
                parts = yield for_each(lambda part: text(part, Level.EXPRESSION), (scrutinee, left, right))
                return Level.EXPRESSION, self._case(left_name, right_name, *parts)
            case Deref(cell):
                return Level.OPERAND, f"!{_hanging((yield text(cell, Level.OPERAND)), 1)}"
        line = term.function.__name__ if isinstance(term, Primitive) else PREFIX_OF[type(term)]
        for operand in (yield for_each(lambda part: text(part, Level.OPERAND), children(term))):
            line = self._joined(line, operand, indent=2)
        return Level.APPLICATION, line

    def _fits(self, *parts: str) -> bool:
        return not any("\n" in part for part in parts) and sum(map(len, parts)) + len(parts) - 1 <= self._width

    def _joined(self, left: str, right: str, indent: int = 0, aligned: bool = True) -> str:
        """Both in one line, if the first line of the right text fits there, with its other lines below."""
        if self._fits(left, right.partition("\n")[0]):
            return f"{left} {_hanging(right, len(left) + 1 if aligned else 0)}"
        return self._under(left, right, indent)

    def _under(self, head: str, text: str, indent: int = 2) -> str:
        """Both in one line, or the text in the lines under the head."""
        if self._fits(head, text):
            return f"{head} {text}"
        return f"{head}\n{' ' * indent}{_hanging(text, indent)}"

    def _bound(self, name: str, value: str) -> str:
        """The head of a `let`."""
        if self._fits("let", name, "=", value, "in"):
            return f"let {name} = {value} in"
        return f"let {name} =\n  {_hanging(value, 2)}\nin"

    def _case(self, left_name: str, right_name: str, scrutinee: str, left: str, right: str) -> str:
        if left_name == UNUSED == right_name:
            head, to_left, to_right, indent = f"if {_hanging(scrutinee, 3)}", "then", "else", 2
        else:
            head, to_left, to_right = f"case {_hanging(scrutinee, 5)} of", f"{left_name} ->", f"| {right_name} ->"
            indent = 0  # one name is below the other
        if self._fits(head, to_left, left, to_right, right):
            return f"{head} {to_left} {left} {to_right} {right}"
        on_left = _hanging(self._under(to_left, left), 2)
        on_right = _hanging(self._under(to_right, right, 4 - indent), indent)
        return f"{head}\n  {on_left}\n{' ' * indent}{on_right}"


def _constant(value: Any) -> tuple[Level, str]:
    if isinstance(value, (float, np.floating)):
        text = repr(float(value))
        return Level.SIGN if text.startswith("-") else Level.ATOM, text
    return Level.ATOM, repr(value)


def _hanging(text: str, indent: int) -> str:
    """The text with every line but the first indented."""
    return text.replace("\n", "\n" + " " * indent)
