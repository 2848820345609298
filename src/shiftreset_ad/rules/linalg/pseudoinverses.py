"""Pseudoinverses and least squares; the derivatives hold where the rank does not change.

Singular values below the cutoff count as zero. If they are zero up to rounding, the derivative is by Golub and Pereyra,
SIAM J. Numer. Anal. 1973. If `rcond` cuts off other singular values, the derivative is the one of the truncated
singular value decomposition.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import real_part_of
from shiftreset_ad.rules.linalg.matrices import adjoint, array_of, as_hermitian, require_matrices, transposed
from shiftreset_ad.rules.linalg.singular import vanishing
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import CONSTANT, LinearMap, composite, dispatched, structured

NOT_GIVEN: Any = object()


@composite(np.linalg.pinv)
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NOT_GIVEN) -> Any:
    require_matrices(a)
    if rcond is not None and rtol is not NOT_GIVEN:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is NOT_GIVEN else rtol
    if rcond is None:
        rcond = max(shape_of(a)[-2:]) * np.finfo(dtype_of(a)).eps
    if hermitian:
        a = as_hermitian(a, "L")
    rcond = np.asarray(rcond)
    return _truncated(a, rcond, hermitian) if _cuts_off(a, rcond) else pseudoinverse(a, rcond, hermitian)


def _cuts_off(a: Any, rcond: Any) -> bool:
    """Whether `rcond` cuts off a singular value that is not zero."""
    if 0 in shape_of(a):
        return False
    return bool(np.any(constant_of(a, lambda a: _small(a, rcond) & ~vanishing(_values(a)))))


def _values(a: Any) -> Any:
    return np.linalg.svd(a, compute_uv=False)


def _small(a: Any, rcond: Any) -> Any:
    """Which singular values count as zero."""
    s = _values(a)
    return s <= rcond[..., None] * np.max(s, axis=-1, keepdims=True)


def _truncated(a: Any, rcond: Any, hermitian: bool) -> Any:
    small = constant_of(a, lambda a: _small(a, rcond))
    u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    inverses = np.where(small, 0.0, 1.0 / np.where(small, 1.0, s))
    return np.matmul(adjoint(vh), np.expand_dims(inverses, -1) * adjoint(u))


@dispatched
def pseudoinverse(a: Any, rcond: Any, hermitian: bool) -> Any:
    """`np.linalg.pinv`; with `hermitian`, the matrix must be Hermitian."""
    return np.linalg.pinv(a, rcond, hermitian)


@structured(pseudoinverse)
def _pseudoinverse(a: Any, rcond: Any, hermitian: bool) -> Any:
    y = pseudoinverse(a, rcond, hermitian)

    def outside_columns(x: Any) -> Any:
        """`x` times the projection onto the vectors that are perpendicular to the columns of A."""
        return x - np.matmul(np.matmul(x, a), y)

    def outside_rows(x: Any) -> Any:
        """The projection of `x` onto the vectors that are perpendicular to the rows of A."""
        return x - np.matmul(y, np.matmul(a, x))

    def pushforward(a_dot: Tangent) -> Tangent:
        turned = adjoint(a_dot)
        by_columns = outside_columns(np.matmul(np.matmul(y, adjoint(y)), turned))
        by_rows = np.matmul(outside_rows(turned), np.matmul(adjoint(y), y))
        return by_columns + by_rows - np.matmul(np.matmul(y, a_dot), y)

    def pullback(y_bar: Cotangent) -> Cotangent:
        within = np.matmul(np.matmul(transposed(y), y_bar), transposed(y))
        back = transposed(y_bar)
        by_columns = np.matmul(back - np.matmul(a, np.matmul(y, back)), np.matmul(y, adjoint(y)))
        by_rows = np.matmul(np.matmul(adjoint(y), y), back - np.matmul(np.matmul(back, y), a))
        return conjugated(by_columns + by_rows) - within

    return y, (LinearMap(pushforward, pullback),)


@dispatched
def plain_lstsq(operands: list[Any], rcond: Any) -> Any:
    """`np.linalg.lstsq` of plain values."""
    a, b = operands
    return np.linalg.lstsq(a, b, rcond)


CONSTANT.add(plain_lstsq)


@composite(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = array_of(a), array_of(b)
    x, residuals, rank, _ = plain_lstsq([a, b], rcond)
    vector = len(shape_of(b)) == 1
    column = np.expand_dims(b, -1) if vector else b
    cutoff = np.asarray(np.finfo(float).eps * max(shape_of(a)) if rcond is None else rcond)
    if _cuts_off(a, cutoff):
        x = np.matmul(_truncated(a, cutoff, False), column)
        answer = x[..., 0] if vector else x
    else:
        answer, residuals = least_squares([a, b], rcond)
    return answer, residuals, rank, np.linalg.svd(a, compute_uv=False)


@dispatched
def least_squares(operands: list[Any], rcond: Any) -> tuple[Any, Any]:
    """The solution, and the sums of the squared residuals where `np.linalg.lstsq` gives them."""
    a, b = operands
    x, residuals, _, _ = np.linalg.lstsq(a, b, rcond)
    return x, residuals


@structured(least_squares, kept=("operands",))
def _least_squares(operands: list[Any], rcond: Any) -> Any:
    a, b = operands
    answers = least_squares(operands, rcond)
    vector = len(shape_of(b)) == 1

    def as_column(y: Any) -> Any:
        return np.expand_dims(y, -1) if vector else y

    x, target = as_column(answers[0]), as_column(b)
    rest = target - np.matmul(a, x)
    cutoff = np.finfo(float).eps * max(shape_of(a)) if rcond is None else rcond
    y = np.linalg.pinv(a, cutoff)
    counted = shape_of(answers[1]) != (0,)

    def of_residuals(change: Any) -> Any:
        if not counted:
            return np.zeros(0, dtype_of(answers[1]))
        return 2.0 * np.sum(real_part_of(conjugated(rest) * change), axis=0)

    def to_residuals(y_bar: Cotangent) -> Cotangent:
        return 2.0 * conjugated(rest) * y_bar if counted else np.zeros(shape_of(rest), dtype_of(rest))

    def pushforward_a(a_dot: Tangent) -> Tangent:
        moved = np.matmul(a_dot, x)
        turned = adjoint(a_dot)
        outside = np.matmul(turned, np.matmul(adjoint(y), x))
        x_dot = np.matmul(y, np.matmul(adjoint(y), np.matmul(turned, rest)) - moved)
        x_dot = x_dot + outside - np.matmul(y, np.matmul(a, outside))
        return (x_dot[..., 0] if vector else x_dot), -of_residuals(moved)

    def pullback_a(y_bars: Any) -> Any:
        x_bar, residual_bar = as_column(y_bars[0]), y_bars[1]
        back = np.matmul(transposed(y), x_bar)
        turned = np.matmul(np.matmul(rest, transposed(back)), adjoint(y))
        outside = np.matmul(np.matmul(adjoint(y), x), transposed(x_bar) - np.matmul(transposed(back), a))
        moved = np.matmul(back + to_residuals(residual_bar), transposed(x))
        return conjugated(turned + outside) - moved

    def pushforward_b(b_dot: Tangent) -> Tangent:
        x_dot = np.matmul(y, as_column(b_dot))
        return (x_dot[..., 0] if vector else x_dot), of_residuals(as_column(b_dot))

    def pullback_b(y_bars: Any) -> Any:
        b_bar = np.matmul(transposed(y), as_column(y_bars[0])) + to_residuals(y_bars[1])
        return b_bar[..., 0] if vector else b_bar

    return answers, ([LinearMap(pushforward_a, pullback_a), LinearMap(pushforward_b, pullback_b)],)
