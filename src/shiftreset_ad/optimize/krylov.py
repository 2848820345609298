"""Linear equations by products alone: conjugate gradients for definite symmetric maps, GMRES for all others.

Neither forms the matrix (Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithms 6.18 and 6.9). Both
compute in ordinary operators, so their rounds can be differentiated, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shiftreset_ad.optimize.objectives import Product
from shiftreset_ad.optimize.vectors import norm, rows_like
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.plain import plain

EXACT = 500.0  # the relative residual at which an equation is solved, in units of the precision
COLUMNS = 200  # of the basis that GMRES keeps before it starts again
ENDED = 1e-14  # the part of a product outside the basis that is rounding


class Found(NamedTuple):
    """A vector, and the length of its residual relative to the right-hand side.

    Conjugate gradients are told that the map is definite, and notice where it has a negative curvature.
    """

    x: Primal
    error: float
    is_definite: bool = True


def conjugate_gradients(product: Product, b: Primal, tolerance: float, rounds: int) -> Found:
    """The solution for a positive definite map; it ends early where the map turns out not to be definite."""
    size = norm(b)
    x = 0.0 * b
    if size == 0.0 and type(b) is np.ndarray:
        return Found(x, 0.0)
    residual = direction = b
    square = residual @ residual
    is_definite = True
    for _ in range(rounds):
        if norm(residual) <= tolerance * size:
            break
        image = product(direction)
        curvature = direction @ image
        if not float(plain(curvature)) > 0.0:
            is_definite = float(plain(curvature)) >= -ENDED * norm(direction) * norm(image)
            break
        step = square / curvature
        x = x + step * direction
        residual = residual - step * image
        square, before = residual @ residual, square
        direction = residual + (square / before) * direction
    return Found(x, norm(b - product(x)) / size if size else 0.0, is_definite)


def gmres(product: Product, b: Primal, tolerance: float, rounds: int) -> Found:
    """The solution for any invertible map; after `COLUMNS` products it starts again from what it has found."""
    size = norm(b)
    best, residual = Found(0.0 * b, 1.0 if size else 0.0), b
    columns = max(min(COLUMNS, rounds, len(plain(b))), 1)
    for _ in range(-(-rounds // columns)):
        if best.error <= tolerance:
            break
        x = best.x + _with_least_residual(product, residual, tolerance * size, columns)
        residual = b - product(x)
        error, before = norm(residual) / size, best.error
        if error < before:
            best = Found(x, error)
        if not error < 0.5 * before:  # rounding keeps it from getting better
            break
    return best


def _with_least_residual(product: Product, b: Primal, enough: float, columns: int) -> Primal:
    """The vector in the Krylov space of `b`, of at most so many dimensions, whose residual is least.

    The product of each vector of the basis, in terms of the basis, is a column of a matrix that is nearly triangular.
    `turns` makes it a `triangle`, and tells the residual. All arrays have their full size from the beginning.
    """
    length, rows = np.sqrt(b @ b), np.arange(columns + 1)
    first = b / length
    image = product(first)
    basis = rows_like(columns + 1, first + image)
    zero = basis[0, 0]  # a number, if the basis is to hold numbers
    turns, triangle = (np.eye(n, dtype=dtype_of(b)) + zero for n in (columns + 1, columns))
    basis[0] = first
    used = 0
    for k in range(columns):
        size = norm(image)
        parts = 0.0
        for _ in range(2):  # twice, as rounding leaves parts along the basis
            along = basis @ image
            image = image - along @ basis
            parts = parts + along
        rest = norm(image)
        height = np.sqrt(image @ image) if rest else 0.0
        parts = parts + height * (rows == k + 1)
        turned = turns @ parts
        above, below = turned[k], turned[k + 1]
        radius = np.sqrt(above * above + below * below)
        if not radius > ENDED * size:  # the product is no new direction
            break
        cosine, sine = above / radius, below / radius
        turns[k], turns[k + 1] = cosine * turns[k] + sine * turns[k + 1], cosine * turns[k + 1] - sine * turns[k]
        triangle[:, k] = (turned * (rows < k) + radius * (rows == k))[:columns]
        used = k + 1
        if not rest > ENDED * size or abs(length * turns[k + 1, 0]) <= enough or used == columns:
            break
        basis[k + 1] = image / height
        image = product(basis[k + 1])
    target = length * turns[:columns, 0]
    weights = 0.0 * target
    for i in range(used):
        row = used - 1 - i
        weights[row] = (target[row] - triangle[row] @ weights) / triangle[row, row]
    return weights @ basis[:columns]


def by_conjugate_gradients(product: Product, b: Primal) -> Found:
    """The solution for a positive definite map, as exact as the precision allows."""
    return conjugate_gradients(product, b, EXACT * _precision_of(b), _most_rounds(b))


def by_gmres(product: Product, b: Primal) -> Found:
    """The solution for any invertible map, as exact as the precision allows."""
    return gmres(product, b, EXACT * _precision_of(b), _most_rounds(b))


def is_exact(found: Found) -> bool:
    """Whether a solution is as exact as it was to be, or nearly so."""
    return found.error <= 10 * EXACT * _precision_of(found.x)


def is_good(found: Found) -> bool:
    """Whether a solution is one, up to rounding."""
    return found.error <= math.sqrt(_precision_of(found.x))


def _precision_of(b: Primal) -> float:
    return float(np.finfo(dtype_of(b)).eps)


def _most_rounds(b: Primal) -> int:
    """So many products that more of them would not help."""
    return 10 * len(plain(b)) + 10
