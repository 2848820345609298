"""Reverse mode, number 1: the tangent is the whole gradient, a dense vector (Krawiec et al. 2022, Fig. 5 and 6).

Forward mode computes with one direction at a time. But it only adds and scales tangents, so tangents may be elements of
any vector space. Here they are vectors with a component for each input.

    D[R]       = (R, Vector)
    wrapper    : the i-th input is (x, one_hot i)                                      1.
    D[e1 * e2] = ... (x1 * x2, scale x2 d1 + scale x1 d2)                              2.
    gradient   = the second part of the result                                         3.

One run gives the gradient, as in reverse mode. This is simple and correct, and inefficient: the cost of an operation
grows with the number of inputs. The next room, `delta`, puts the vector operations off.

Derivatives nest by tags; the programs of the paper do not differentiate, so they need no tags (see `duals`).
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


class Vector:
    """A dense vector, which can be added and scaled."""

    __slots__ = ("components",)

    def __init__(self, components: list[Any]) -> None:
        self.components = components

    @classmethod
    def zero(cls, n: int) -> Vector:
        """The vector of n zeros."""
        return cls([0.0] * n)

    @classmethod
    def one_hot(cls, n: int, i: int) -> Vector:
        """The i-th of the n unit vectors."""
        return cls([float(i == j) for j in range(n)])

    def __add__(self, that: Vector) -> Vector:
        return Vector([a + b for a, b in zip(self.components, that.components, strict=True)])

    def scale(self, r: Any) -> Vector:
        """r times this vector."""
        return Vector([r * a for a in self.components])


class DenseNumber(Overloaded):
    """A `primal` and its `vector` of derivatives by all inputs, of the call with this `tag`."""

    __slots__ = ("primal", "tag", "vector")

    def __init__(self, primal: Any, vector: Vector, tag: int) -> None:
        self.primal = primal
        self.vector = vector
        self.tag = tag

    def operate(self, function: Callable[..., Any], *operands: Any) -> DenseNumber:
        """The answer and its vector."""
        tag = max(x.tag for x in operands if isinstance(x, DenseNumber))
        primals = [x.primal if belongs(x, tag) else x for x in operands]
        y, slopes = answer_and_partials(function, *primals, of=operands)
        parts = [x.vector.scale(slope) for slope, x in zip(slopes, operands, strict=True) if belongs(x, tag)]
        return DenseNumber(y, reduce(operator.add, parts), tag)  # 2


def belongs(x: Any, tag: int) -> TypeGuard[DenseNumber]:
    """Whether x is a number of this call; all other numbers are constants to it."""
    return isinstance(x, DenseNumber) and x.tag == tag


def grad(f: Term | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function that returns the gradient of `f`, in the structure of its argument, by one run.

    Raises TypeError for a result that is not a number.

    >>> grad(lambda x: x[0] * x[1])((2.0, 3.0))
    (3.0, 2.0)
    """
    function = as_function(f)

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        n, tag = len(inputs.numbers), next(_tags)
        xs = [DenseNumber(x, Vector.one_hot(n, i), tag) for i, x in enumerate(inputs.numbers)]  # 1
        y = scalar(function(inputs.with_numbers(xs)))
        return inputs.derivative(vector_of(y, n, tag).components)  # 3

    return gradient


def vector_of(y: Any, n: int, tag: int) -> Vector:
    """The gradient of a result, zero if it is a constant."""
    if not isinstance(y, DenseNumber) or y.tag < tag:
        return Vector.zero(n)
    if y.tag > tag:
        raise ValueError("grad: the result is a number of an inner derivative, which is finished")
    return y.vector
