"""Factorizations with triangular matrices: Cholesky, by Murray (arXiv:1602.07527), and QR, by Walter and Lehmann
(arXiv:1001.1654).

For a Hermitian matrix, the derivative of the Cholesky factorization is Hermitian. If the matrix is not Hermitian, NumPy
reads only one triangle, and the derivative in the other triangle is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import real_part_of
from shiftreset_ad.rules.linalg.matrices import (
    adjoint,
    as_hermitian,
    below,
    diagonal_of,
    hermitian_from,
    on_diagonal,
    require_matrices,
    strictly,
    transposed,
)
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured

QRResult: Any = type(np.linalg.qr(np.eye(1)))


@composite(np.linalg.cholesky)
def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return cholesky_factor(as_hermitian(a, "U" if upper else "L"), bool(upper))


@dispatched
def cholesky_factor(h: Any, upper: bool) -> Any:
    """`np.linalg.cholesky` of a Hermitian matrix."""
    return np.linalg.cholesky(h, upper=upper)


def lower_half(m: Any) -> Any:
    """The lower triangle, with half of the diagonal."""
    size = shape_of(m)[-1]
    return np.where(on_diagonal(size), 0.5 * m, np.where(below(size), m, 0.0))


@structured(cholesky_factor)
def _cholesky_factor(h: Any, upper: bool) -> Any:
    y = cholesky_factor(h, upper)
    factor = adjoint(y) if upper else y

    def pushforward(h_dot: Tangent) -> Tangent:
        inner = np.linalg.solve(factor, adjoint(np.linalg.solve(factor, h_dot)))
        factor_dot = np.matmul(factor, lower_half(inner))
        return adjoint(factor_dot) if upper else factor_dot

    def pullback(y_bar: Cotangent) -> Cotangent:
        inner_bar = lower_half(np.matmul(transposed(factor), adjoint(y_bar) if upper else y_bar))
        outside = np.linalg.solve(transposed(factor), inner_bar)
        return transposed(np.linalg.solve(adjoint(factor), transposed(outside)))

    return y, (LinearMap(pushforward, pullback),)


@composite(np.linalg.qr)
def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise NotImplementedError(
            f"numpy.linalg.qr: mode={mode!r} has no derivative rule. Use 'reduced', 'complete' or 'r'"
        )
    require_matrices(a)
    q, r = reduced_factors(a)
    if mode == "r":
        return r
    rows, columns = shape_of(a)[-2:]
    if mode == "complete" and rows > columns:
        rest = constant_of(a, lambda a: np.linalg.qr(a, "complete").Q[..., columns:])
        q = np.concatenate([q, rest_of_reflections(q, rest)], axis=-1)
        below = np.zeros((*shape_of(r)[:-2], rows - columns, columns), dtype_of(r))
        r = np.concatenate([r, below], axis=-2)
    return QRResult(q, r)


@dispatched
def reduced_factors(a: Any) -> tuple[Any, Any]:
    """`np.linalg.qr` as a pair."""
    q, r = np.linalg.qr(a)
    return q, r


@structured(reduced_factors)
def _reduced_factors(a: Any) -> Any:
    """The rule of A = Q R, where the diagonal of R is real.

    With B = Q^H A_dot R^-1, R_dot R^-1 is the upper triangle of B plus the adjoint of the part of B below it. If A has
    more columns than rows, the other columns of R are Q^H times those of A.
    """
    q, r = reduced_factors(a)
    rows, columns = shape_of(a)[-2:]
    square, others = r[..., :rows], r[..., rows:]
    singular = np.any(diagonal_of(square) == 0, axis=-1)[..., None, None]
    regular = np.where(singular, np.nan, square)
    wide = rows < columns

    def pushforward(a_dot: Tangent) -> Tangent:
        moved = transposed(np.linalg.solve(transposed(regular), transposed(a_dot[..., :rows])))
        b = np.matmul(adjoint(q), moved)
        t = folded(b)
        q_dot, r_dot = moved - np.matmul(q, t), np.matmul(t, square)
        if wide:
            other = np.matmul(adjoint(q), a_dot[..., rows:]) - np.matmul(b - t, others)
            r_dot = np.concatenate([r_dot, other], axis=-1)
        return q_dot, r_dot

    def pullback(y_bars: Any) -> Any:
        q_bar, r_bar = y_bars
        t_bar = np.matmul(r_bar[..., :rows], transposed(square)) - np.matmul(transposed(q), q_bar)
        if wide:
            turned = np.matmul(r_bar[..., rows:], transposed(others))
            t_bar = t_bar + turned
        b_bar = hermitian_from(t_bar, "U")
        if wide:
            b_bar = b_bar - turned
        a_bar = transposed(np.linalg.solve(regular, transposed(q_bar + np.matmul(conjugated(q), b_bar))))
        if wide:
            a_bar = np.concatenate([a_bar, np.matmul(conjugated(q), r_bar[..., rows:])], axis=-1)
        return a_bar

    return (q, r), (LinearMap(pushforward, pullback),)


def folded(b: Any) -> Any:
    """The upper triangle plus the adjoint of the part below it, with a real diagonal."""
    size = shape_of(b)[-1]
    diagonal = np.where(on_diagonal(size), real_part_of(b), 0.0)
    return np.where(strictly("U", size), b + adjoint(b), diagonal)


@dispatched
def rest_of_reflections(q: Any, rest: Any) -> Any:
    """`rest`, the other columns of a product of reflections whose first columns are `q`."""
    return rest


@structured(rest_of_reflections)
def _rest_of_reflections(q: Any, rest: Any) -> Any:
    """The rule: a product of n reflections is the identity plus a matrix of rank n, so its first n columns determine
    the others (arXiv:2409.13374, equations 32 and 33).
    """
    size = shape_of(q)[-1]
    y = rest_of_reflections(q, rest)
    z = np.matmul(q[..., size:, :], np.linalg.pinv(q[..., :size, :] - np.eye(size)))
    moved = q + np.matmul(y, z)

    def pushforward(q_dot: Tangent) -> Tangent:
        turned = q_dot[..., size:, :] - np.matmul(z, q_dot[..., :size, :])
        return np.matmul(q_dot, adjoint(z)) - np.matmul(moved, adjoint(turned))

    def pullback(y_bar: Cotangent) -> Cotangent:
        turned_bar = -np.matmul(adjoint(y_bar), conjugated(moved))
        rows_bar = np.concatenate([-np.matmul(transposed(z), turned_bar), turned_bar], axis=-2)
        return np.matmul(y_bar, conjugated(z)) + rows_bar

    return y, (LinearMap(pushforward, pullback),)
