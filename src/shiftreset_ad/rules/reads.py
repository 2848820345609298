"""Which values a partial derivative reads: of y = exp(x) it reads y, of y = sin(x) it reads x.

The code of the partial derivative tells. So an operation need not keep the other values for the way back.
"""

from __future__ import annotations

from collections.abc import Callable
from dis import opname
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, TypeVar

from shiftreset_ad.rules.table import Partial

F = TypeVar("F", bound=Callable[..., Any])

OF_ONE_LOCAL = frozenset(code for code, name in enumerate(opname) if name.count("_FAST") == 1)
OF_TWO_LOCALS = frozenset(code for code, name in enumerate(opname) if name.count("_FAST") == 2)

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
    read = _DECLARED[partial] if partial in _DECLARED else names_in(code)
    return tuple([name in read for name in code.co_varnames[:arguments]])


def names_in(code: CodeType) -> set[str]:
    """The local names that the instructions of a function mention.

    `dis.get_instructions` would tell, too. It also renders each instruction as text, for 5 ms of the import.
    """
    mentioned = set()
    instructions = code.co_code
    for opcode, argument in zip(instructions[::2], instructions[1::2], strict=True):
        if opcode in OF_ONE_LOCAL:
            mentioned.add(argument)
        elif opcode in OF_TWO_LOCALS:
            mentioned.update((argument >> 4, argument & 15))
    of_nested_functions = code.co_cellvars
    return {name for place, name in enumerate(code.co_varnames) if place in mentioned or name in of_nested_functions}
