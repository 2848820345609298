"""NumPy's older functions of polynomials, which are vectors of coefficients, the highest power first."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.numpy.calculus import as_array
from shiftreset_ad.rules.numpy.shapes import astype
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured


@composite(np.polyval)
def _polyval(p: Any, x: Any) -> Any:
    """By Horner's scheme."""
    p = as_array(p)
    if isinstance(x, np.poly1d):  # the polynomial of a polynomial
        y: Any = 0
    else:
        x = as_array(x)
        y = np.zeros(shape_of(x), dtype_of(x))
    for i in range(len(p)):
        y = y * x + p[i]
    return y


@composite(np.polyder)
def _polyder(p: Any, m: int = 1) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


@composite(np.polyint)
def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = np.zeros(m) if k is None else np.stack(k) if isinstance(k, list | tuple) and len(k) else np.atleast_1d(k)
    if len(k) == 1 and m > 1:
        k = np.broadcast_to(k, (m,))
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        p = np.concatenate([p / np.arange(len(p), 0, -1), k[i : i + 1]])
    return p


@composite(np.polyadd)
def _polyadd(a1: Any, a2: Any) -> Any:
    p, q = _of_one_length(a1, a2)
    return _as_given(p + q, a1, a2)


@composite(np.polysub)
def _polysub(a1: Any, a2: Any) -> Any:
    p, q = _of_one_length(a1, a2)
    return _as_given(p - q, a1, a2)


def _as_given(p: Any, *operands: Any) -> Any:
    """The polynomial `p`, as a `poly1d` if one of the operands is a `poly1d`."""
    return np.poly1d(p) if any(isinstance(operand, np.poly1d) for operand in operands) else p


