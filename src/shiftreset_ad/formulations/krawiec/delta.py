"""Reverse mode, number 2: the gradient is a term that is evaluated once (Krawiec et al. 2022, Fig. 7 and 8).

The room `dense` is slow, as each operation adds and scales dense vectors. Here these sums and products are put off: the
second part of a number is a term that says what to do,

    data Delta = Zero | OneHot i | Scale r Delta | Add Delta Delta

    D[e1 * e2] = ... (x1 * x2, Add (Scale x2 d1) (Scale x1 d2))        1.

and evaluation pushes a sensitivity from the result down to the inputs, without any vector on the way:

    eval y_bar Zero        x_bar = x_bar                               2.
    eval y_bar (OneHot i)  x_bar = x_bar with y_bar added at i
    eval y_bar (Scale r d) x_bar = eval (r * y_bar) d x_bar
    eval y_bar (Add a b)   x_bar = eval y_bar b (eval y_bar a x_bar)

That is reverse mode: the cost of an operation does not depend on the number of inputs. But a result that is used twice
is in the term twice. It is evaluated twice, and so are its parts: for y1 = x * x, y2 = y1 * y1, ... evaluation takes
2**n steps. The next room, `sharing`, mends that.

`eval` keeps the remaining terms on a list of its own, as terms are as deep as programs are long. Derivatives nest by
tags, which the paper does not need, as its programs do not differentiate (see `duals`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any, TypeAlias, TypeGuard

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, answer_and_partials
from shiftreset_ad.formulations.structures import Structure, scalar

_tags = count()


@dataclass(frozen=True, slots=True, eq=False)
class Zero:
    """The vector of zeros."""


@dataclass(frozen=True, slots=True, eq=False)
class OneHot:
    """The i-th unit vector."""

    i: int


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """r times a vector."""

    r: Any
    delta: Delta


@dataclass(frozen=True, slots=True, eq=False)
class Add:
    """The sum of two vectors."""

    left: Delta
    right: Delta


Delta: TypeAlias = Zero | OneHot | Scale | Add


class DeltaNumber(Overloaded):
    """A `primal` and the term for its gradient, of the call with this `tag`."""

    __slots__ = ("delta", "primal", "tag")

    def __init__(self, primal: Any, delta: Delta, tag: int) -> None:
        self.primal = primal
        self.delta = delta
        self.tag = tag

    def operate(self, function: Callable[..., Any], *operands: Any) -> DeltaNumber:
        """The answer and its term (1)."""
        tag = max(x.tag for x in operands if isinstance(x, DeltaNumber))
        primals = [x.primal if belongs(x, tag) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)
        parts: list[Delta] = [
            Scale(slope, x.delta) for slope, x in zip(slopes, operands, strict=True) if belongs(x, tag)
        ]
        return DeltaNumber(y, reduce(Add, parts), tag)


def belongs(x: Any, tag: int) -> TypeGuard[DeltaNumber]:
    """Whether x is a number of this call; all other numbers are constants to it."""
    return isinstance(x, DeltaNumber) and x.tag == tag


def eval_delta(y_bar: Any, delta: Delta, x_bar: list[Any]) -> None:
    """Add y_bar times the vector of the term to `x_bar`, which has a component for each input (2).

    >>> x_bar = [0.0, 0.0]
    >>> eval_delta(1.0, Add(Scale(3.0, OneHot(0)), OneHot(1)), x_bar)
    >>> x_bar
    [3.0, 1.0]
    """
    pending = [(y_bar, delta)]
    while pending:
        y_bar, delta = pending.pop()
        match delta:
            case Zero():
                pass
            case OneHot(i):
                x_bar[i] = x_bar[i] + y_bar
            case Scale(r, scaled):
                pending.append((r * y_bar, scaled))
            case Add(left, right):
                pending += (y_bar, right), (y_bar, left)


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument.

    Raises TypeError for a result that is not a number. Exponential in programs that use their results twice.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        tag = next(_tags)
        xs = [DeltaNumber(x, OneHot(i), tag) for i, x in enumerate(inputs.numbers)]
        y = scalar(function(inputs.with_numbers(xs)))
        x_bar = [0.0] * len(xs)
        eval_delta(1.0, delta_of(y, tag), x_bar)
        return inputs.derivative(x_bar)

    return gradient


def delta_of(y: Any, tag: int) -> Delta:
    """The term of a result, Zero if it is a constant."""
    if not isinstance(y, DeltaNumber) or y.tag < tag:
        return Zero()
    if y.tag > tag:
        raise ValueError("grad: the result is a number of an inner derivative, which is finished")
    return y.delta
