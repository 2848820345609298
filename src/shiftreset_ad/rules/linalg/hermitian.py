"""Eigenvalues and eigenvectors of Hermitian matrices.

For A = V diag(w) V^H and M = V^H A_dot V, the eigenvalues have the derivative diag(M), and the eigenvectors have the
derivative V (E * M), where E_ij = 1 / (w_j - w_i). An eigenvector is determined up to a factor of absolute value 1, and
its derivative is perpendicular to it. So derivatives are right for functions that do not depend on these factors. For a
Hermitian matrix, the derivative is Hermitian. If the matrix is not Hermitian, NumPy reads only one triangle, and the
derivative in the other triangle is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.conversion import real_part_of
from shiftreset_ad.rules.linalg.coincidences import coupled, sum_of_products
from shiftreset_ad.rules.linalg.matrices import adjoint, as_hermitian, diagonal_of, transposed, with_diagonal
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured

EighResult: Any = type(np.linalg.eigh(np.eye(1)))


@composite(np.linalg.eigh)
def _eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    triangle = _triangle(UPLO)
    return EighResult(*eigenpairs(as_hermitian(a, triangle), triangle))


@composite(np.linalg.eigvalsh)
def _eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    triangle = _triangle(UPLO)
    return eigenvalues(as_hermitian(a, triangle), triangle)


def _triangle(name: str) -> Any:
    if name.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return name.upper()


@dispatched
def eigenpairs(h: Any, triangle: Any) -> tuple[Any, Any]:
    """`np.linalg.eigh` of a Hermitian matrix."""
    w, v = np.linalg.eigh(h, triangle)
    return w, v


@structured(eigenpairs)
def _eigenpairs(h: Any, triangle: Any) -> Any:
    w, v = eigenpairs(h, triangle)

    def pushforward(h_dot: Tangent) -> Tangent:
        m = np.matmul(adjoint(v), np.matmul(h_dot, v))
        return real_part_of(diagonal_of(m)), np.matmul(v, coupled("numpy.linalg.eigh", "eigenvalues", w, m))

    def pullback(y_bars: Any) -> Any:
        w_bar, v_bar = y_bars
        of_v = coupled("numpy.linalg.eigh", "eigenvalues", w, np.matmul(transposed(v), v_bar))
        m_bar = of_v + with_diagonal(w_bar)
        return np.matmul(conjugated(v), np.matmul(m_bar, transposed(v)))

    return (w, v), (LinearMap(pushforward, pullback),)


@dispatched
def eigenvalues(h: Any, triangle: Any) -> Any:
    """`np.linalg.eigvalsh` of a Hermitian matrix."""
    return np.linalg.eigvalsh(h, triangle)


@structured(eigenvalues)
def _eigenvalues(h: Any, triangle: Any) -> Any:
    def pushforward(h_dot: Tangent) -> Tangent:
        _, v = eigenpairs(h, triangle)
        return real_part_of(np.sum(conjugated(v) * np.matmul(h_dot, v), axis=-2))

    def pullback(w_bar: Cotangent) -> Cotangent:
        _, v = eigenpairs(h, triangle)
        return sum_of_products(v, w_bar, v)

    return eigenvalues(h, triangle), (LinearMap(pushforward, pullback),)