def _of_one_length(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Both vectors of coefficients, with zeros before the shorter one."""
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    missing = len(a2) - len(a1)
    if missing > 0:
        a1 = np.concatenate([np.zeros(missing, dtype_of(a1)), a1])
    elif missing < 0:
        a2 = np.concatenate([np.zeros(-missing, dtype_of(a2)), a2])
    return a1, a2


@composite(np.polymul)
def _polymul(a1: Any, a2: Any) -> Any:
    """The product without leading zeros, as in NumPy. The factors keep their leading zeros: a zero has a derivative."""
    p, q = np.atleast_1d(a1), np.atleast_1d(a2)
    if len(shape_of(p)) > 1 or len(shape_of(q)) > 1:
        raise ValueError("Polynomial must be 1d only.")
    return _as_given(np.convolve(p, q)[_leading_zeros(p) + _leading_zeros(q) :], a1, a2)


def _leading_zeros(p: Any) -> int:
    """The number of zeros at the front; the last coefficient does not count."""
    nonzero = np.flatnonzero(p)
    return int(nonzero[0]) if len(nonzero) else len(p) - 1


@composite(np.polydiv)
def _polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Synthetic division: it subtracts multiples of `v` from the front of the remainder of `u`."""
    given, u, v = (u, v), np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    dtype = dtype_of(u[0] + v[0])
    steps, size = len(u) - len(v) + 1, len(v)
    rest, scale = astype(u, dtype), 1.0 / v[0]
    quotient, left, front = [], [], rest[:size]
    for k in range(steps):
        factor = scale * front[0]
        front = front - factor * v
        quotient.append(factor)
        left.append(front[:1])  # zero except for rounding; if it is not close to zero, NumPy's remainder has it
        front = np.concatenate([front[1:], rest[size + k : size + k + 1]])
    q = np.stack(quotient) if quotient else np.zeros(1, dtype)
    r = _without_leading_zeros(np.concatenate([*left, front]))
    return _as_given(q, *given), _as_given(r, *given)


def _without_leading_zeros(r: Any) -> Any:
    """A remainder without the elements close to zero at its front, as in NumPy."""
    close = np.isclose(r, 0, rtol=1e-14)[:-1]
    return r[len(close) if close.all() else int(np.argmin(close)) :]


# Roots


@composite(np.poly)
def _poly(seq_of_zeros: Any) -> Any:
    listed = isinstance(seq_of_zeros, list | tuple)
    zeros = np.stack(seq_of_zeros) if listed else seq_of_zeros
    shape = shape_of(zeros)
    if len(shape) == 2 and shape[0] == shape[1] != 0:
        return characteristic_polynomial(zeros)
    if len(shape) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if shape == (0,):
        return 1.0
    zeros = astype(zeros, np.mintypecode(dtype_of(zeros).char))
    p = np.ones(1, dtype_of(zeros))
    for i in range(shape[0]):
        p = np.convolve(p, np.stack([np.ones((), dtype_of(zeros)), -zeros[i]]))
    return np.real(p) if is_complex(p) and _come_in_pairs(zeros) else p


def _come_in_pairs(zeros: Any) -> bool:
    """Whether the complex numbers are the same numbers as their conjugates."""
    mirrored = np.conjugate(zeros)
    return bool(np.all(zeros[np.argsort(zeros)] == mirrored[np.argsort(mirrored)]))


@dispatched
def characteristic_polynomial(matrix: Any) -> Any:
    """`np.poly` of a matrix, the coefficients of det(x I - A)."""
    return np.poly(matrix)


@structured(characteristic_polynomial)
def _characteristic_polynomial(matrix: Any) -> Any:
    """The rule, by the adjugate of x I - A, a polynomial in A. It is right also if eigenvalues are equal.

    c_k has the derivative -tr(B_k dA), where B_1 = I and B_(k+1) = A B_k + c_k I (Faddeev and LeVerrier).
    """
    c = characteristic_polynomial(matrix)
    size = shape_of(matrix)[0]
    unit = np.eye(size, dtype=dtype_of(matrix))

    def adjugate() -> Any:
        parts = [unit]
        for k in range(1, size):
            parts.append(np.matmul(matrix, parts[-1]) + c[k] * unit)
        return np.stack(parts)

    def pushforward(a_dot: Tangent) -> Tangent:
        traces = np.einsum("kij,ji->k", adjugate(), a_dot)
        return np.concatenate([np.zeros(1, dtype_of(traces)), -traces])

    return c, (LinearMap(pushforward, lambda c_bar: -np.einsum("k,kij->ji", c_bar[1:], adjugate())),)


@structured(np.roots)
def _roots(p: Any) -> Any:
    """The rule of `np.roots`, from p(r) = 0: dr = -dp(r) / p'(r). For a multiple root it is infinite or NaN."""
    roots = np.roots(p)
    shape = shape_of(p)
    size = shape[0] if shape else 1

    def slopes() -> Any:
        return np.polyval(np.polyder(np.ravel(p)), roots)

    return roots, (
        LinearMap(
            lambda p_dot: -np.polyval(np.ravel(p_dot), roots) / slopes(),
            lambda y_bar: np.reshape(np.matmul(-y_bar / slopes(), np.vander(roots, size)), shape),
        ),
    )


# Powers and fits


@structured(np.vander)
def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803 (NumPy's name)
    size = shape_of(x)[0]
    count = size if N is None else N

    def slopes() -> Any:
        """The derivatives k x**(k - 1) of x**k."""
        powers = np.vander(x, max(count - 1, 0), increasing=True) * np.arange(1, max(count, 1))
        rising = np.concatenate([np.zeros((size, min(count, 1))), powers], axis=1)
        return rising if increasing else np.flip(rising, 1)

    return np.vander(x, N, increasing), (
        LinearMap(lambda x_dot: slopes() * x_dot[:, None], lambda y_bar: np.sum(slopes() * y_bar, axis=1)),
    )


@composite(np.polyfit)
def _polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: bool | str = False
) -> Any:
    """NumPy's own steps: least squares with the powers of `x`, scaled."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    _require_fit(deg, x, y, w)
    if rcond is None:
        rcond = shape_of(x)[0] * np.finfo(dtype_of(x)).eps
    powers = np.vander(x, order)
    if w is not None:
        w = (as_array(w) + 0.0)[:, None]
        powers = powers * w
        y_weighted = y * (w if len(shape_of(y)) == 2 else w[:, 0])
    else:
        y_weighted = y
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    coefficients, residuals, rank, singular = np.linalg.lstsq(powers, y_weighted, rcond)
    coefficients = np.transpose(np.transpose(coefficients) / scale)
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=4)
    if full:
        return coefficients, residuals, rank, singular, rcond
    if not cov:
        return coefficients
    covariance = np.linalg.inv(np.dot(np.transpose(powers), powers)) / np.outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if shape_of(x)[0] <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (shape_of(x)[0] - order)
    return coefficients, (covariance if len(shape_of(y)) == 1 else covariance[:, :, None]) * factor


def _require_fit(deg: int, x: Any, y: Any, w: Any) -> None:
    """Raise NumPy's errors for wrong arguments."""
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(shape_of(x)) != 1:
        raise TypeError("expected 1D vector for x")
    if shape_of(x) == (0,):
        raise TypeError("expected non-empty vector for x")
    if len(shape_of(y)) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if shape_of(x)[0] != shape_of(y)[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None and len(shape_of(w)) != 1:
        raise TypeError("expected a 1-d array for weights")
    if w is not None and shape_of(w)[0] != shape_of(y)[0]:
        raise TypeError("expected w and y to have the same length")
