"""What the rules of linear algebra share: transposes, triangles, and the checks that NumPy makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import is_complex, shape_of
from shiftreset_ad.rules.building import array
from shiftreset_ad.rules.products import conjugated


def array_of(x: Any) -> Any:
    """A list, or a number of Python, as an array; anything else as it is."""
    return array(x) if isinstance(x, list | tuple | int | float | complex) else x


def transposed(x: Any) -> Any:
    """Each matrix transposed."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """Each matrix transposed and conjugated."""
    return np.swapaxes(conjugated(x), -1, -2)


def real_part_of(x: Any) -> Any:
    """The real part; of real numbers, these themselves."""
    return np.real(x) if is_complex(x) else x


def diagonal_of(x: Any) -> Any:
    """The diagonal of each matrix."""
    return np.diagonal(x, axis1=-2, axis2=-1)


def with_diagonal(x: Any) -> Any:
    """The diagonal matrix of each vector."""
    return np.where(np.eye(shape_of(x)[-1], dtype=bool), np.expand_dims(x, -2), 0.0)


def lower_triangle(x: Any, k: int = 0) -> Any:
    """What is on and below the diagonal `k` of each matrix, and zeros."""
    rows, columns = shape_of(x)[-2:]
    return np.where(np.tri(rows, columns, k, bool), x, 0.0)


def hermitian_from(triangle: Any, a: Any) -> Any:
    """The Hermitian matrix with this triangle, 'L' or 'U', of `a`: what LAPACK takes it for, as it reads no more."""
    require_square(a)
    given = np.tri(shape_of(a)[-1], k=-1, dtype=bool)
    if triangle == "U":
        given = given.T
    return np.where(given, a, np.where(given.T, adjoint(a), real_part_of(a)))


def require_matrices(a: Any) -> None:
    """Raise NumPy's LinAlgError unless `a` has two dimensions at least."""
    ndim = len(shape_of(a))
    if ndim < 2:
        raise np.linalg.LinAlgError(f"{ndim}-dimensional array given. Array must be at least two-dimensional")


def require_square(a: Any) -> None:
    """Raise NumPy's LinAlgError unless `a` is a square matrix, or a stack of some."""
    require_matrices(a)
    rows, columns = shape_of(a)[-2:]
    if rows != columns:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def rounding_of(plain: Any, n: int) -> Any:
    """How much rounding an eigenvalue or a singular value has, relative to the largest one of an n by n matrix."""
    return n * np.finfo(plain.dtype).eps
