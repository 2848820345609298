"""Linear equations by products alone: conjugate gradients for definite symmetric maps, GMRES for all others.

Neither forms the matrix (Saad, Iterative Methods for Sparse Linear Systems, 2003, algorithms 6.18 and 6.9). Both
compute in ordinary operators, so their rounds can be differentiated, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shiftreset_ad.optimize.objectives import Product
from shiftreset_ad.optimize.vectors import norm
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain

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
    best, residual, done = Found(0.0 * b, 1.0 if size else 0.0), b, 0
    while best.error > tolerance and done < rounds:
        columns = min(COLUMNS, rounds - done, len(plain(b)))
        x = best.x + _with_least_residual(product, residual, tolerance * size, columns)
        done += columns
        residual = b - product(x)
        found = Found(x, norm(residual) / size)
        if not found.error < 0.5 * best.error:  # rounding keeps it from getting better
            return found if found.error < best.error else best
        best = found
    return best


def _with_least_residual(product: Product, b: Primal, enough: float, columns: int) -> Primal:
    """The vector in the Krylov space of `b`, of at most so many dimensions, whose residual is least."""
    length = np.sqrt(b @ b)
    basis = [b / length]
    images: list[list[Primal]] = []  # of each vector of the basis, the product, in terms of the basis
    while True:
        image = product(basis[-1])
        size = norm(image)
        vectors = np.stack(basis)
        parts = 0.0
        for _ in range(2):  # twice, as rounding leaves parts along the basis
            along = vectors @ image
            image = image - along @ vectors
            parts = parts + along
        rest = norm(image)
        height = np.sqrt(image @ image) if rest else 0.0
        images.append([*parts, height])  # type: ignore[misc]
        rows = len(basis) + 1
        is_last = not rest > ENDED * size or len(basis) == columns
        if not is_last and len(basis) % (1 + len(basis) // 10):  # looking at the residual takes time, too
            basis.append(image / height)
            continue
        matrix = np.stack([np.stack([*column, *[0.0] * (rows - len(column))]) for column in images], axis=1)
        target = length * np.eye(rows)[0]
        weights = np.linalg.lstsq(matrix, target, rcond=None)[0]
        if is_last or norm(target - matrix @ weights) <= enough:
            return weights @ vectors
        basis.append(image / height)
