"""The parser turns text into terms, by recursive descent; the grammar is in `grammar`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NoReturn

import numpy as np

from shiftreset_ad.formulations.language.derived import if_then_else, let_pair, letrec
from shiftreset_ad.formulations.language.grammar import INFIX, KEYWORDS, NUMBERS, PREFIX, PRIMITIVES, Level
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

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*'*)|(?P<symbol>:=|->|[<>=!]=|[-+*/<>=!;,()|]))"
)

OPENING = ("fun", "let", "case", "if", "shift")


def parse(text: str) -> Term:
    """The term that a text stands for.

    Raises SyntaxError, which says where the text is wrong.

    >>> parse("fun x -> x * x") == Lam("x", Var("x") * Var("x"))
    True
    """
    parser = _Parser(text)
    try:
        term = parser.expression()
    except RecursionError:
        raise RecursionError(
            "parse: the text has parentheses inside one another, or operands of operands, deeper than Python's stack "
            "allows; give parts a name by let, which may be nested as deep as wanted"
        ) from None
    if parser.token:
        parser.fail("the end")
    return term


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self.token = ""
        self._kind: str | None = None
        self._advance()

    def _advance(self) -> str:
        """The current token; go on to the next one."""
        token = self.token
        self._start = self._end
        match = TOKEN.match(self._text, self._end)
        if match:
            self._kind, self._start, self._end = match.lastgroup, match.start(match.lastgroup or 0), match.end()
            self.token = self._text[self._start : self._end]
        elif self._text[self._end :].strip():
            self.token = self._text[self._end :].split()[0]
            self._start = self._text.index(self.token, self._end)
            self.fail("a word of the language")
        else:
            self._kind, self.token = None, ""
        return token

    def fail(self, expected: str) -> NoReturn:
        """Say what is wrong, and where."""
        found = repr(self.token) if self.token else "the end"
        before = self._text[: self._start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        hint = ""
        if expected == "a term" and self.token in OPENING:
            hint = "; put it in parentheses"
        elif expected == "'->'" and self._kind == "name":
            hint = "; a function has one parameter: fun x -> fun y -> ..."
        raise SyntaxError(f"parse: expected {expected} and found {found}, line {line}, column {column}{hint}")

    def _accept(self, token: str) -> bool:
        if self.token != token:
            return False
        self._advance()
        return True

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            self.fail(repr(token))

    def _name(self) -> str:
        if self._kind != "name" or self.token in KEYWORDS:
            self.fail("a name")
        return self._advance()

    def expression(self) -> Term:
        """An expression: its openings, such as `let x = e in`, are kept until the body after them is parsed."""
        openings: list[Callable[[Term], Term]] = []
        while opening := self._opening():
            openings.append(opening)
        term = self._last
        for opening in reversed(openings):
            term = opening(term)
        return term

    def _opening(self) -> Callable[[Term], Term] | None:
        """A function from the body to the whole expression; None if there is no opening, with the body in `_last`."""
        if self._accept("let"):
            return self._let()
        if self._accept("fun"):
            return partial(Lam, self._name_before("->"))
        if self._accept("shift"):
            return partial(Shift, self._name_before("in"))
        if self._accept("case"):
            scrutinee, left_name = self._up_to("of"), self._name_before("->")
            return partial(Case, scrutinee, left_name, self._up_to("|"), self._name_before("->"))
        if self._accept("if"):
            return partial(if_then_else, self._up_to("then"), self._up_to("else"))
        term = self._infix(Level.COMPARISON)
        if self._accept(":="):
            term = Assign(term, self._infix(Level.COMPARISON))
        if self._accept(";"):
            return partial(Let, UNUSED, term)
        self._last = term
        return None

    def _let(self) -> Callable[[Term], Term]:
        if self._accept("rec"):
            return partial(letrec, self._name(), self._name_before("="), self._up_to("in"))
        if self._accept("("):
            first, second = self._name_before(","), self._name_before(")")
            self._expect("=")
            return partial(let_pair, first, second, self._up_to("in"))
        return partial(Let, self._name_before("="), self._up_to("in"))

    def _name_before(self, token: str) -> str:
        name = self._name()
        self._expect(token)
        return name

    def _up_to(self, token: str) -> Term:
        term = self.expression()
        self._expect(token)
        return term

    def _infix(self, level: Level) -> Term:
        """Operators of this level, and of levels that bind tighter. All associate to the left, except comparisons."""
        if level is Level.SIGN:
            return self._sign()
        tighter = Level(level + 1)
        term = self._infix(tighter)
        while self.token in INFIX and INFIX[self.token][1] is level:
            function, _ = INFIX[self._advance()]
            term = Primitive(function, (term, self._infix(tighter)))
            if level is Level.COMPARISON:
                break
        return term

    def _sign(self) -> Term:
        if not self._accept("-"):
            return self._application()
        is_literal = self._is_number()
        operand = self._sign()
        if is_literal and isinstance(operand, Const):
            return Const(-operand.value)
        return Primitive(np.negative, (operand,))

    def _application(self) -> Term:
        term = self._operand()
        while self._starts_operand():
            term = App(term, self._operand())
        return term

    def _starts_operand(self) -> bool:
        if self._kind == "symbol":
            return self.token in ("(", "!")
        if self.token in KEYWORDS:
            return self.token in PREFIX or self.token in PRIMITIVES or self.token in NUMBERS
        return self._kind is not None

    def _operand(self) -> Term:
        if self.token in PREFIX:
            return PREFIX[self._advance()](self._operand())
        if self.token in PRIMITIVES:
            function = PRIMITIVES[self._advance()]
            return Primitive(function, tuple(self._operand() for _ in range(function.nin)))
        if self._is_number():
            return Const(self._number())
        if self._accept("("):
            return self._parenthesised()
        if self._kind != "name" or self.token in KEYWORDS or self.token == UNUSED:
            self.fail("a term")
        return Var(self._name())

    def _is_number(self) -> bool:
        return self._kind == "number" or self.token in NUMBERS

    def _number(self) -> float:
        token = self._advance()
        return NUMBERS[token] if token in NUMBERS else float(token)

    def _parenthesised(self) -> Term:
        if self._accept(")"):
            return Const(())
        term = self.expression()
        if self._accept(","):
            term = Pair(term, self.expression())
        self._expect(")")
        return term
