"""Types of the core language (Krawiec et al. 2022, Fig. 1): a type is a kind, and the types that are its parts.

    A ::= R | K | A * B | A + B | A -> B | M A          K ::= Z | String | 1

The unit 1 counts as discrete; the paper leaves it out for brevity. References are of Wang et al.'s language. A kind
that begins with an apostrophe, as in `'a -> M 'a`, is a type variable: it stands for every type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INFIX = {"->": 0, "+": 1, "*": 2}  # kinds of two parts, and how tightly they bind


@dataclass(frozen=True, slots=True)
class Type:
    """A type: `Type("*", (REAL, REAL))` is R * R.

    >>> print(function(product(REAL, INTEGER), REAL))
    R * Z -> R
    """

    kind: str
    parts: tuple[Any, ...] = ()

    @property
    def is_discrete(self) -> bool:
        """Whether its values never have real numbers in them, and are no structures: Z, String, 1."""
        return self in (INTEGER, STRING, UNIT)

    @property
    def is_first_order(self) -> bool:
        """Whether its values are data, without functions and computations in them."""
        return self.kind not in ("->", "M") and all(part.is_first_order for part in self.parts)

    def __str__(self) -> str:
        return self._text(0)

    def _text(self, level: int) -> str:
        if self.kind not in INFIX:
            return " ".join((self.kind, *(part._text(3) for part in self.parts)))
        own = INFIX[self.kind]
        left, right = self.parts
        levels = (own + 1, own) if self.kind == "->" else (own, own + 1)
        text = f"{left._text(levels[0])} {self.kind} {right._text(levels[1])}"
        return f"({text})" if own < level else text


REAL, INTEGER, STRING, UNIT = Type("R"), Type("Z"), Type("String"), Type("1")


def product(first: Type, second: Type) -> Type:
    """A * B"""
    return Type("*", (first, second))


def either(left: Type, right: Type) -> Type:
    """A + B"""
    return Type("+", (left, right))


def function(argument: Type, *results: Type) -> Type:
    """A -> B, and A -> B -> C for three types."""
    first, *rest = results
    return Type("->", (argument, function(first, *rest) if rest else first))


def reference(content: Type) -> Type:
    """ref A"""
    return Type("ref", (content,))


BOOLEAN = either(UNIT, UNIT)
