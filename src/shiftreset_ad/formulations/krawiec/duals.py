"""Forward mode by dual numbers (Krawiec et al. 2022, section 4, Fig. 3 and 4).

The paper translates a program on reals into a program on dual numbers, and leaves every other construct as it is:

    D[R]       = (R, R)                       primal and tangent
    D[S -> T]  = D[S] -> D[T]                 and so on for pairs and sums
    D[r]       = (r, 0)                       a constant
    D[e1 * e2] = let (x1, x1_dot) = D[e1]     1. the primal
                     (x2, x2_dot) = D[e2]
                 in (x1 * x2, x2 * x1_dot + x1 * x2_dot)     2. the tangent, by the partial derivatives

Here Python does the translation: overloaded arithmetic runs the program itself on dual numbers. So functions,
structures, sums and references need nothing more. The map from terms to terms is the room `source_duals`.

The programs of the paper do not differentiate themselves, so one kind of dual number is enough there. Here derivatives
nest: each call has a `tag`, and an operation belongs to the newest tag among its operands. Numbers of other tags are
constants to it; they may be its primals and tangents.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from itertools import count
from typing import Any, TypeGuard

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

_tags = count()


class Dual(Overloaded):
    """A `primal` and its `tangent`, of the call with this `tag`."""

    __slots__ = ("primal", "tag", "tangent")

    def __init__(self, primal: Any, tangent: Any, tag: int) -> None:
        self.primal = primal
        self.tangent = tangent
        self.tag = tag

    def operate(self, function: Callable[..., Any], *operands: Any) -> Dual:
        """The dual number of the answer."""
        tag = max(x.tag for x in operands if isinstance(x, Dual))
        primals = [x.primal if belongs(x, tag) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)  # 1
        parts = [slope * x.tangent for slope, x in zip(slopes, operands, strict=True) if belongs(x, tag)]
        return Dual(y, reduce(operator.add, parts), tag)  # 2


def belongs(x: Any, tag: int) -> TypeGuard[Dual]:
    """Whether x is a number of this call; all other numbers are constants to it."""
    return isinstance(x, Dual) and x.tag == tag


def jvp(f: Term | Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """The derivative of `f` along a direction, `(x, x_dot) -> y_dot`, both of the structure of x.

    Raises TypeError for a direction of another structure.

    >>> jvp(lambda x: x["a"] * x["b"])({"a": 2.0, "b": 3.0}, {"a": 1.0, "b": 0.0})
    3.0
    """
    function = as_function(f)

    def derivative(x: Any, x_dot: Any) -> Any:
        inputs, direction = Structure(x, operator="jvp"), Structure(x_dot, may_be_constant=True)
        if not direction.is_like(inputs):
            raise TypeError(f"jvp: the direction has to have the structure of the argument {x!r}; got {x_dot!r}")
        tag = next(_tags)
        duals = [Dual(x, x_dot, tag) for x, x_dot in zip(inputs.numbers, direction.numbers, strict=True)]
        outputs = Structure(function(inputs.with_numbers(duals)), may_be_constant=True)
        return outputs.derivative([tangent(y, tag) for y in outputs.numbers])

    return derivative


def tangent(y: Any, tag: int) -> Any:
    """The tangent of a result, 0 if it is a constant."""
    if not isinstance(y, Dual) or y.tag < tag:
        return 0.0
    if y.tag > tag:
        raise ValueError("jvp: the result has a number of an inner derivative, which is finished")
    return y.tangent


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument: a pass for each input.

    Raises TypeError for a result that is not a number.

    >>> grad(lambda x: x * x)(3.0)
    6.0
    """
    function = as_function(f)
    along = jvp(lambda x: 1.0 * scalar(function(x)))  # an integer becomes a number

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        n = len(inputs.numbers)
        units = [inputs.derivative([float(i == j) for j in range(n)]) for i in range(n)]
        return inputs.derivative([along(x, unit) for unit in units])

    return gradient
