"""The shared functions of the rules of linear algebra: transposes, triangles, and NumPy's checks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.building import array
from shiftreset_ad.rules.conversion import real_part_of
from shiftreset_ad.rules.masked import Mask, where_chosen
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import LinearMap, dispatched, linear, structured

SMALL = 16  # rows
OF_PYTHON = (list, tuple, int, float, complex)


def array_of(x: Any) -> Any:
    """A list or a Python number as an array; anything else is returned as it is."""
    return array(x) if issubclass(type(x), OF_PYTHON) else x


def transposed(x: Any) -> Any:
    """Each matrix transposed."""
    return x.swapaxes(-1, -2) if type(x) is ndarray else np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """Each matrix transposed and conjugated."""
    return transposed(conjugated(x))


def diagonal_of(x: Any) -> Any:
    """The diagonal of each matrix."""
    return np.diagonal(x, axis1=-2, axis2=-1)


def on_diagonal(n: int) -> Mask:
    """The mask of the diagonal of n by n matrices."""
    return _diagonal_of_small(n) if n <= SMALL else np.eye(n, dtype=bool)


def below(n: int, k: int = 0) -> Mask:
    """The mask of the elements on and below the diagonal `k` of n by n matrices."""
    return _below_in_small(n, k) if n <= SMALL else np.tri(n, k=k, dtype=bool)


# NumPy takes longer to make these masks than to use them.


@cache
def _diagonal_of_small(n: int) -> Mask:
    return _constant(np.eye(n, dtype=bool))


@cache
def _below_in_small(n: int, k: int) -> Mask:
    return _constant(np.tri(n, k=k, dtype=bool))


def _constant(mask: Mask) -> Mask:
    mask.flags.writeable = False
    return mask


def with_diagonal(x: Any) -> Any:
    """The diagonal matrix of each vector."""
    return np.where(on_diagonal(shape_of(x)[-1]), np.expand_dims(x, -2), 0.0)


@dispatched
def hermitian_from(a: Any, triangle: Any) -> Any:
    """The Hermitian matrix with this triangle, 'L' or 'U', of `a`, as LAPACK sees it: it reads only one triangle."""
    require_square(a)
    given = strictly(triangle, shape_of(a)[-1])
    return np.where(given, a, np.where(given.T, adjoint(a), real_part_of(a)))


@structured(hermitian_from, linear=True)
def _hermitian_from(a: Any, triangle: Any) -> Any:
    size = shape_of(a)[-1]

    def transpose(y_bar: Cotangent) -> Cotangent:
        given, diagonal = strictly(triangle, size), on_diagonal(size)
        return where_chosen(given | diagonal, np.where(diagonal, real_part_of(y_bar), y_bar + adjoint(y_bar)))

    return linear(a, lambda a: hermitian_from(a, triangle), transpose)


@dispatched
def as_hermitian(a: Any, triangle: Any) -> Any:
    """`hermitian_from` for the argument of a function of Hermitian matrices, with a Hermitian gradient.

    If `a` is Hermitian, the derivative is the one of the Hermitian part (a + a^H) / 2, which has the same value there.
    For any other `a`, only the triangle counts, for the value and for the derivative.
    """
    return hermitian_from(a, triangle)


@structured(as_hermitian, linear=True)
def _as_hermitian(a: Any, triangle: Any) -> Any:
    require_square(a)
    if constant_of(a, is_hermitian):
        return as_hermitian(a, triangle), (LinearMap(hermitian_part, hermitian_part),)
    return _hermitian_from(a, triangle)


def hermitian_part(a: Any) -> Any:
    """The mean of each matrix and its adjoint; this map is its own transpose."""
    return 0.5 * (a + adjoint(a))


def is_hermitian(a: Any) -> bool:
    """Whether matrices are Hermitian, up to the rounding errors that the computation of the matrices may have left."""
    other = adjoint(a)
    if (a == other).all():
        return True
    if a.dtype.kind not in "fc":
        return False
    gap, size = np.abs(a - other), np.minimum(np.abs(a), np.abs(other))
    largest = np.max(np.abs(a), axis=(-2, -1), keepdims=True)
    return bool(np.all(gap <= np.sqrt(np.finfo(a.dtype).eps) * size + rounding_of(a, a.shape[-1]) * largest))


def strictly(triangle: Any, n: int) -> Mask:
    """The mask of a triangle, 'L' or 'U', of n by n matrices, without the diagonal."""
    return below(n, -1) if triangle == "L" else below(n, -1).T


def require_matrices(a: Any) -> None:
    """Raise NumPy's LinAlgError unless `a` has at least two dimensions."""
    ndim = len(shape_of(a))
    if ndim < 2:
        raise np.linalg.LinAlgError(f"{ndim}-dimensional array given. Array must be at least two-dimensional")


def require_square(a: Any) -> None:
    """Raise NumPy's LinAlgError unless `a` is a square matrix, or a stack of square matrices."""
    require_matrices(a)
    rows, columns = shape_of(a)[-2:]
    if rows != columns:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def rounding_of(plain: Any, n: int) -> Any:
    """The rounding error of eigenvalues and singular values of an n by n matrix, relative to the largest of them."""
    return n * np.finfo(plain.dtype).eps
