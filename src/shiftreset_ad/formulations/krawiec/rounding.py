"""Rounding: how far the floating-point result of a function may be from the exact one, to first order.

Krawiec et al. 2022, section 8.4, says that the correctness of reverse mode is about real numbers, and leaves an
analysis of sensitivity to rounding to future work. This is a small one of ours. Each operation has a name, as in
`sharing`. So it has a sensitivity, which says how far an error of its answer moves the result.

    y = op(x1, x2) (1 + e),   |e| <= u = 2^-53        an operation rounds its exact answer once
    |error of the result| <= u * sum |y_bar * y|      the sum is over the operations; terms of order u^2 are left out

A negation is exact, and so is a constant. The bound holds for IEEE operations; for functions such as the sine it holds
as far as they are rounded correctly. The bound is for the path that the program took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

UNIT_ROUNDOFF = 2.0**-53
EXACT = (np.negative, np.absolute, np.positive)


class Binding(NamedTuple):
    """A name: the operation, its answer, and the names of its operands with the slopes."""

    function: Callable[..., Any] | None  # None for an input
    value: Any
    parts: list[tuple[int, Any]]


class Number(Overloaded):
    """A `primal`, and its name: its place in the bindings of the call."""

    __slots__ = ("bindings", "name", "primal")

    def __init__(self, primal: Any, bindings: list[Binding], function: Any, parts: list[tuple[int, Any]]) -> None:
        self.primal, self.bindings, self.name = primal, bindings, len(bindings)
        bindings.append(Binding(function, primal, parts))

    def operate(self, function: Callable[..., Any], *operands: Any) -> Number:
        """The answer, with a new name."""
        if any(isinstance(x, Number) and x.bindings is not self.bindings for x in operands):
            raise TypeError(
                "rounding: an operation has numbers of two calls; a bound inside another one is not possible"
            )
        primals = [x.primal if isinstance(x, Number) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)
        named = zip(operands, slopes, strict=True)
        return Number(y, self.bindings, function, [(x.name, slope) for x, slope in named if isinstance(x, Number)])


class Rounded(NamedTuple):
    """A result, the bound for its error, and the share of each operation in the bound, the largest share first."""

    value: float
    bound: float
    shares: list[tuple[str, float]]


def rounding(f: Term | Callable[[Any], Any], inputs_are_rounded: bool = False) -> Callable[[Any], Rounded]:
    """The function that returns the result of `f` with a bound for its rounding error.

    Inputs are taken as exact, unless `inputs_are_rounded`: then each of them has an error of its own.

    >>> rounding(lambda x: (1.0 + x) - 1.0)(1e-10).bound > 1000 * rounding(lambda x: x * 1.5)(1e-10).bound
    True
    """
    function = as_function(f)

    def with_bound(x: Any) -> Rounded:
        structure, bindings = Structure(x, operator="rounding"), list[Binding]()
        xs = [Number(float(primal), bindings, None, []) for primal in structure.numbers]
        y = scalar(function(structure.with_numbers(xs)), "rounding")
        if not isinstance(y, Number):
            return Rounded(float(y), 0.0, [])
        sensitivities = way_back(bindings, y.name)
        shares = [
            (binding.function.__name__ if binding.function else "input", UNIT_ROUNDOFF * abs(y_bar * binding.value))
            for binding, y_bar in zip(bindings, sensitivities, strict=True)
            if (inputs_are_rounded if binding.function is None else binding.function not in EXACT)
        ]
        shares.sort(key=lambda share: -share[1])
        return Rounded(float(y.primal), float(sum(share for _, share in shares)), shares)

    return with_bound


def way_back(bindings: list[Binding], result: int) -> list[Any]:
    """The sensitivity of each name: each binding is visited once, the last one first."""
    sensitivities = [0.0] * len(bindings)
    sensitivities[result] = 1.0
    for name in reversed(range(result + 1)):
        for part, slope in bindings[name].parts:
            sensitivities[part] += slope * sensitivities[name]
    return sensitivities
