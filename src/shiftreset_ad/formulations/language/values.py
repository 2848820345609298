"""The values of the core language: numbers, `()`, tuples of two, functions, and the three kinds in this module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
REALS = (float, np.float64)  # the usual operands, for speed


def answer(primitive: Primitive, *operands: Any) -> Any:
    """The value of a primitive for these values; booleans are sums (Fig. 3, derived constructs)."""
    for x in operands:
        if type(x) not in REALS and (isinstance(x, (tuple, list, Left, Right, Cell)) or callable(x)):
            raise TypeError(f"{primitive.function.__name__}: expected real numbers; got {x!r:.60}")
    y = primitive.function(*operands)
    if primitive.is_comparison:
        return TRUE if y else FALSE
    return y


# The errors of ill-typed programs.


def require_pair(value: Any, construct: str) -> tuple[Any, Any]:
    """The value, if it is a pair; otherwise TypeError."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{construct}: expected a pair; got {value!r}")
    return value


def require_sum(value: Any) -> Left | Right:
    """The value, if it is a value of a sum; otherwise TypeError."""
    if not isinstance(value, (Left, Right)):
        raise TypeError(f"case: expected the value of inl or inr, or of a comparison; got {value!r}")
    return value


def require_cell(value: Any, construct: str) -> Cell:
    """The value, if it is a cell; otherwise TypeError."""
    if not isinstance(value, Cell):
        raise TypeError(f"{construct}: expected a reference; got {value!r}")
    return value


def require_function(value: Any) -> Callable[..., Any]:
    """The value, if it is a function; otherwise TypeError."""
    if callable(value):
        return value  # type: ignore[no-any-return]
    raise TypeError(f"application: expected a function; got {value!r}")
