"""Text as terms, by recursive descent; the grammar is in `grammar`."""

from __future__ import annotations

import re
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


def parse(text: str) -> Term:
    """The term that a text stands for.

    Raises SyntaxError that says where the text is wrong.

    >>> parse("fun x -> x * x") == Lam("x", Var("x") * Var("x"))
    True
    """
    parser = _Parser(text)
    term = parser.expression()
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
        """The token that was next; go on to the one behind it."""
        token = self.token
        self._start = self._end
        match = TOKEN.match(self._text, self._end)
        if match:
            self._kind, self._start, self._end = match.lastgroup, match.start(match.lastgroup or 0), match.end()
            self.token = self._text[self._start : self._end]
        elif self._text[self._end :].strip():
            self.token = self._text[self._end :].split()[0]
            self.fail("a word of the language")
        else:
            self._kind, self.token = None, ""
        return token

    def fail(self, expected: str) -> NoReturn:
        """Say what is wrong, and where."""
        found = repr(self.token) if self.token else "the end"
        before = self._text[: self._start]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise SyntaxError(f"parse: expected {expected} and found {found}, line {line}, column {column}")

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
        if self._accept("fun"):
            name = self._name()
            self._expect("->")
            return Lam(name, self.expression())
        if self._accept("let"):
            return self._let()
        if self._accept("case"):
            return self._case()
        if self._accept("if"):
            condition = self.expression()
            self._expect("then")
            then = self.expression()
            self._expect("else")
            return if_then_else(condition, then, self.expression())
        if self._accept("shift"):
            name = self._name()
            self._expect("in")
            return Shift(name, self.expression())
        term = self._infix(Level.COMPARISON)
        if self._accept(":="):
            term = Assign(term, self._infix(Level.COMPARISON))
        return Let(UNUSED, term, self.expression()) if self._accept(";") else term

    def _let(self) -> Term:
        if self._accept("rec"):
            function, parameter = self._name(), self._name()
            self._expect("=")
            body = self.expression()
            self._expect("in")
            return letrec(function, parameter, body, self.expression())
        if self._accept("("):
            first = self._name()
            self._expect(",")
            second = self._name()
            self._expect(")")
            self._expect("=")
            pair = self.expression()
            self._expect("in")
            return let_pair(first, second, pair, self.expression())
        name = self._name()
        self._expect("=")
        value = self.expression()
        self._expect("in")
        return Let(name, value, self.expression())

    def _case(self) -> Term:
        scrutinee = self.expression()
        self._expect("of")
        left_name = self._name()
        self._expect("->")
        left = self.expression()
        self._expect("|")
        right_name = self._name()
        self._expect("->")
        return Case(scrutinee, left_name, left, right_name, self.expression())

    def _infix(self, level: Level) -> Term:
        """Operators of this level and of those that bind tighter; all associate to the left, comparisons not."""
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
        if self._kind == "number" or self.token in NUMBERS:
            return Const(-self._number())
        return Primitive(np.negative, (self._sign(),))

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
        if self._kind == "number" or self.token in NUMBERS:
            return Const(self._number())
        if self._accept("("):
            return self._parenthesised()
        return Var(self._name())

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
