"""Singular values and vectors.

For A = U diag(s) V^H and M = U^H A_dot V, the singular values have the derivative Re(diag(M)). The derivatives of U and
V have the parts U X and V Y with skew-Hermitian X and Y: (X + Y)_ij = (M + M^H)_ij / (s_j - s_i), and
(X - Y)_ij = (M - M^H)_ij / (s_j + s_i). The rest is perpendicular to U or V (Townsend, Differentiating the Singular
Value Decomposition, 2016; for complex matrices, Wan and Zhang, arXiv:1909.02659).

Each pair of vectors is determined up to a factor of absolute value 1. U and V share the derivative of this factor, so
derivatives are right for functions that do not depend on it. A singular value of zero has the derivative zero, as |x|
has at 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.conversion import real_part_of
from shiftreset_ad.rules.linalg.coincidences import coupled, sum_of_products
from shiftreset_ad.rules.linalg.matrices import adjoint, diagonal_of, require_matrices, rounding_of, transposed
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured

SVDResult: Any = type(np.linalg.svd(np.eye(1)))


@composite(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _of_hermitian(a, compute_uv)
    require_matrices(a)
    if not compute_uv:
        return singular_values(a)
    rows, columns = shape_of(a)[-2:]
    full = full_matrices and rows != columns
    u, s, vh = decomposition(a, full)
    if full:
        whole = constant_of(a, np.linalg.svd)
        size = shape_of(s)[-1]
        u = np.concatenate([u, complement(u, whole.U[..., size:])], axis=-1)
        vh = np.concatenate([vh, adjoint(complement(adjoint(vh), adjoint(whole.Vh[..., size:, :])))], axis=-2)
    return SVDResult(u, s, vh)


@composite(np.linalg.svdvals)
def _svdvals(x: Any, /) -> Any:
    require_matrices(x)
    return singular_values(x)


def _of_hermitian(a: Any, compute_uv: bool) -> Any:
    """The decomposition by eigenvalues, as in NumPy: the singular values are their absolute values."""
    w, u = np.linalg.eigh(a) if compute_uv else (np.linalg.eigvalsh(a), None)
    s = np.absolute(w)
    order = np.argsort(s)[..., ::-1]
    s = np.take_along_axis(s, order, axis=-1)
    if not compute_uv:
        return s
    sign = np.copysign(1.0, np.take_along_axis(w, order, axis=-1))
    u = np.take_along_axis(u, order[..., None, :], axis=-1)
    return SVDResult(u, s, adjoint(u * np.expand_dims(sign, -2)))


@dispatched
def singular_values(a: Any) -> Any:
    """Only the singular values."""
    return np.linalg.svd(a, compute_uv=False)


@structured(singular_values)
def _singular_values(a: Any) -> Any:
    def pushforward(a_dot: Tangent) -> Tangent:
        u, s, vh = decomposition(a, False)
        return (s != 0) * real_part_of(np.sum(conjugated(u) * np.matmul(a_dot, adjoint(vh)), axis=-2))

    def pullback(s_bar: Cotangent) -> Cotangent:
        u, s, vh = decomposition(a, False)
        return sum_of_products(u, (s != 0) * s_bar, adjoint(vh))

    return singular_values(a), (LinearMap(pushforward, pullback),)


@dispatched
def decomposition(a: Any, full: bool) -> tuple[Any, Any, Any]:
    """As many columns of U and rows of V^H as there are singular values; `full` selects how LAPACK computes them."""
    u, s, vh = np.linalg.svd(a, full_matrices=full)
    size = s.shape[-1]
    return u[..., :size], s, vh[..., :size, :]


@structured(decomposition)
def _decomposition(a: Any, full: bool) -> Any:
    rows, columns = shape_of(a)[-2:]
    u, s, vh = decomposition(a, full)
    v = adjoint(vh)
    odd, inverses = inverse_sums(s), np.expand_dims(inverse_or_zero(s), -2)

    def even(m: Any) -> Any:
        return coupled("numpy.linalg.svd", "singular values", s, m)

    def pushforward(a_dot: Tangent) -> Tangent:
        image = np.matmul(a_dot, v)
        m = np.matmul(adjoint(u), image)
        both, apart = even(m + adjoint(m)) / 2, odd * (m - adjoint(m)) / 2
        u_dot, v_dot = np.matmul(u, both + apart), np.matmul(v, both - apart)
        if rows > columns:
            u_dot = u_dot + inverses * (image - np.matmul(u, m))
        if rows < columns:
            v_dot = v_dot + inverses * (np.matmul(adjoint(a_dot), u) - np.matmul(v, adjoint(m)))
        return u_dot, (s != 0) * real_part_of(diagonal_of(m)), adjoint(v_dot)

    def pullback(y_bars: Any) -> Any:
        u_bar, s_bar, vh_bar = y_bars
        v_bar = adjoint(vh_bar)
        of_u, of_v = np.matmul(transposed(u), u_bar), np.matmul(transposed(v), v_bar)
        both, apart = even(of_u + of_v) / 2, odd * (of_u - of_v) / 2
        m_bar = both + adjoint(both) + apart - adjoint(apart)
        a_bar = sum_of_products(u, (s != 0) * s_bar, v)
        if rows > columns:
            beside = inverses * u_bar
            m_bar = m_bar - np.matmul(transposed(u), beside)
            a_bar = a_bar + np.matmul(beside, transposed(v))
        if rows < columns:
            beside = inverses * v_bar
            m_bar = m_bar - adjoint(np.matmul(transposed(v), beside))
            a_bar = a_bar + np.matmul(conjugated(u), adjoint(beside))
        return a_bar + np.matmul(conjugated(u), np.matmul(m_bar, transposed(v)))

    return (u, s, vh), (LinearMap(pushforward, pullback),)


def inverse_or_zero(s: Any) -> Any:
    """1 / s, and zero for singular values that are zero up to rounding."""
    zero = constant_of(s, vanishing)
    return ~zero / np.where(zero, 1.0, s)


def inverse_sums(s: Any) -> Any:
    """The matrix of 1 / (s_i + s_j), with zeros for pairs that are zero up to rounding."""
    zero = constant_of(s, vanishing)
    both = zero[..., None, :] & zero[..., :, None]
    return ~both / np.where(both, 1.0, np.expand_dims(s, -2) + np.expand_dims(s, -1))


def vanishing(s: Any) -> Any:
    """Which singular values are zero, up to rounding."""
    return s <= rounding_of(s, s.shape[-1]) * np.max(s, axis=-1, keepdims=True, initial=0.0)


@dispatched
def complement(q: Any, rest: Any) -> Any:
    """`rest`, an orthonormal basis of the space perpendicular to the orthonormal columns of `q`."""
    return rest


@structured(complement)
def _complement(q: Any, rest: Any) -> Any:
    """The rule: the basis moves with its space, and does not turn in it. It is right for functions of the space."""
    y = complement(q, rest)
    return y, (
        LinearMap(
            lambda q_dot: -np.matmul(q, np.matmul(adjoint(q_dot), y)),
            lambda y_bar: -np.matmul(conjugated(y), np.matmul(adjoint(y_bar), conjugated(q))),
        ),
    )
