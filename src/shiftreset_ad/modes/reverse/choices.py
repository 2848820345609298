"""The way back through functions that choose between their operands, `maximum` and its kin."""

from __future__ import annotations

from collections.abc import Callable

from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate, summed
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.rules.masked import Choice


def pulls_of_choice(
    partial_a: Callable[..., Choice], partial_b: Callable[..., Choice]
) -> tuple[Callable[..., None], ...]:
    """The ways back through y = maximum(a, b), say, for both operands active, for `a` alone, and for `b` alone.

    They serve values of all kinds. A scalar that was not chosen must get no adjoint at all.
    """

    def pull_both(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = summed(y)
        if y_bar is not ZERO:
            p, q, r = a.primal, b.primal, y.primal
            accumulate(a, partial_a(r, p, q).chosen(y_bar), True)
            accumulate(b, partial_b(r, p, q).chosen(y_bar), True)

    def pull_a(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = summed(y)
        if y_bar is not ZERO:
            accumulate(a, partial_a(y.primal, a.primal, b).chosen(y_bar), True)

    def pull_b(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = summed(y)
        if y_bar is not ZERO:
            accumulate(b, partial_b(y.primal, a, b.primal).chosen(y_bar), True)

    return pull_both, pull_a, pull_b
