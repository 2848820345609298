"""`Stack`: a number that stands for many values of one shape, such as many directions at once.

A derivative is linear in its direction, so a Jacobian is the derivative along all unit directions. A `Stack` of them
goes through the rules as a single tangent or cotangent does, and each operation works on all of them: one pass, instead
of one for each column or row.

Most functions in linear maps have a way to work on all rows at once (`at_once`). Any other function is called row by
row. The values in a stack differ, so a question about *the* value is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NoReturn

import numpy as np

from shiftreset_ad.numbers.dispatch import name_of
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.number import map_numbers, put
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import Structured
from shiftreset_ad.rules.annotations import Direction, Primal
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.indexing import BASIC
from shiftreset_ad.rules.numpy.shapes import OF_THE_SHAPE

LARGE = 4096  # elements of a row, from which the passes over memory take longer than the calls of NumPy


class Stack(ArrayNumber):
    """Values of one shape, along the first axis of `rows`; `tag` is the tag of the call that stacked them."""

    __slots__ = ("rows", "tag")
    has_one_value = False
    at_once: ClassVar[dict[Callable[..., Any], Callable[..., Any]]]  # how functions work on all rows

    def __init__(self, rows: Direction, tag: Tag) -> None:
        self.rows = rows
        self.tag = tag

    shape = property(lambda self: shape_of(self.rows)[1:], doc="Of each value.")
    dtype = property(lambda self: self.rows.dtype, doc="Of each value.")

    @property
    def primal(self) -> NoReturn:
        """There is none: the values differ."""
        raise TypeError(
            "the value of a tangent or cotangent was asked for, while many of them are computed at once for a Jacobian "
            "or a Hessian. A derivative is linear in it: multiply by it and add, and do not branch on it"
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __repr__(self) -> str:
        return f"Stack({self.rows!r}, level={self.tag.level})"

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any = None) -> Any:
        self.tag.require_open()
        if rule.function in self.at_once:
            rows = self.at_once[rule.function](self, *args, **kwargs)
            if rows is not None:
                return Stack(rows, self.tag)
        return self.row_by_row(rule.function, *args, **kwargs)

    def row_by_row(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `function` for each row, and stack the answers."""
        answers = [
            function(*(self.row(arg, k) for arg in args), **{name: self.row(arg, k) for name, arg in kwargs.items()})
            for k in range(shape_of(self.rows)[0])
        ]
        if isinstance(answers[0], tuple | list):
            return type(answers[0])(Stack(np.stack(parts), self.tag) for parts in zip(*answers, strict=True))
        return Stack(np.stack(answers), self.tag)

    def row(self, arg: Any, k: int) -> Any:
        """An argument, with row `k` for every stack in it of this call."""
        return map_numbers(lambda x: x.rows[k] if self.has(x) else x, arg)

    def lifted(self, constant: Primal) -> Stack:
        if type(constant) is not np.ndarray:
            return Stack(np.copy(self.all_rows(constant), order="C"), self.tag)
        # Each row has the layout of the constant, so that a view of the constant is a view here, too.
        order = np.argsort([-stride for stride in constant.strides], kind="stable")
        rows = np.empty((shape_of(self.rows)[0], *(constant.shape[i] for i in order)), constant.dtype)
        rows = np.transpose(rows, (0, *(np.argsort(order) + 1)))
        rows[...] = constant
        return Stack(rows, self.tag)

    def taken(self, index: Any) -> Any:
        return +self[index]

    def write(self, index: Any, item: Any) -> None:
        """Write to all rows at once, where the index allows it."""
        self.tag.require_open()
        place = after_rows(index)
        if place is not None:
            ndim = np.broadcast_to(0.0, shape_of(self.rows))[place].ndim - 1
            put(self.rows, place, fitted_rows(item.rows, ndim) if self.has(item) else item)
            return
        for k in range(shape_of(self.rows)[0]):
            put(self.rows, (k, *(index if isinstance(index, tuple) else (index,))), self.row(item, k))

    def constant(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function not in OF_THE_SHAPE:
            asked = name_of(args[1] if function is constant_of else function)
            raise TypeError(
                f"{asked} of a tangent or cotangent: a derivative is linear in it, and this function is not"
            )
        return function(*(self.row(arg, 0) for arg in args), **{name: self.row(arg, 0) for name, arg in kwargs.items()})

    def plus_product(self, factor: Any, x: Any) -> Any:
        """`self + factor * x`, in the memory of these rows, which nobody else has; a new stack where that cannot be.

        One row of the product is made after another, in memory that stays in the processor's cache.
        """
        rows, others = self.rows, x.rows if type(x) is Stack and x.tag is self.tag else None
        if (
            type(rows) is type(others) is type(factor) is np.ndarray
            and factor.size >= LARGE
            and rows.shape == others.shape == (len(rows), *factor.shape)
            and rows.dtype == others.dtype == factor.dtype
        ):
            self.tag.require_open()
            product = np.empty_like(factor)
            for row, other in zip(rows, others, strict=True):
                np.add(row, np.multiply(factor, other, out=product), out=row)
            return self
        return self + factor * x

    def like(self, rows: Direction) -> Stack:
        """Other values of the same call."""
        return Stack(rows, self.tag)

    def has(self, x: Any) -> bool:
        """Whether `x` is a stack of the same call."""
        return issubclass(type(x), Stack) and x.tag is self.tag

    def lined_up(self, x: Any, ndim: int) -> Any:
        """The rows of `x`, if it is a stack of this call, such that they broadcast against values of `ndim` axes."""
        return lined_up_rows(x.rows, ndim) if self.has(x) else x

    def all_rows(self, x: Direction) -> Direction:
        """The rows of `x`; of a constant, as many copies as this stack has rows."""
        if self.has(x):
            return x.rows
        return np.broadcast_to(x, shape_of(self.rows)[:1] + shape_of(x))


Stack.inside = Stack.rows  # type: ignore[method-assign,misc]  # as a slot, which takes no call


def lined_up_rows(rows: Any, ndim: int) -> Any:
    """Rows such that they broadcast against values of `ndim` axes."""
    shape = shape_of(rows)
    missing = ndim + 1 - len(shape)
    return np.reshape(rows, shape[:1] + (1,) * missing + shape[1:]) if missing > 0 else rows


def fitted_rows(rows: Any, ndim: int) -> Any:
    """Rows as they are written to places of `ndim` axes: NumPy leaves out the first axes of an item that has more."""
    shape = shape_of(rows)
    surplus = len(shape) - 1 - ndim
    return np.reshape(rows, shape[:1] + shape[1 + surplus :]) if surplus > 0 else lined_up_rows(rows, ndim)


SLICES = (slice, type(None), type(Ellipsis))


def after_rows(index: Any) -> tuple[Any, ...] | None:
    """An index of one value as an index of all rows; None if a slice parts its arrays: NumPy then moves axes.

    `True` and `False` count as arrays: they are masks without dimensions.
    """
    parts = index if isinstance(index, tuple) else (index,)
    sliced = [isinstance(part, SLICES) for part in parts]
    inner = sliced[sliced.index(False) : len(sliced) - sliced[::-1].index(False)] if False in sliced else []
    if any(inner) and not all(isinstance(part, BASIC) and not isinstance(part, bool) for part in parts):
        return None
    return (slice(None), *parts)
