"""An operation with a single active operand, whose answer is a small array, or a scalar, in double precision.

Most structured operations are such, and of a small array, the calls cost more than the arithmetic. So these have the
steps of `backpropagation`, without a list of operands. Any other answer goes there.
"""

from __future__ import annotations

from typing import Any

from numpy import float64, ndarray

from shiftreset_ad.control import GreenletError, Operation, here
from shiftreset_ad.modes.reverse.adjoints import accumulate, add, contribute, cotangent
from shiftreset_ad.modes.reverse.backpropagation import operation
from shiftreset_ad.modes.reverse.memory import Window, window
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.modes.reverse.shells import SMALL, Shell
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.rules import LinearMap
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import FLOAT64
from shiftreset_ad.rules.masked import Masked, through

new = object.__new__

OF_LARGE = frozenset((Shell, Window))  # adjoints of numbers that are large, or may be views of large ones


def operation_on_one(x: NumR, answer: Primal, linear_map: LinearMap) -> Any:
    """`operation`, where `x` is the only active operand."""
    tag: Any = x.tag
    array = answer.inside if issubclass(type(answer), Number) else answer
    is_array = type(array) is ndarray
    if (array.dtype is not FLOAT64 or array.size > SMALL if is_array else type(array) is not float64) or (
        tag.has_shells and type(x.adjoint) in OF_LARGE
    ):
        return operation(tag, answer, [(x, linear_map)])
    y = new(NumR)  # and not NumR(answer, ZERO, tag), to spare the call of __init__
    y.primal, y.adjoint, y.tag = answer, ZERO, tag
    if is_array and array.base is not None:
        y.adjoint = window(array, x, None, linear_map) or ZERO
    site, tag.site = tag.site, None
    try:
        if tag.capture(here(), (pull_one, y, x, linear_map, site)):
            raise tag.misplaced()
    except GreenletError:
        raise tag.misplaced() from None
    return y


def pull_one(operation: Operation) -> None:
    """`pull`, for a single active operand."""
    _, y, x, linear_map, site = operation
    y_bar = y.adjoint
    kind = type(y_bar)
    if linear_map.factors is None:
        if kind is ndarray or kind is float64:
            x_bar = linear_map.pullback(y_bar)
            if type(x_bar) is ndarray:
                accumulate(x, x_bar, (x_bar.base is None and x_bar is not y_bar) or linear_map.makes_new)
            else:
                add(x, x_bar)
            return
        if issubclass(kind, Number):
            add(x, y_bar.mapped(linear_map.pullback) if linear_map.is_constant else linear_map.pullback(y_bar))
            return
    if kind is not ndarray and kind is not float64:
        y_bar = cotangent(y, linear_map.chooses or callable(site))
        if type(y_bar) is Masked:
            add(x, linear_map.pullback(y_bar) if linear_map.chooses else through(linear_map, y_bar))
            return
    if y_bar is not None:
        contribute([(x, linear_map)], y_bar)
