"""Norms of vectors and matrices.

A norm has no derivative at 0, and some norms have none at other points. There, the rules give the subgradient of least
length, as for `absolute` and `hypot`: 0 at 0, 0 for an element or a singular value that is zero, and equal shares for
elements that tie.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import real_part_of
from shiftreset_ad.rules.linalg.matrices import adjoint
from shiftreset_ad.rules.linalg.singular import decomposition, inverse_or_zero, inverse_sums
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.reductions import lined_up
from shiftreset_ad.rules.numpy.shapes import astype, normalize_axes
from shiftreset_ad.rules.table import LinearMap, composite, dispatched, structured


@composite(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002 (NumPy's name)
    ndim = len(shape_of(x))
    if axis is None:
        if ord is None or (ord in ("f", "fro") and ndim == 2) or (ord == 2 and ndim == 1):
            return length(x, tuple(range(ndim)), keepdims)
        axes = tuple(range(ndim))
    else:
        axes = normalize_axes(axis, ndim)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    y = _of_matrices(x, ord, axes)
    return np.expand_dims(y, axes) if keepdims else y


@composite(np.linalg.vector_norm)
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002
    ndim = len(shape_of(x))
    axes = tuple(range(ndim)) if axis is None else normalize_axes(axis, ndim)
    return _of_vectors(x, ord, axes, keepdims)


@composite(np.linalg.matrix_norm)
def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:  # noqa: A002
    return np.linalg.norm(x, axis=(-2, -1), keepdims=keepdims, ord=ord)


def _of_vectors(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The norms of all elements along these axes."""
    if order is None or order == 2:
        return length(x, axes, keepdims)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order == 0:
        return np.sum(astype(x != 0, real_dtype(x)), axis=axes, keepdims=keepdims)
    if order == 1:
        return np.sum(np.absolute(x), axis=axes, keepdims=keepdims)
    if math.isinf(order):
        return _extreme(np.absolute(x), order > 0, axes, keepdims)
    return p_norm(x, order.item() if isinstance(order, np.generic) else order, axes, keepdims)


def _of_matrices(x: Any, order: Any, axes: tuple[int, ...]) -> Any:
    rows, columns = axes
    if order in (None, "fro", "f"):
        return length(x, axes, False)
    if order in ("nuc", 2, -2):
        matrices = np.moveaxis(x, axes, (-2, -1))
        if order == "nuc":
            return nuclear_norm(matrices)
        return _extreme(np.linalg.svd(matrices, compute_uv=False), order > 0, (-1,), False)
    if order in (1, -1, math.inf, -math.inf):
        summed, other = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = np.sum(np.absolute(x), axis=summed)
        return _extreme(sums, order > 0, (other - (summed < other),), False)
    raise ValueError("Invalid norm order for matrices.")


