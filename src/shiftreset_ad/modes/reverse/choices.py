"""Functions that choose between their operands, `maximum` and its kin.

Such a function is linear wherever it has a derivative. Of arrays of doubles, the choice is made as soon as the value is
computed, once for all levels of a number, and no operand is kept for the way back (`operation_by_choice`). Anything
else, such as a scalar, goes the way of elementwise operations, and chooses on the way back (`pulls_of_choice`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.notes import FUNCTION_OF
from shiftreset_ad.control import GreenletError, Operation, here
from shiftreset_ad.modes.reverse.adjoints import accumulate, accumulate_masked, summed
from shiftreset_ad.modes.reverse.memory import waiting
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.modes.reverse.shells import SMALL, with_shell
from shiftreset_ad.modes.reverse.unsettled import Accumulator
from shiftreset_ad.numbers.linear_maps import levels_down
from shiftreset_ad.numbers.memory import read
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import FLOAT64
from shiftreset_ad.rules.masked import Choice, Masked

new = object.__new__

CHOSEN_FROM = frozenset((ndarray, Masked))  # adjoints that are taken as they are: a mask is not counted before the next


def add_chosen(x: Accumulator, choice: Choice, y_bar: Cotangent) -> None:
    """Add what `x` gets of the cotangent of the answer to the adjoint of `x`."""
    x_bar = y_bar.mapped(choice.pullback) if issubclass(type(y_bar), Number) else choice.pullback(y_bar)
    if type(x_bar) is Masked:
        accumulate_masked(x, x_bar)
    else:
        accumulate(x, x_bar, x_bar is not y_bar)


def plain(*values: Any) -> Any:
    """The plain values of an answer and its operands, by which the elements were chosen."""
    return [x if type(x) is ndarray else read(x) for x in values]


def pulls_of_choice(
    partial_a: Callable[..., Choice], partial_b: Callable[..., Choice]
) -> list[tuple[Callable[..., None], ...]]:
    """The ways back through y = maximum(a, b), say, for both operands active, for `a` alone, and for `b` alone.

    Each is for scalars, for scalars that are numbers, and for small and large arrays. A scalar that was not chosen must
    get no adjoint at all. A choice depends on plain values only, at every level.
    """

    def pull_both(operation: Operation) -> None:
        _, y, a, b = operation
        pull_both_arrays((*operation, y.primal, a.primal, b.primal))

    def pull_a(operation: Operation) -> None:
        _, y, a, b = operation
        pull_a_array((*operation, y.primal, a.primal, b))

    def pull_b(operation: Operation) -> None:
        _, y, a, b = operation
        pull_b_array((*operation, y.primal, a, b.primal))

    def pull_both_arrays(operation: Operation) -> None:
        _, y, a, b, r, p, q = operation
        y_bar = y.adjoint
        if type(y_bar) in CHOSEN_FROM or (y_bar := summed(y)) is not ZERO:
            if type(r) is not ndarray:
                r, p, q = plain(r, p, q)
            add_chosen(a, partial_a(r, p, q), y_bar)
            add_chosen(b, partial_b(r, p, q), y_bar)

    def pull_a_array(operation: Operation) -> None:
        _, y, a, _, r, p, q = operation
        y_bar = y.adjoint
        if type(y_bar) in CHOSEN_FROM or (y_bar := summed(y)) is not ZERO:
            if type(r) is not ndarray:
                r, p, q = plain(r, p, q)
            add_chosen(a, partial_a(r, p, q), y_bar)

    def pull_b_array(operation: Operation) -> None:
        _, y, _, b, r, p, q = operation
        y_bar = y.adjoint
        if type(y_bar) in CHOSEN_FROM or (y_bar := summed(y)) is not ZERO:
            if type(r) is not ndarray:
                r, p, q = plain(r, p, q)
            add_chosen(b, partial_b(r, p, q), y_bar)

    scalars, arrays = (pull_both, pull_a, pull_b), (pull_both_arrays, pull_a_array, pull_b_array)
    return [(scalar, scalar, array, array) for scalar, array in zip(scalars, arrays, strict=True)]


def operation_by_choice(
    function: Callable[[Any, Any], Any], choose: Callable[..., Choice], otherwise: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """The operation for y = function(a, b), linear in its numbers where the plain values are arrays of doubles.

    `choose(y, a, b)` is the partial derivative in `a`, and also that in `b`, as `choose(y, b, a)`.
    """

    def pull(operation: Operation) -> None:
        _, y, x, choice = operation
        y_bar = y.adjoint
        if type(y_bar) in CHOSEN_FROM:
            x_bar = choice.pullback(y_bar)  # the steps of `add_chosen`, for speed
            if type(x_bar) is Masked:
                accumulate_masked(x, x_bar)
            else:
                accumulate(x, x_bar, x_bar is not y_bar)
        elif (y_bar := summed(y)) is not ZERO:
            add_chosen(x, choice, y_bar)

    def pull_both(operation: Operation) -> None:
        _, y, a, b, choice_of_a, choice_of_b = operation
        y_bar = y.adjoint
        if type(y_bar) in CHOSEN_FROM or (y_bar := summed(y)) is not ZERO:
            add_chosen(a, choice_of_a, y_bar)
            add_chosen(b, choice_of_b, y_bar)

    FUNCTION_OF.update({pull: function, pull_both: function})

    def operate(a: Any, b: Any) -> Any:
        is_first = type(a) is NumR
        x, other = (a, b) if is_first else (b, a)
        levels: Any = ()  # below `x`
        value, tag = x.primal, x.tag
        if type(value) is not ndarray:
            if not issubclass(type(value), Number):
                return otherwise(a, b)
            if value.takes_maps and type(value.primal) is ndarray:  # the steps of `levels_down`, for speed
                levels, value = (value,), value.primal
            else:
                (_, *levels), value = levels_down(x)
            if type(value) is not ndarray:
                return otherwise(a, b)
        kind, second = type(other), None
        if kind is float or kind is int:
            other = np.array(other, FLOAT64)  # at once, as NumPy would make an array of it each time
        elif kind is NumR and not levels and other.tag is tag and type(other.primal) is ndarray:
            second, other = other, other.primal
        elif kind is not ndarray:
            return otherwise(a, b)
        if value.dtype is not FLOAT64 or other.dtype is not FLOAT64:
            return otherwise(a, b)
        answer = function(value, other) if is_first else function(other, value)
        if type(answer) is not ndarray:
            return otherwise(a, b)
        choice = choose(answer, value, other)
        is_large = answer.size > SMALL
        if levels:
            for level in reversed(levels):
                level.tag.site = function
                answer = level.carried(answer, choice)
        y = held = new(NumR)  # and not NumR(answer, ZERO, tag), to spare the call of __init__
        y.primal, y.adjoint, y.tag = answer, ZERO, tag
        if tag.has_shells or is_large:
            held, x = with_shell(y), waiting(x, False)
        if second is None:
            operation: Operation = (pull, held, x, choice)
        else:
            operation = (pull_both, held, x, waiting(second, False), choice, choose(answer, other, value))
        try:
            if tag.capture(here(), operation):
                raise tag.misplaced()
        except GreenletError:
            raise tag.misplaced() from None
        return y

    return operate
