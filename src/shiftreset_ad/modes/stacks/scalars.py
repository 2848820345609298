"""A few scalars at once, kept as floats: for so few, Python's arithmetic takes less time than a call of NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import repeat
from typing import Any

import numpy as np
from numpy import float64

from shiftreset_ad.modes.stacks import elementwise
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import Elementwise
from shiftreset_ad.rules.broadcasting import FLOAT64

FEW = 8  # scalars, up to which their arithmetic takes less time than a call of NumPy

new = object.__new__
ROWS: Any = Stack.__dict__["rows"]


class ScalarStack(Stack):
    """A stack of `floats`. Their array is made when it is asked for; nobody can write to it.

    It is multiplied, added and subtracted by floats, and by its like, as floats; for all else it is like any stack.
    """

    __slots__ = ("floats",)

    def __init__(self, floats: tuple[float, ...], tag: Tag) -> None:
        self.floats = floats
        self.tag = tag

    shape = property(lambda self: (), doc="Of each value.")
    dtype = property(lambda self: FLOAT64, doc="Of each value.")

    @property
    def rows(self) -> Any:
        """The array of the floats."""
        try:
            return ROWS.__get__(self)
        except AttributeError:
            rows = np.array(self.floats)
            rows.flags.writeable = False
            ROWS.__set__(self, rows)
            return rows

    inside = rows


ARITHMETIC: dict[Any, Callable[..., float]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
}
ARITHMETIC |= {function: function for function in ARITHMETIC.values()}


def make_operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation of any stack, but for sums, differences and products, which raise no error for any floats."""
    general = elementwise.make_operation(rule, function)
    of_floats = ARITHMETIC.get(function)
    if of_floats is None:
        return general

    def operate(a: Any, b: Any) -> Any:
        if type(a) is ScalarStack:
            tag, floats = a.tag, a.floats
            if type(b) is ScalarStack and b.tag is tag:
                floats = tuple(map(of_floats, floats, b.floats))
            elif type(b) is float or type(b) is float64:
                floats = tuple(map(of_floats, floats, repeat(float(b))))
            else:
                return general(a, b)
        elif type(a) is float or type(a) is float64:
            tag, floats = b.tag, tuple(map(of_floats, repeat(float(a)), b.floats))
        else:
            return general(a, b)
        if tag.capture is tag.closed:
            tag.require_open()  # raises
        y = new(ScalarStack)  # and not ScalarStack(floats, tag), to spare the call of __init__
        y.floats, y.tag = floats, tag
        return y

    return operate


def multiplied(self: ScalarStack, factor: Any) -> Any:
    """`factor * self`: a partial derivative times a tangent or cotangent, without a call between."""
    if type(factor) is not float:
        return self.operations[np.multiply](factor, self)
    tag = self.tag
    if tag.capture is tag.closed:
        tag.require_open()  # raises
    y = new(ScalarStack)
    y.floats, y.tag = tuple(map(factor.__mul__, self.floats)), tag
    return y


def negated(self: ScalarStack) -> ScalarStack:
    self.tag.require_open()
    return ScalarStack(tuple(map(operator.neg, self.floats)), self.tag)
