"""Determinants, right also for singular matrices.

The derivative of a determinant is the adjugate. For a regular matrix, this is det(A) A^-1. For a matrix that is
singular, or close to singular, the adjugate comes from a regular block of it and from the Schur complement of this
block, in the bases of the singular vectors: the adjugate of U M V^H is det(U V^H) V adj(M) U^H.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.linalg.matrices import adjoint, require_square, transposed
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
    singular = constant_of(a, are_close_to_singular)
    if not np.any(singular):
        return scaled(det, np.linalg.inv(a))
    if np.all(singular):
        return adjugate_of_singular(a)
    singular = np.expand_dims(singular, (-2, -1))
    unit = np.eye(shape_of(a)[-1], dtype=dtype_of(a))
    inverses = np.linalg.inv(np.where(singular, unit, a))
    return np.where(singular, adjugate_of_singular(np.where(singular, a, unit)), scaled(det, inverses))


def are_close_to_singular(a: Any) -> Any:
    """For each matrix, whether the inverse has lost half of its digits; False if it has a NaN or an infinity."""
    if not a.size:
        return np.zeros(a.shape[:-2], bool)
    finite = np.isfinite(a).all(axis=(-2, -1), keepdims=True)
    conditions = np.linalg.cond(np.where(finite, a, np.eye(a.shape[-1], dtype=a.dtype)), 1)
    return conditions > np.finfo(a.dtype).eps ** -0.5


def adjugate_of_singular(a: Any) -> Any:
    """The adjugate of a singular matrix, or one close to it, by functions that have all derivatives there.

    In the bases of its singular vectors, which are constants, the matrix is [[R, B], [C, D]] with a regular block R.
    With the Schur complement S = D - C R^-1 B, the determinant is det(R) det(S). The adjugate of S, which is small, is
    a polynomial.
    """
    u, vh, rank = constant_of(a, bases_of_singular)
    m = np.matmul(adjoint(u), np.matmul(a, adjoint(vh)))
    r, b, c, d = m[..., :rank, :rank], m[..., :rank, rank:], m[..., rank:, :rank], m[..., rank:, rank:]
    inverse = np.linalg.inv(r)
    from_left, from_right = np.matmul(c, inverse), np.matmul(inverse, b)
    det, adjugate_of_s = polynomial_adjugate(d - np.matmul(from_left, b))
    upper_right, lower_left = -np.matmul(from_right, adjugate_of_s), -np.matmul(adjugate_of_s, from_left)
    upper_left = scaled(det, inverse) - np.matmul(upper_right, from_left)
    upper = np.concatenate([upper_left, upper_right], axis=-1)
    lower = np.concatenate([lower_left, adjugate_of_s], axis=-1)
    middle = scaled(np.linalg.det(r), np.concatenate([upper, lower], axis=-2))
    return scaled(np.linalg.det(np.matmul(u, vh)), np.matmul(adjoint(vh), np.matmul(middle, adjoint(u))))


def bases_of_singular(a: Any) -> tuple[Any, Any, int]:
    """The singular vectors, and of the matrix of highest nullity in the stack, the number of other singular values."""
    u, s, vh = np.linalg.svd(a)
    small = s <= np.finfo(s.dtype).eps ** 0.5 * s[..., :1]
    return u, vh, s.shape[-1] - max(1, int(small.sum(axis=-1).max()))


def polynomial_adjugate(a: Any) -> tuple[Any, Any]:
    """The determinant and the adjugate as polynomials in the elements, by Faddeev and LeVerrier."""
    size = shape_of(a)[-1]
    unit = np.eye(size, dtype=dtype_of(a))
    power = unit
    for k in range(1, size):
        product = np.matmul(a, power)
        power = product - scaled(np.trace(product, axis1=-2, axis2=-1) / k, unit)
    sign = (-1.0) ** (size - 1)
    det = sign * np.trace(np.matmul(a, power), axis1=-2, axis2=-1) / size
    return det, sign * (power if size > 1 else power + 0.0 * a)


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
