"""Vectors of perturbations that are put off: another rendition (Pearlmutter and Siskind 2008, section 6).

Karczmarczuk (1998-2001) computes gradients by lazy forward mode. Pearlmutter and Siskind give the construction in two
lines. A number carries a perturbation for each of the n inputs. A perturbation v is not a number, but the function
fun z -> v * z, an R~ number. Such functions are only scaled and added:

    x * y = fun z -> y (x * z)                  a number times an R~ number                             1.
    x + y = fun z -> x z + y z                  the sum of two R~ numbers                               2.
    u (x, xs')  = (u x, each x' in xs' becomes  D u x * x')
    b (x, xs') (y, ys') = (b x y, each pair x', y' becomes  D1 b x y * x' + D2 b x y * y')

All arithmetic on perturbations waits until the R~ numbers of the result are applied to 1. The i-th input starts with
fun z -> 1 * z at the place i, and with fun z -> 0 * z at the other places.

The gradients are right, and the computation is not that of reverse mode: each operation costs as much as there are
inputs, and a number that is used twice is called twice, by step 2. So each `x = x * x` in a row doubles the calls, as
in `karczmarczuk`, which has a backpropagator for a number and no vector. Reverse mode has neither cost.
Here derivatives nest by levels, which the paper's two lines have not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import count
from typing import Any, TypeAlias, TypeGuard

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

# fun z -> v * z, for a perturbation v: the R~ numbers of the paper.
Deferred: TypeAlias = Callable[[Any], Any]

LEVELS = count()


def times(x: Any, y: Deferred) -> Deferred:
    """A number times an R~ number."""
    return lambda z: y(x * z)  # 1


def plus(x: Deferred, y: Deferred) -> Deferred:
    """The sum of two R~ numbers."""
    return lambda z: x(z) + y(z)  # 2


class NumD(Overloaded):
    """A number in a derivative, with an R~ number for each input; inner derivatives have higher levels."""

    __slots__ = ("level", "perturbations", "primal")

    def __init__(self, primal: Any, perturbations: list[Deferred], level: int) -> None:
        self.primal = primal
        self.perturbations = perturbations
        self.level = level

    def operate(self, function: Callable[..., Any], *operands: Any) -> NumD:
        """The answer and its perturbations; numbers of outer derivatives are constants to it."""
        level = max(x.level for x in operands if isinstance(x, NumD))
        primals = [x.primal if _belongs(x, level) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)
        rows = [
            [times(slope, x_dot) for x_dot in x.perturbations]
            for x, slope in zip(operands, slopes, strict=True)
            if _belongs(x, level)
        ]
        return NumD(y, [reduce(plus, column) for column in zip(*rows, strict=True)], level)


def _belongs(x: Any, level: int) -> TypeGuard[NumD]:
    return isinstance(x, NumD) and x.level == level


def grad(f: Callable[[Any], Any] | Term) -> Callable[[Any], Any]:
    """The gradient of a function of a number or a structure of numbers, or of a term of the core language.

    Raises TypeError for a result that is not a number, and RecursionError for too many operations in a row.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)

    def gradient_of_f(x: Any) -> Any:
        structure, level = Structure(x), next(LEVELS)
        places = range(len(structure.numbers))
        inputs = [NumD(number, _one_hot(i, len(places)), level) for i, number in enumerate(structure.numbers)]
        y = scalar(function(structure.with_numbers(inputs)))
        if isinstance(y, NumD) and y.level > level:
            raise ValueError("grad: the result is a number of an inner derivative, which is finished")
        try:
            row = [y_dot(1.0) for y_dot in y.perturbations] if _belongs(y, level) else [0.0 for _ in places]
        except RecursionError:
            raise RecursionError(
                "grad: calls of perturbations nest as deep as operations follow one another, which is deeper than "
                "Python's recursion limit here; raise it, or use a formulation that does not nest"
            ) from None
        return structure.derivative(row)

    return gradient_of_f


def _one_hot(i: int, n: int) -> list[Deferred]:
    return [_constant(1.0 if i == j else 0.0) for j in range(n)]


def _constant(v: float) -> Deferred:
    return lambda z: v * z
