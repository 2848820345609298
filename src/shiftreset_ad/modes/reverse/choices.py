"""The way back through functions that choose between their operands, `maximum` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate, accumulate_masked, summed
from shiftreset_ad.modes.reverse.unsettled import Accumulator
from shiftreset_ad.numbers.memory import read
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.masked import Choice, Masked

CHOSEN_FROM = frozenset((ndarray, Masked))  # adjoints that are taken as they are: a mask is not counted before the next


def add_chosen(x: Accumulator, choice: Choice, y_bar: Cotangent) -> None:
    """Add what `x` gets of the cotangent of the answer to the adjoint of `x`."""
    x_bar = choice.chosen(y_bar)
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
