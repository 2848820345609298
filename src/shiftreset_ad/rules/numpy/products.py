"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import is_complex, reshaped, shape_of, transposed, unbroadcast
from shiftreset_ad.rules.numpy.shapes import inverse_of
from shiftreset_ad.rules.stand_ins import are_arrays
from shiftreset_ad.rules.table import LinearMap, MapByMethods, composite, functions_of, linear, structured

# What `np.dot` of plain arrays calls, without NumPy's protocol
DOT: Any = getattr(sys.modules.get("numpy._core._multiarray_umath"), "dot", np.dot)
LARGE = 4096  # elements of a matrix, from which on its outer products are summed together
normalize_axes = np.lib.array_utils.normalize_axis_tuple
new: Any = object.__new__


Answer: TypeAlias = tuple[Any, Callable[[int], Any] | tuple[LinearMap, LinearMap]]
# From the cotangent of a product, and the other operand, to the cotangent of an operand
Back: TypeAlias = Callable[[Cotangent, Any], Cotangent]
Axes: TypeAlias = tuple[list[int], list[int]]


class OfFirst(MapByMethods):
    """The map of the first operand of a product, which is linear in it. The second is the `other` operand."""

    __slots__ = ("back", "factors", "other", "product")
    back: Back
    other: Any
    product: Callable[[Any, Any], Any]

    def pushforward(self, a_dot: Tangent) -> Tangent:
        return self.product(a_dot, self.other)

    def pullback(self, y_bar: Cotangent) -> Cotangent:
        return self.back(y_bar, self.other)


class OfSecond(OfFirst):
    """The map of the second operand. The first is the `other` operand."""

    __slots__ = ()

    def pushforward(self, b_dot: Tangent) -> Tangent:
        return self.product(self.other, b_dot)


def bilinear(
    product: Callable[[Any, Any], Any], a: Any, b: Any, backs: tuple[Back, Back], summed: Axes | None = None
) -> Answer:
    """The rule of a product that is linear in each of its operands, with the way back to each operand.

    It sums over the axes `summed` of each operand; without them, over the last axis of `a` and the first axis of `b`,
    if one of them is a vector.
    """

    def map_of(operand: int) -> Any:
        linear_map = new(OfSecond if operand else OfFirst)
        linear_map.product, linear_map.other, linear_map.back = product, a if operand else b, backs[operand]
        linear_map.is_constant, linear_map.factors = False, None
        if (type(a) is type(b) is ndarray or are_arrays(a, b)) and a.size + b.size >= LARGE:
            linear_map.factors = factors_of(operand, a, b, summed)
        return linear_map

    return product(a, b), map_of


def factors_of(operand: int, a: Any, b: Any, summed: Axes | None) -> Callable[[Cotangent], Any] | None:
    """The two vectors of whose outer product the cotangent of a matrix is, in its product with a vector; else None.

    For a complex vector there are none: the cotangent of a real matrix is the real part of such a product.
    """
    x, other = (b, a) if operand else (a, b)
    if x.ndim != 2 or other.ndim != 1 or is_complex(other) or (summed is not None and len(summed[operand]) != 1):
        return None
    is_last = not operand if summed is None else summed[operand] == [1]
    return (lambda y_bar: (y_bar, other)) if is_last else (lambda y_bar: (other, y_bar))


@structured(np.matmul, "a", "b", kept=("a", "b"), multilinear=True)
def _matmul(a: Any, b: Any) -> Answer:
    backs = BACKS.get((a.ndim, b.ndim) if type(a) is type(b) is ndarray else (len(shape_of(a)), len(shape_of(b))))
    return bilinear(np.matmul, a, b, _stacked_matmul_backs(a, b) if backs is None else backs)


def _to_second_matrix(y_bar: Cotangent, a: Any) -> Cotangent:
    return np.matmul(a.T if type(a) is ndarray else transposed(a), y_bar)


