"""The matrix functions of `scipy.linalg`: exponential, logarithm and square root."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg  # type: ignore[import-untyped]

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.linalg.equations import sylvester_solution
from shiftreset_ad.rules.linalg.matrices import require_square, transposed
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured

# The coefficients of the numerator of the [13/13] Pade approximant to exp (Higham 2005). Up to this norm, also its
# derivative has the precision of a double (Al-Mohy and Higham 2009, table 6.1).
PADE = [math.factorial(26 - i) * math.comb(13, i) / math.factorial(26) for i in range(14)]
LARGEST_NORM = 4.74

# Gauss-Legendre quadrature on [0, 1]. For log(I + Y), it has the precision of a double up to this norm of Y (Higham
# 2008, table 11.1, where it is the [8/8] Pade approximant). A regular matrix is this close to I after fewer roots.
NODES, WEIGHTS = ((x + shift) / 2 for x, shift in zip(np.polynomial.legendre.leggauss(8), (1.0, 0.0), strict=True))
CLOSE = 0.25
MOST_ROOTS = 64


@dispatched
def exponential(a: Any) -> Any:
    """`scipy.linalg.expm`."""
    return scipy.linalg.expm(a)


@composite(exponential)
def _exponential(a: Any) -> Any:
    """Scaling and squaring; all its steps are differentiated. It is right to any order, also for equal eigenvalues.

    Al-Mohy and Higham, Computing the Frechet derivative of the matrix exponential (2009).
    """
    require_square(a)
    identity = np.eye(shape_of(a)[-1], dtype=dtype_of(a))
    doublings = constant_of(a, squarings)
    a = a / 2.0**doublings
    a_2 = np.matmul(a, a)
    a_4 = np.matmul(a_2, a_2)
    a_6 = np.matmul(a_4, a_2)

    def polynomial(first: int) -> Any:
        """The sum of the terms of every second power from `first` on, divided by a to the power of `first`."""
        c = PADE[first::2]
        high = np.matmul(a_6, c[6] * a_6 + c[5] * a_4 + c[4] * a_2)
        return high + c[3] * a_6 + c[2] * a_4 + c[1] * a_2 + c[0] * identity

    odd, even = np.matmul(a, polynomial(1)), polynomial(0)
    y = np.linalg.solve(even - odd, even + odd)
    for _ in range(doublings):
        y = np.matmul(y, y)
    return y


def squarings(a: Any) -> int:
    """How often to halve all matrices until they are small enough."""
    largest = np.max(np.sum(np.abs(a), axis=-2), initial=0.0)
    return max(0, math.ceil(math.log2(largest / LARGEST_NORM))) if 0 < largest < math.inf else 0


@dispatched
def logarithm(a: Any) -> Any:
    """`scipy.linalg.logm` of one matrix."""
    return scipy.linalg.logm(a)


@structured(logarithm)
def _logarithm(a: Any) -> Any:
    """Inverse scaling and squaring: log(A) = 2^k log(A^(1 / 2^k)).

    The derivative of each root solves a Sylvester equation, and log(I + Y) is the integral of Y (I + t Y)^-1 over t
    from 0 to 1. Al-Mohy, Higham and Relton, Computing the Frechet derivative of the matrix logarithm (2013).
    """

    def roots_and_inverses() -> tuple[list[Any], list[Any]]:
        identity = np.eye(shape_of(a)[-1], dtype=dtype_of(a))
        roots: list[Any] = []
        root = a
        while constant_of(root, distance_from_identity) > CLOSE:
            if len(roots) == MOST_ROOTS:
                raise np.linalg.LinAlgError("logm: the matrix is singular, and its logarithm has no derivative")
            root = square_root(root)
            roots.append(root)
        return roots, [np.linalg.inv(identity + t * (root - identity)) for t in NODES]

    def pushforward(a_dot: Tangent) -> Tangent:
        roots, inverses = roots_and_inverses()
        for x in roots:
            a_dot = sylvester_solution([x, x, a_dot])
        parts = [w * np.matmul(y, np.matmul(a_dot, y)) for w, y in zip(WEIGHTS, inverses, strict=True)]
        return 2.0 ** len(roots) * sum(parts[1:], parts[0])

    def pullback(y_bar: Cotangent) -> Cotangent:
        roots, inverses = roots_and_inverses()
        turned = [transposed(y) for y in inverses]
        parts = [w * np.matmul(y, np.matmul(y_bar, y)) for w, y in zip(WEIGHTS, turned, strict=True)]
        a_bar = 2.0 ** len(roots) * sum(parts[1:], parts[0])
        for x in reversed(roots):
            a_bar = sylvester_solution([transposed(x), transposed(x), a_bar])
        return a_bar

    return logarithm(a), (LinearMap(pushforward, pullback),)


def distance_from_identity(x: Any) -> Any:
    """The distance of a matrix from the identity, in the 1-norm."""
    return np.linalg.norm(x - np.eye(len(x)), 1)


@dispatched
def square_root(a: Any) -> Any:
    """`scipy.linalg.sqrtm` of one matrix."""
    return scipy.linalg.sqrtm(a)


@structured(square_root)
def _square_root(a: Any) -> Any:
    """The rule, from X X = A."""
    x = square_root(a)

    def backward(y_bar: Cotangent) -> Cotangent:
        return sylvester_solution([transposed(x), transposed(x), y_bar])

    return x, (LinearMap(lambda a_dot: sylvester_solution([x, x, a_dot]), backward),)


def of_each_matrix(function: Callable[[Any], Any], a: Any) -> Any:
    """A function of one matrix, applied to each matrix in a stack."""
    require_square(a)
    shape = shape_of(a)
    if len(shape) == 2:
        return function(a)
    matrices = np.reshape(a, (math.prod(shape[:-2]), *shape[-2:]))
    answers = [function(matrices[i]) for i in range(math.prod(shape[:-2]))]
    return np.reshape(np.stack(answers), shape) if answers else a