def _extreme(x: Any, largest: bool, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The largest or the smallest element along these axes; without elements, the largest is 0."""
    shape = shape_of(x)
    if not largest:
        return np.min(x, axis=axes, keepdims=keepdims)
    if any(shape[i] == 0 for i in axes):
        return np.sum(x, axis=axes, keepdims=keepdims)
    return np.max(x, axis=axes, keepdims=keepdims)


def real_dtype(x: Any) -> Any:
    """The dtype of the absolute values."""
    return np.finfo(dtype_of(x)).dtype


# Norms of vectors


@dispatched
def length(x: Any, axes: Any, keepdims: Any) -> Any:
    """The root of the sum of the squares of the absolute values."""
    if axes == tuple(range(np.ndim(x))):
        return np.linalg.norm(x, keepdims=keepdims)
    return np.sqrt(np.add.reduce((np.conjugate(x) * x).real, axis=axes, keepdims=keepdims))


@structured(length)
def _length(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    y, shape = length(x, axes, keepdims), shape_of(x)

    def direction() -> Any:
        """The conjugate of x divided by the length. Where the length is 0, it is 0, and so are all its derivatives."""
        whole = lined_up(y, shape, axes)
        zero = whole == 0
        if type(zero) is np.bool_ and not zero:
            return conjugated(x) / whole
        return np.where(zero, 0.0, conjugated(x) / np.where(zero, 1.0, whole))

    return y, (
        LinearMap(
            lambda x_dot: np.sum(real_part_of(direction() * x_dot), axis=axes, keepdims=keepdims),
            lambda y_bar: direction() * lined_up(y_bar, shape, axes),
        ),
    )


@dispatched
def p_norm(x: Any, order: Any, axes: Any, keepdims: Any) -> Any:
    """The p-norm: the sum of the absolute values to the power of `order`, to the power of 1 / order."""
    powers = np.add.reduce(np.abs(x) ** order, axis=axes, keepdims=keepdims)
    return powers ** np.reciprocal(order, dtype=powers.dtype)


@structured(p_norm)
def _p_norm(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    y, shape = p_norm(x, order, axes, keepdims), shape_of(x)

    def direction() -> Any:
        """The conjugate of sign(x) (|x| / y) ** (order - 1), and 0 where x is 0."""
        whole = lined_up(y, shape, axes)
        none = (x == 0) | (whole == 0)
        shares = np.where(none, 1.0, np.absolute(x)) / np.where(none, 1.0, whole)
        return np.where(none, 0.0, conjugated(np.sign(x)) * shares ** (order - 1))

    return y, (
        LinearMap(
            lambda x_dot: np.sum(real_part_of(direction() * x_dot), axis=axes, keepdims=keepdims),
            lambda y_bar: direction() * lined_up(y_bar, shape, axes),
        ),
    )


# The nuclear norm. Its derivative is the unitary factor of the polar decomposition, also for equal singular values


@dispatched
def nuclear_norm(a: Any) -> Any:
    """The sum of the singular values."""
    return np.sum(np.linalg.svd(a, compute_uv=False), axis=-1)


@structured(nuclear_norm)
def _nuclear_norm(a: Any) -> Any:
    def pushforward(a_dot: Tangent) -> Tangent:
        return np.sum(real_part_of(conjugated(polar_factor(a)) * a_dot), axis=(-2, -1))

    def pullback(y_bar: Cotangent) -> Cotangent:
        return np.expand_dims(y_bar, (-2, -1)) * conjugated(polar_factor(a))

    return nuclear_norm(a), (LinearMap(pushforward, pullback),)


@dispatched
def polar_factor(a: Any) -> Any:
    """U V^H of the singular value decomposition, without the vectors of singular values that are exactly zero."""
    u, s, vh = decomposition(a, False)
    return np.matmul(u * (s != 0)[..., None, :], vh)


@structured(polar_factor)
def _polar_factor(a: Any) -> Any:
    """The rule. For A = U diag(s) V^H and M = U^H A_dot V, the derivative is U X V^H plus a part with 1 / s.

    X_ij is (M - M^H)_ij / (s_i + s_j). The part with 1 / s is perpendicular to U or V. This map is its own adjoint.
    """
    rows, columns = shape_of(a)[-2:]

    def pushforward(a_dot: Tangent) -> Tangent:
        u, s, vh = decomposition(a, False)
        image = np.matmul(a_dot, adjoint(vh))
        m = np.matmul(adjoint(u), image)
        change = np.matmul(u, np.matmul(inverse_sums(s) * (m - adjoint(m)), vh))
        inverses = np.expand_dims(inverse_or_zero(s), -2)
        if rows > columns:
            change = change + np.matmul(inverses * (image - np.matmul(u, m)), vh)
        if rows < columns:
            beside = np.matmul(adjoint(a_dot), u) - np.matmul(adjoint(vh), adjoint(m))
            change = change + np.matmul(u, adjoint(inverses * beside))
        return change

    def pullback(y_bar: Cotangent) -> Cotangent:
        return conjugated(pushforward(conjugated(y_bar)))

    return polar_factor(a), (LinearMap(pushforward, pullback),)
