"""Forward mode with tags (Wang et al. 2019, sections 2.3 to 2.5).

A number carries its tangent, and each operation applies the chain rule:

    class NumF(val x: Double, val d: Double) {
      def +(that: NumF) = new NumF(x + that.x, d + that.d)
      def *(that: NumF) = new NumF(x * that.x, d * that.x + x * that.d)
    }
    def grad(f: NumF => NumF)(x: Double) = f(new NumF(x, 1.0)).d

So far, derivatives do not nest. In d/dx (x * d/dy (x + y)), the inner derivative is along y, and must not use the
tangent of x, which is along x. To confuse them is perturbation confusion: the answer is 2 in place of 1 (2.4; Siskind
and Pearlmutter 2005). So each derivative has a tag, and a newer derivative has a greater tag. Numbered as in the code,
an operation

1.  belongs to the newest derivative among its operands; a number of another derivative is a constant to it;
2.  computes its answer and its slopes from the primals. These may be numbers of older derivatives, which differentiate
    this arithmetic in turn;
3.  applies the chain rule to the tangents of its own derivative.

It shows that derivatives of higher order need tags, and nothing else. A gradient takes a pass for each input.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import count
from operator import add
from typing import Any

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

tags = count()


class NumF(Overloaded):
    """A value, its `primal`, with its `tangent`, the derivative along the direction of one pass, and the pass's tag."""

    __slots__ = ("primal", "tag", "tangent")

    def __init__(self, primal: Any, tangent: Any, tag: int) -> None:
        self.primal = primal
        self.tangent = tangent
        self.tag = tag

    def operate(self, function: Callable[..., Any], *operands: Any) -> NumF:
        """The answer with its tangent, by the chain rule."""
        tag = max(x.tag for x in operands if isinstance(x, NumF))  # 1
        mine = [isinstance(x, NumF) and x.tag == tag for x in operands]
        primals = [x.primal if own else x for x, own in zip(operands, mine, strict=True)]
        y, slopes = answer_and_partials(function, *primals, of=operands)  # 2
        parts = [slope * x.tangent for x, slope, own in zip(operands, slopes, mine, strict=True) if own]
        return NumF(y, reduce(add, parts), tag)  # 3


def jvp(f: Callable[..., Any] | Term) -> Callable[[Any, Any], Any]:
    """The function of `x` and a direction `x_dot` of the same structure that returns the derivative of `f` along it.

    Raises TypeError where `f` does not return one number, and where `x` and `x_dot` differ in structure.

    >>> jvp(lambda x: x[0] * x[1])((2.0, 3.0), (1.0, 0.0))
    3.0
    """
    function = as_function(f)

    def derivative_along(x: Any, x_dot: Any) -> Any:
        structure, direction = Structure(x, operator="jvp"), Structure(x_dot, may_be_constant=True)
        if not direction.is_like(structure):
            raise TypeError(f"jvp: the direction {x_dot!r:.60} needs a float for each float of the argument {x!r:.60}")
        tag = next(tags)
        xs = [NumF(p, t, tag) for p, t in zip(structure.numbers, direction.numbers, strict=True)]
        return tangent_of(function(structure.with_numbers(xs)), tag, "jvp")

    return derivative_along


def tangent_of(result: Any, tag: int, operator: str) -> Any:
    """The tangent of a result; zero if it does not depend on the numbers with this tag."""
    y = scalar(result, operator)
    if not isinstance(y, NumF) or y.tag < tag:
        return 0.0
    if y.tag > tag:
        raise ValueError(f"{operator}: the result is a number of an inner derivative, which is finished")
    return y.tangent


def derivative(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The derivative of a function of one number, the paper's `grad` of 2.3.

    >>> derivative(derivative(lambda x: x * x * x))(2.0)
    np.float64(12.0)
    """
    along = jvp(f)
    return lambda x: along(x, 1.0)


def grad(f: Callable[..., Any] | Term) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument: a pass for each number in it.

    In each pass, the other numbers are constants. Raises TypeError where `f` does not return one number.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        structure = Structure(x)

        def one_pass(i: int) -> Any:
            tag, numbers = next(tags), list(structure.numbers)
            numbers[i] = NumF(numbers[i], 1.0, tag)
            return tangent_of(function(structure.with_numbers(numbers)), tag, "grad")

        return structure.derivative([one_pass(i) for i in range(len(structure.numbers))])

    return gradient
