"""Discrete values (Krawiec et al. 2022, Fig. 1): integers have a type of their own, and derivatives leave them alone.

A Python integer in a program is a real number that is held constant, as everywhere in the library. The integer 3 of the
type Z is `Integer(3)`. Its primitives are beside those on real numbers, as the paper has +_Z beside +_R.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.formulations.language.types import BOOLEAN, INTEGER, STRING, Type
from shiftreset_ad.formulations.language.values import FALSE, TRUE


class Integer:
    """A value of the type Z. It is no dataclass, as structured arguments take dataclasses apart."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, that: object) -> bool:
        return isinstance(that, Integer) and self.value == that.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Integer({self.value})"


def plus_z(a: Integer, b: Integer) -> Integer:
    """a +_Z b"""
    return Integer(a.value + b.value)


def times_z(a: Integer, b: Integer) -> Integer:
    """a *_Z b"""
    return Integer(a.value * b.value)


def less_z(a: Integer, b: Integer) -> Any:
    """a <_Z b: `inl ()` for true."""
    return TRUE if a.value < b.value else FALSE


def append(a: str, b: str) -> str:
    """One string after the other."""
    return a + b


# The types of their operands, and of the answer.
DISCRETE: dict[Callable[..., Any], tuple[Type, ...]] = {
    plus_z: (INTEGER, INTEGER, INTEGER),
    times_z: (INTEGER, INTEGER, INTEGER),
    less_z: (INTEGER, INTEGER, BOOLEAN),
    append: (STRING, STRING, STRING),
}
