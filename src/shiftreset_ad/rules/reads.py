"""Which values a partial derivative reads: of y = exp(x) it reads y, of y = sin(x) it reads x.

The code of the partial derivative tells. So an operation need not keep the other values for the way back.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeVar

from shiftreset_ad.rules.table import Partial

F = TypeVar("F", bound=Callable[..., Any])

_DECLARED: dict[Callable[..., Any], tuple[str, ...]] = {}


def reads(*parameters: str) -> Callable[[F], F]:
    """Declare that a partial derivative reads the elements of these parameters only, where they are arrays."""

    def declare(partial: F) -> F:
        _DECLARED[partial] = parameters
        return partial

    return declare


@lru_cache(None)
def values_read(partials: tuple[Partial, ...], operands: int) -> tuple[bool, ...]:
    """Whether some of these partial derivatives reads y; and so for each operand, of so many, of the function."""
    read = [places_read(partial, operands + 1) for partial in partials]
    return tuple([any(places) for places in zip(*read, strict=True)])


def places_read(partial: Partial, arguments: int) -> tuple[bool, ...]:
    """Whether a partial derivative reads the argument, for each of so many arguments."""
    if not callable(partial):
        return (False,) * arguments
    if not isinstance(partial, FunctionType) or partial.__code__.co_argcount < arguments:  # such as `*operands`
        return (True,) * arguments
    code = partial.__code__
    read = _DECLARED.get(partial)
    if read is None:
        read = names_in(code)
    return tuple([name in read for name in code.co_varnames[:arguments]])


def names_in(code: Any) -> tuple[str, ...]:
    """The names that the instructions of a function mention. Some instructions mention two."""
    found: list[str] = []
    for instruction in dis.get_instructions(code):
        named = instruction.argval
        found += named if isinstance(named, tuple) else [named]
    return tuple(name for name in found if isinstance(name, str))
