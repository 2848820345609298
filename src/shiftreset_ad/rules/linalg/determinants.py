"""Determinants, right also for singular matrices.

The derivative of a determinant is the adjugate. For a regular matrix, this is det(A) A^-1. For a matrix that is
singular, or close to singular, the adjugate and its own derivative come from the singular values: the adjugate of
U diag(s) V^H is det(U V^H) V diag(products of the other singular values) U^H (Magnus and Neudecker 2019, section 8.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import is_complex, shape_of
from shiftreset_ad.rules.linalg.matrices import (
    adjoint,
    diagonal_of,
    on_diagonal,
    require_square,
    transposed,
    with_diagonal,
)
from shiftreset_ad.rules.linalg.singular import decomposition
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.reductions import products_of_others
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured

SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


def scaled(y_bar: Cotangent, matrices: Any) -> Any:
    """Each matrix times its scalar."""
    return np.expand_dims(y_bar, (-2, -1)) * matrices


def summed(products: Any) -> Any:
    """The sum over each matrix."""
    return np.sum(products, axis=(-2, -1))


@structured(np.linalg.det)
def _det(a: Any) -> Any:
    y = np.linalg.det(a)

    def pushforward(a_dot: Tangent) -> Tangent:
        return summed(transposed(adjugate(a, y)) * a_dot)

    def pullback(y_bar: Cotangent) -> Cotangent:
        return scaled(y_bar, transposed(adjugate(a, y)))

    return y, (LinearMap(pushforward, pullback),)


def adjugate(a: Any, det: Any) -> Any:
    """The transposed matrix of cofactors."""
    if constant_of(a, is_close_to_singular):
        return adjugate_of_any(a)
    return scaled(det, np.linalg.inv(a))


def is_close_to_singular(a: Any) -> bool:
    """Whether the inverse has lost half of its digits; False for a matrix with a NaN or an infinity."""
    limit = np.finfo(a.dtype).eps ** -0.5
    return a.size > 0 and bool(np.all(np.isfinite(a))) and bool(np.any(np.linalg.cond(a, 1) > limit))


@dispatched
def adjugate_of_any(a: Any) -> Any:
    """The adjugate, computed from singular values."""
    u, s, vh = decomposition(a, False)
    return _assembled(u, vh, with_diagonal(products_of_others(s, (s.ndim - 1,))))


def _assembled(u: Any, vh: Any, middle: Any) -> Any:
    """`middle`, a matrix in the bases of the singular vectors, in the original bases, times det(U V^H)."""
    return scaled(np.linalg.det(np.matmul(u, vh)), np.matmul(adjoint(vh), np.matmul(middle, adjoint(u))))


@structured(adjugate_of_any)
def _adjugate_of_any(a: Any) -> Any:
    """The rule: for a diagonal matrix S, the derivative of the adjugate is the sum of p_ij M_jj over j on the diagonal,
    and -p_ij M_ij elsewhere. p_ij is the product of all singular values except s_i and s_j.
    """

    def bases_and_products() -> tuple[Any, Any, Any]:
        u, s, vh = decomposition(a, False)
        size = shape_of(s)[-1]
        diagonal = on_diagonal(size)
        without_one = np.where(diagonal, 1.0, np.expand_dims(s, -2))
        others = products_of_others(without_one, (len(shape_of(without_one)) - 1,))
        return u, vh, np.where(diagonal, 0.0, others)

    def pushforward(a_dot: Tangent) -> Tangent:
        u, vh, products = bases_and_products()
        m = np.matmul(adjoint(u), np.matmul(a_dot, adjoint(vh)))
        diagonal = np.matmul(products, np.expand_dims(diagonal_of(m), -1))[..., 0]
        return _assembled(u, vh, with_diagonal(diagonal) - products * m)

    def pullback(y_bar: Cotangent) -> Cotangent:
        u, vh, products = bases_and_products()
        y_bar = scaled(np.linalg.det(np.matmul(u, vh)), y_bar)
        middle_bar = np.matmul(conjugated(vh), np.matmul(y_bar, conjugated(u)))
        diagonal = np.matmul(products, np.expand_dims(diagonal_of(middle_bar), -1))[..., 0]
        m_bar = with_diagonal(diagonal) - products * middle_bar
        return np.matmul(conjugated(u), np.matmul(m_bar, conjugated(vh)))

    return adjugate_of_any(a), (LinearMap(pushforward, pullback),)


@composite(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    """Both answers come from one factorization. So the functions below get their value, too, and only derive it."""
    require_square(a)
    sign, logarithm = constant_of(a, np.linalg.slogdet)
    return SlogdetResult(sign_of_det(a, sign) if is_complex(a) else sign, log_of_det(a, logarithm))


@dispatched
def log_of_det(a: Any, logarithm: Any) -> Any:
    """The logarithm of the absolute value of the determinant, which is known."""
    return logarithm


@structured(log_of_det)
def _log_of_det(a: Any, logarithm: Any) -> Any:
    def pushforward(a_dot: Tangent) -> Tangent:
        slope = transposed(inverse_of_any(a)) * a_dot
        return summed(np.real(slope))

    y = log_of_det(a, logarithm)
    return y, (LinearMap(pushforward, lambda y_bar: scaled(y_bar, transposed(inverse_of_any(a)))),)


@dispatched
def sign_of_det(a: Any, sign: Any) -> Any:
    """The determinant of a complex matrix, divided by its absolute value; it is known."""
    return sign


@structured(sign_of_det)
def _sign_of_det(a: Any, sign: Any) -> Any:
    sign = sign_of_det(a, sign)

    def slopes() -> Any:
        """The derivative of the logarithm, whose imaginary part is the angle of the sign; zero where the sign is 0."""
        singular = np.expand_dims(sign == 0, (-2, -1))
        return np.where(singular, 0.0, transposed(np.linalg.inv(np.where(singular, np.eye(shape_of(a)[-1]), a))))

    def pushforward(a_dot: Tangent) -> Tangent:
        return 1j * sign * np.imag(summed(slopes() * a_dot))

    def pullback(y_bar: Cotangent) -> Cotangent:
        return scaled(-1j * np.real(1j * sign * y_bar), slopes())

    return sign, (LinearMap(pushforward, pullback),)


def inverse_of_any(a: Any) -> Any:
    """The inverse; for a singular matrix, the adjugate divided by zero, which is infinite or NaN."""
    if type(a) is np.ndarray:
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:  # by the same test as that of the sign, which would take another factorization
            pass
    elif not np.any(constant_of(a, lambda a: np.linalg.slogdet(a).sign) == 0):
        return np.linalg.inv(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        det = np.linalg.det(a)
        return adjugate(a, det) / np.expand_dims(det, (-2, -1))
