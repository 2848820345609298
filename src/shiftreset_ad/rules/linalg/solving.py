"""Systems of linear equations, and inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import shape_of, unbroadcast
from shiftreset_ad.rules.linalg.factors import MANY, factored, here
from shiftreset_ad.rules.linalg.matrices import array_of, transposed
from shiftreset_ad.rules.linalg.systems import inverse, solved
from shiftreset_ad.rules.table import LinearMap, composite, structured


@structured(np.linalg.solve, "a", "b", kept=("a",), linear_in=("b",))
def _solve(a: Any, b: Any) -> Any:
    factors = None
    if type(a) is type(b) is ndarray:
        shape_a, shape_b = a.shape, b.shape
        known = factored(a, b) if a.size >= MANY * MANY else None
        x, factors = (solved(a, b), None) if known is None else known
    else:
        a, b = array_of(a), array_of(b)
        shape_a, shape_b, x = shape_of(a), shape_of(b), np.linalg.solve(a, b)
    has_vector = len(shape_b) == 1  # only then, also if `a` is a stack of matrices
    has_vectors = has_vector and len(shape_a) > 2  # as answers, one for each matrix

    def as_column(y: Any) -> Any:
        return y[..., None] if has_vector else y

    def solution(b: Any, is_transposed: bool) -> Any:
        """The solution where `b` is like the answer: NumPy takes a stack of vectors for a matrix."""
        if factors is not None and factors.takes(b) and (here.shares or not is_transposed):
            return factors.solution(b, is_transposed) if here.shares else factors.solution_of_lapack(b, False)
        matrix = transposed(a) if is_transposed else a
        solve = solved if type(matrix) is type(b) is ndarray else np.linalg.solve
        return solve(matrix, b[..., None])[..., 0] if has_vectors else solve(matrix, b)

    def pushforward_a(a_dot: Tangent) -> Tangent:
        product = np.matmul(a_dot, as_column(x))
        return -solution(product[..., 0] if has_vector else product, False)

    # If both operands are numbers: a cotangent, and what the way back of `a` has solved for it, and `b` needs, too.
    shared: tuple[Any, Any] | None = None
    has_number_a = is_shared = False

    def pullback_a(y_bar: Cotangent) -> Cotangent:
        nonlocal shared
        b_bar = solution(y_bar, True)
        if is_shared:
            shared = y_bar, b_bar
        return unbroadcast(-np.matmul(as_column(b_bar), transposed(as_column(x))), shape_a)

    def pullback_b(y_bar: Cotangent) -> Cotangent:
        nonlocal shared
        known, shared = shared, None
        b_bar = known[1] if known is not None and known[0] is y_bar else solution(y_bar, True)
        return b_bar if type(b_bar) is ndarray and b_bar.shape == shape_b else unbroadcast(b_bar, shape_b)

    def pushforward_b(b_dot: Tangent) -> Tangent:
        if factors is not None and factors.takes(b_dot):
            return solution(b_dot, False)
        return (solved if type(a) is type(b_dot) is ndarray else np.linalg.solve)(a, b_dot)

    def map_of(operand: int) -> LinearMap:
        nonlocal has_number_a, is_shared
        if operand == 0:
            has_number_a = True
            return LinearMap(pushforward_a, pullback_a)
        is_shared = has_number_a
        return LinearMap(pushforward_b, pullback_b)

    return x, map_of


@structured(np.linalg.inv)
def _inv(a: Any) -> Any:
    y = inverse(a)

    def pullback(y_bar: Cotangent) -> Cotangent:
        return -np.matmul(np.matmul(transposed(y), y_bar), transposed(y))

    return y, (LinearMap(lambda a_dot: -np.matmul(np.matmul(y, a_dot), y), pullback),)


@composite(np.linalg.tensorsolve)
def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = array_of(a), array_of(b)
    ndim_a, ndim_b = len(shape_of(a)), len(shape_of(b))
    if axes is not None:
        order = list(range(ndim_a))
        for axis in axes:
            order.remove(axis)
            order.insert(ndim_a, axis)
        a = np.transpose(a, order)
    unknown = shape_of(a)[-(ndim_a - ndim_b) :]
    size = math.prod(unknown)
    if math.prod(shape_of(a)) != size**2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.reshape(np.linalg.solve(np.reshape(a, (size, size)), np.ravel(b)), unknown)


@composite(np.linalg.tensorinv)
def _tensorinv(a: Any, ind: int = 2) -> Any:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = shape_of(a)
    size = math.prod(shape[ind:])
    matrix = np.reshape(a, (size, math.prod(shape) // size if size else 0))
    return np.reshape(np.linalg.inv(matrix), (*shape[ind:], *shape[:ind]))
