"""The values of the core language: numbers, `()`, tuples of two, functions, and the three kinds of this file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shiftreset_ad.formulations.language.terms import Primitive


@dataclass(frozen=True, slots=True)
class Left:
    """The value of `inl e`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Right:
    """The value of `inr e`."""

    value: Any


@dataclass(eq=False, slots=True)
class Cell:
    """The value of `ref e`: mutable, and equal to itself only."""

    content: Any


TRUE, FALSE = Left(()), Right(())


def answer(primitive: Primitive, *operands: Any) -> Any:
    """The value of a primitive for these values; booleans are sums (Fig. 3, derived constructs)."""
    y = primitive.function(*operands)
    if primitive.is_comparison:
        return TRUE if y else FALSE
    return y
