"""`Rows`: a value of each row of a batch, all of one shape, along the first axis of one array.

It stands for a value where a function works on all rows at once: the ways of `modes/stacks` take it as they take a
`Stack`, and `ways` has more. The array may be a number that is being differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.modes.stacks.number import lined_up_rows
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.stand_ins import Wrapped


class Rows:
    """Values of one shape, along the first axis of `rows`."""

    __slots__ = ("rows",)

    def __init__(self, rows: Primal) -> None:
        self.rows = rows

    shape = property(lambda self: shape_of(self.rows)[1:], doc="Of each value.")
    dtype = property(lambda self: dtype_of(self.rows), doc="Of each value.")
    size = property(lambda self: math.prod(self.shape), doc="Of each value.")

    def has(self, x: Any) -> bool:
        """Whether `x` has a value for each row."""
        return type(x) is Rows

    def like(self, rows: Primal) -> Rows:
        """Other values for the same rows."""
        return Rows(rows)

    def lined_up(self, x: Any, ndim: int) -> Any:
        """The rows of `x`, such that they broadcast against values of `ndim` axes; a value for all rows as it is."""
        return lined_up(x, ndim)

    def all_rows(self, x: Any) -> Any:
        """The rows of `x`; of a value for all rows, as many copies as there are rows."""
        if type(x) is Rows:
            return x.rows
        return np.broadcast_to(x, shape_of(self.rows)[:1] + shape_of(x))


def lined_up(x: Any, ndim: int) -> Any:
    """The rows of `x`, such that they broadcast against values of `ndim` axes; a value for all rows as it is."""
    return lined_up_rows(x.rows, ndim) if type(x) is Rows else x


def rows_in(argument: Any) -> list[Rows]:
    """The `Rows` in an argument: itself, or in a list, a tuple or a slice."""
    kind = type(argument)
    if kind is Rows:
        return [argument]
    if kind is slice:
        return rows_in((argument.start, argument.stop, argument.step))
    return [x for part in argument for x in rows_in(part)] if kind in SEQUENCES else []


def elementwise(function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """The rows of an elementwise function of these operands; None if an operand is a list, or an option differs."""
    if any(type(x) in SEQUENCES for x in operands) or rows_in(list(options.values())):
        return None
    ndim = max(len(shape_of(x)) for x in operands)
    return function(*[lined_up(x, ndim) for x in operands], **options)


def mapped(function: Callable[[Rows], Any], argument: Any) -> Any:
    """An argument with `function` applied to each `Rows` in it."""
    kind = type(argument)
    if kind is Rows:
        return function(argument)
    if kind is slice:
        return slice(*[mapped(function, part) for part in (argument.start, argument.stop, argument.step)])
    return kind([mapped(function, part) for part in argument]) if kind in SEQUENCES else argument


def row(argument: Any, k: int) -> Any:
    """An argument of row `k`. An array is a view of the rows."""
    return mapped(lambda x: x.rows[k], argument)


def stacked(answers: list[Any]) -> Any:
    """The answers of all rows, along a new first axis; of tuples or lists, a tuple or a list of these."""
    first = answers[0]
    if isinstance(first, tuple | list):
        return of_parts(first, [stacked(list(parts)) for parts in zip(*answers, strict=True)])
    if not any(isinstance(answer, Number | Wrapped) for answer in answers):
        return np.array(answers)
    return np.stack(answers)


def of_parts(like: Any, parts: list[Any]) -> Any:
    """A list, a tuple or a named tuple `like` another one, of these parts."""
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