# The ways back of `matmul` and `dot` of vectors and single matrices, by the dimensions of both operands
BACKS: dict[tuple[int, int], tuple[Back, Back]] = {
    (1, 1): (lambda y_bar, b: y_bar * b, lambda y_bar, a: a * y_bar),
    (1, 2): (lambda y_bar, b: np.matmul(b, y_bar), lambda y_bar, a: a[:, None] * y_bar),
    (2, 1): (lambda y_bar, b: y_bar[:, None] * b, _to_second_matrix),
    (2, 2): (lambda y_bar, b: np.matmul(y_bar, transposed(b)), _to_second_matrix),
}


def _stacked_matmul_backs(a: Any, b: Any) -> tuple[Back, Back]:
    """The ways back of `matmul` for stacks of matrices, which broadcast."""
    shape_a, shape_b = shape_of(a), shape_of(b)
    row, column = len(shape_a) == 1, len(shape_b) == 1

    def as_matrices(x: Any, y: Any, y_bar: Cotangent) -> tuple[Any, Any, Any]:
        """Both operands and the cotangent, with the axes that `matmul` adds to vectors and removes from the answer."""
        if row:
            x, y_bar = x[None, :], y_bar[..., None, :]
        if column:
            y, y_bar = y[:, None], y_bar[..., None]
        return x, y, y_bar

    def back_a(y_bar: Cotangent, _: Any) -> Cotangent:
        x, y, y_bar = as_matrices(a, b, y_bar)
        return np.reshape(unbroadcast(np.matmul(y_bar, np.swapaxes(y, -1, -2)), shape_of(x)), shape_a)

    def back_b(y_bar: Cotangent, _: Any) -> Cotangent:
        x, y, y_bar = as_matrices(a, b, y_bar)
        return np.reshape(unbroadcast(np.matmul(np.swapaxes(x, -1, -2), y_bar), shape_of(y)), shape_b)

    return back_a, back_b


def as_array(x: Any) -> Any:
    """A list, or a table of pandas, as an array; any other operand as it is."""
    return x if type(x) is ndarray or hasattr(x, "__array_function__") else np.array(x)


def contraction(
    product: Callable[[Any, Any], Any], a: Any, b: Any, ndims: tuple[int, int], summed_a: list[int], summed_b: list[int]
) -> Answer:
    """The rule of a product of operands with so many axes that sums over these pairs of axes.

    The answer has the other axes of `a`, then of `b`.
    """
    ndim_a, ndim_b = ndims
    free_a = [i for i in range(ndim_a) if i not in summed_a]
    free_b = [i for i in range(ndim_b) if i not in summed_b]
    from_a, from_b = range(len(free_a)), range(len(free_a), len(free_a) + len(free_b))

    def back_a(y_bar: Cotangent, b: Any) -> Cotangent:
        # Its axes are the free axes of a, and then the summed axes in the order that they have in b.
        order = [*free_a, *(summed_a[summed_b.index(i)] for i in sorted(summed_b))]
        return put_in_order(np.tensordot(y_bar, b, axes=(from_b, free_b)), order)

    def back_b(y_bar: Cotangent, a: Any) -> Cotangent:
        order = [*(summed_b[summed_a.index(i)] for i in sorted(summed_a)), *free_b]
        return put_in_order(np.tensordot(a, y_bar, axes=(free_a, from_a)), order)

    return bilinear(product, a, b, (back_a, back_b), (summed_a, summed_b))


def put_in_order(x: Any, places: list[int]) -> Any:
    """`x` with each axis at its place."""
    return x if places == sorted(places) else np.transpose(x, inverse_of(places))


