"""The grammar of the core language, which its printer and its parser share.

    e ::= fun x -> e | let x = e in e | e; e | case e of x -> e | x -> e | if e then e else e | shift k in e
        | e := e | e < e | e + e | e * e | -e | e e | fst e | snd e | inl e | inr e | ref e | !e | reset e | sin e
        | (e, e) | () | 1.5 | x

with the precedence of ML, lowest first. `let (x, y) = e in e` and `let rec f x = e in e` are derived constructs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.terms import Deref, Fst, Inl, Inr, Ref, Reset, Snd
from shiftreset_ad.formulations.overloading import COMPARISONS, STEPS
from shiftreset_ad.rules import ELEMENTWISE


class Level(IntEnum):
    """How tightly a construct binds."""

    EXPRESSION = 0
    ASSIGNMENT = 1
    COMPARISON = 2
    SUM = 3
    PRODUCT = 4
    SIGN = 5
    APPLICATION = 6
    OPERAND = 7
    ATOM = 8


INFIX = {
    "<": (np.less, Level.COMPARISON),
    "<=": (np.less_equal, Level.COMPARISON),
    ">": (np.greater, Level.COMPARISON),
    ">=": (np.greater_equal, Level.COMPARISON),
    "==": (np.equal, Level.COMPARISON),
    "!=": (np.not_equal, Level.COMPARISON),
    "+": (np.add, Level.SUM),
    "-": (np.subtract, Level.SUM),
    "*": (np.multiply, Level.PRODUCT),
    "/": (np.divide, Level.PRODUCT),
}
INFIX_OF = {function: (symbol, level) for symbol, (function, level) in INFIX.items()}

PREFIX = {"fst": Fst, "snd": Snd, "inl": Inl, "inr": Inr, "ref": Ref, "!": Deref, "reset": Reset}
PREFIX_OF = {construct: word for word, construct in PREFIX.items()}

# Functions by their NumPy names; a function with an infix symbol has only the symbol.
FUNCTIONS: tuple[Any, ...] = (*ELEMENTWISE, *STEPS, *COMPARISONS)
PRIMITIVES: dict[str, Any] = {
    name: f
    for f in FUNCTIONS
    # SciPy has functions with the same names, which enter the table when SciPy is imported.
    if vars(np).get(name := f.__name__) is f and isinstance(f, np.ufunc) and f not in (*INFIX_OF, np.negative)
}
NUMBERS = {"inf": np.inf, "nan": np.nan}
WORDS = ("fun", "let", "rec", "in", "case", "of", "if", "then", "else", "shift")
KEYWORDS = frozenset({*WORDS, *PREFIX, *NUMBERS, *PRIMITIVES})
