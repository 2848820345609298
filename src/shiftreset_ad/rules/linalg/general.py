"""Eigenvalues and eigenvectors of general square matrices.

For A V = V diag(w) and M = V^-1 A_dot V, the eigenvalues have the derivative diag(M), and the eigenvectors have the
derivative V (E * M + diag(c)), where E_ij = 1 / (w_j - w_i). The terms c belong to LAPACK's eigenvectors, which have
length 1 and a real largest component: so the derivative is right for the vectors that NumPy gives. If a matrix has no
basis of eigenvectors, the derivative does not exist, and is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.conversion import real_part_of
from shiftreset_ad.rules.linalg.coincidences import coupled
from shiftreset_ad.rules.linalg.matrices import diagonal_of, require_square, rounding_of, transposed, with_diagonal
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured

EigResult: Any = type(np.linalg.eig(np.eye(1)))


@composite(np.linalg.eig)
def _eig(a: Any) -> Any:
    require_square(a)
    return EigResult(*eigenpairs(a))


@dispatched
def eigenpairs(a: Any) -> tuple[Any, Any]:
    """`np.linalg.eig` as a pair."""
    w, v = np.linalg.eig(a)
    return w, v


@structured(eigenpairs)
def _eigenpairs(a: Any) -> Any:
    w, v = eigenpairs(a)
    basis = basis_or_nan(v)
    largest = constant_of(v, largest_components)
    pivots = np.sum(np.where(largest, real_part_of(v), 0.0), axis=-2)

    def pushforward(a_dot: Tangent) -> Tangent:
        m = np.linalg.solve(basis, np.matmul(a_dot, v))
        u = np.matmul(v, coupled("numpy.linalg.eig", "eigenvalues", w, m))
        v_dot = u - v * np.expand_dims(np.sum(real_part_of(conjugated(v) * u), axis=-2), -2)
        if is_complex(v):
            turns = np.sum(np.where(largest, np.imag(u), 0.0), axis=-2) / pivots
            v_dot = v_dot - 1j * v * np.expand_dims(turns, -2)
        return diagonal_of(m), v_dot

    def pullback(y_bars: Any) -> Any:
        w_bar, v_bar = y_bars
        shares = np.sum(v_bar * v, axis=-2)
        u_bar = v_bar - conjugated(v) * np.expand_dims(real_part_of(shares), -2)
        if is_complex(v):
            u_bar = u_bar - 1j * np.where(largest, np.expand_dims(np.imag(shares) / pivots, -2), 0.0)
        of_v = coupled("numpy.linalg.eig", "eigenvalues", w, np.matmul(transposed(v), u_bar))
        m_bar = of_v + with_diagonal(w_bar)
        return np.linalg.solve(transposed(basis), np.matmul(m_bar, transposed(v)))

    return (w, v), (LinearMap(pushforward, pullback),)


@structured(np.linalg.eigvals)
def _eigvals(a: Any) -> Any:
    w = np.linalg.eigvals(a)

    def basis() -> Any:
        of_vectors, v = eigenpairs(a)
        return basis_or_nan(np.matmul(v, permutation(constant_of(w, np.copy), constant_of(of_vectors, np.copy))))

    def pushforward(a_dot: Tangent) -> Tangent:
        v = basis()
        return diagonal_of(np.linalg.solve(v, np.matmul(a_dot, v)))

    def pullback(w_bar: Cotangent) -> Cotangent:
        v = basis()
        return np.linalg.solve(transposed(v), np.expand_dims(w_bar, -1) * transposed(v))

    return w, (LinearMap(pushforward, pullback),)


def basis_or_nan(v: Any) -> Any:
    """Eigenvectors; all are NaN if, up to rounding, the matrix has no basis of eigenvectors."""
    return np.where(constant_of(v, is_no_basis)[..., None, None], np.nan, v)


def is_no_basis(v: Any) -> Any:
    size = v.shape[-1]
    if v.size == 0:
        return np.zeros(v.shape[:-2], bool)
    return np.linalg.cond(v, 1) * rounding_of(v, size) > 1.0


def largest_components(v: Any) -> Any:
    """The mask of the component with the largest absolute value in each column; if several tie, the first of them."""
    if v.size == 0:
        return np.zeros(v.shape, bool)
    places = np.argmax(np.abs(v), axis=-2)
    return np.arange(v.shape[-2])[:, None] == places[..., None, :]


def permutation(w: Any, others: Any) -> Any:
    """The matrix that brings columns, which belong to the eigenvalues `others`, into the order of `w`.

    LAPACK has another algorithm for eigenvalues alone. Its rounding, and so the order of eigenvalues, may be different.
    """
    size = w.shape[-1]
    matrices = np.broadcast_to(np.eye(size), (*w.shape, size))
    if np.allclose(w, others):
        return matrices
    order = np.lexsort((np.imag(others), np.real(others)), axis=-1)
    ranks = np.argsort(np.lexsort((np.imag(w), np.real(w)), axis=-1), axis=-1)
    return np.swapaxes(np.take_along_axis(matrices, np.take_along_axis(order, ranks, -1)[..., None], -2), -1, -2)