@structured(np.dot, "a", "b", kept=("a", "b"), multilinear=True)
def _dot(a: Any, b: Any) -> Answer:
    ndim_a, ndim_b = (a.ndim, b.ndim) if type(a) is type(b) is ndarray else (len(shape_of(a)), len(shape_of(b)))
    backs = BACKS.get((ndim_a, ndim_b))
    if backs is not None:
        if type(a) is not ndarray or type(b) is not ndarray:
            a, b = as_array(a), as_array(b)
        return bilinear(dot, a, b, backs)
    if ndim_a == 0 or ndim_b == 0:
        return contraction(np.dot, a, b, (ndim_a, ndim_b), [], [])
    return contraction(np.dot, a, b, (ndim_a, ndim_b), [ndim_a - 1], [max(ndim_b - 2, 0)])


def dot(a: Any, b: Any) -> Any:
    """`np.dot`. For plain arrays, call the function in C inside it."""
    return DOT(a, b) if type(a) is type(b) is ndarray else np.dot(a, b)


@structured(np.inner, "a", "b", kept=("a", "b"), multilinear=True)
def _inner(a: Any, b: Any) -> Answer:
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    if ndim_a == 0 or ndim_b == 0:
        return contraction(np.inner, a, b, (ndim_a, ndim_b), [], [])
    return contraction(np.inner, a, b, (ndim_a, ndim_b), [ndim_a - 1], [ndim_b - 1])


@structured(np.tensordot, "a", "b", kept=("a", "b"), multilinear=True)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Answer:
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    try:
        count = operator.index(axes)
        summed_a, summed_b = list(range(ndim_a - count, ndim_a)), list(range(count))
    except TypeError:
        summed_a, summed_b = (
            list(normalize_axes(side if np.ndim(side) else int(side), ndim))
            for side, ndim in zip(axes, (ndim_a, ndim_b), strict=True)
        )
    return contraction(lambda a, b: np.tensordot(a, b, axes), a, b, (ndim_a, ndim_b), summed_a, summed_b)


@structured(np.outer, "a", "b", kept=("a", "b"), multilinear=True)
def _outer(a: Any, b: Any) -> Answer:
    shape_a, shape_b = shape_of(a), shape_of(b)
    return np.outer(a, b), (
        LinearMap(lambda a_dot: outer(a_dot, b), lambda y_bar: reshaped(np.matmul(y_bar, np.ravel(b)), shape_a)),
        LinearMap(lambda b_dot: outer(a, b_dot), lambda y_bar: reshaped(np.matmul(np.ravel(a), y_bar), shape_b)),
    )


def outer(a: Any, b: Any) -> Any:
    """`np.outer`, by functions that also work for many directions at once and for arrays of other libraries."""
    return np.multiply(np.ravel(a)[:, None], np.ravel(b)[None, :])


@structured(np.trace, linear=True)
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    shape = shape_of(a)

    def transpose(y_bar: Cotangent) -> Cotangent:
        axes = normalize_axes((axis1, axis2), len(shape))
        on_diagonal = np.eye(shape[axes[0]], shape[axes[1]], offset, dtype=bool)
        return np.moveaxis(np.where(on_diagonal, np.expand_dims(y_bar, (-2, -1)), 0.0), (-2, -1), axes)

    return linear(a, lambda a: np.trace(a, offset, axis1, axis2, dtype), transpose)


# Products of stacks of vectors and matrices, in newer versions of NumPy


@composite(*functions_of("vecdot"))
def _vecdot(x1: Any, x2: Any) -> Any:
    return np.matmul(np.expand_dims(conjugated(x1), -2), np.expand_dims(x2, -1))[..., 0, 0][()]


@composite(*functions_of("matvec"))
def _matvec(x1: Any, x2: Any) -> Any:
    return np.matmul(x1, np.expand_dims(x2, -1))[..., 0]


@composite(*functions_of("vecmat"))
def _vecmat(x1: Any, x2: Any) -> Any:
    return np.matmul(np.expand_dims(conjugated(x1), -2), x2)[..., 0, :]


def conjugated(x: Any) -> Any:
    """The first operand, conjugated, of products that NumPy defines as inner products of complex vectors."""
    return np.conjugate(x) if is_complex(x) else x
