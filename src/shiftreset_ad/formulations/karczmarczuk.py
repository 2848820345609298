"""Reverse mode by closures that call one another at once, which is exponential: a fatal flaw.

A number has a primal and a *backpropagator*, a function from the sensitivity of this number to the gradient. The
backpropagator of y = x1 * x2 calls the backpropagators of x1 and x2, and adds up their answers (Karczmarczuk 1998-2001;
Pearlmutter and Siskind name the flaw in their talks on "Lambda the Ultimate Backpropagator"):

    y_back = fun y_bar -> x1_back (y_bar * x2) + x2_back (y_bar * x1)

1.  an operation computes its answer,
2.  and a closure that holds the backpropagators of its operands;
3.  the way back calls this closure with 1. The closure calls the backpropagators of its operands one by one, and so on
    to the inputs.

It is short, has no mutation, and is correct. But if a number is used twice, its backpropagator is called twice, and so
are those of all numbers before it: each `x = x * x` in a row doubles the calls. The remedy is to add up the sensitivity
of a number *before* going on from it. Each of the papers' other constructions finds an order for that: the order of
bindings in A-normal form (Pearlmutter and Siskind), of continuations (Wang et al.), of the names of shared terms
(Krawiec et al.).

The calls nest, one for each operation on the longest way: a thousand operations in a row exceed Python's limit, and
`grad` then raises RecursionError.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeAlias

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

# The part of the gradient that is not zero: sensitivities of inputs by their places.
Sensitivities: TypeAlias = dict[int, Any]
Backpropagator: TypeAlias = Callable[[Any], Sensitivities]

LEVELS = count()


class NumK(Overloaded):
    """A number in a derivative, with the function that goes back from it; inner derivatives have higher levels."""

    __slots__ = ("back", "level", "primal")

    def __init__(self, primal: Any, back: Backpropagator, level: int) -> None:
        self.primal = primal
        self.back = back
        self.level = level

    def operate(self, function: Callable[..., Any], *operands: Any) -> NumK:
        """The answer of an operation; numbers of outer derivatives are constants to it."""
        level = max(x.level for x in operands if isinstance(x, NumK))
        active = [isinstance(x, NumK) and x.level == level for x in operands]
        xs = [x.primal if is_active else x for x, is_active in zip(operands, active, strict=True)]
        y, slopes = answer_and_partials(function, *xs, of=operands)  # 1
        edges = [(x.back, slope) for x, slope, is_active in zip(operands, slopes, active, strict=True) if is_active]

        def y_back(y_bar: Any) -> Sensitivities:  # 2
            total: Sensitivities = {}
            for x_back, slope in edges:
                for place, x_bar in x_back(y_bar * slope).items():  # 3
                    total[place] = total[place] + x_bar if place in total else x_bar
            return total

        return NumK(y, y_back, level)


def grad(f: Callable[[Any], Any] | Term) -> Callable[[Any], Any]:
    """The gradient of a function of a number or a structure of numbers, or of a term of the core language.

    Raises TypeError for a result that is not a number, and RecursionError for too many operations in a row.

    >>> grad(lambda x: x * x)(3.0)
    6.0
    """
    function = as_function(f)

    def gradient_of_f(x: Any) -> Any:
        structure, level = Structure(x), next(LEVELS)
        inputs = [NumK(number, _input(place), level) for place, number in enumerate(structure.numbers)]
        y = scalar(function(structure.with_numbers(inputs)))
        if isinstance(y, NumK) and y.level > level:
            raise ValueError("grad: the result is a number of an inner derivative, which is finished")
        try:
            sensitivities = y.back(1.0) if isinstance(y, NumK) and y.level == level else {}
        except RecursionError:
            raise RecursionError(
                "grad: calls of backpropagators nest as deep as operations follow one another, which is deeper than "
                "Python's recursion limit here; raise it, or use a formulation that does not nest"
            ) from None
        return structure.derivative([sensitivities.get(place, 0.0) for place in range(len(inputs))])

    return gradient_of_f


def _input(place: int) -> Backpropagator:
    return lambda x_bar: {place: x_bar}
