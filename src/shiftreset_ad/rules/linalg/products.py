"""Cross products, and the functions of `numpy.linalg` that are functions of `numpy` with other defaults."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.table import composite


@composite(np.vdot)
def _vdot(a: Any, b: Any, /) -> Any:
    return np.dot(conjugated(np.ravel(array_of(a))), np.ravel(array_of(b)))


@composite(np.kron)
def _kron(a: Any, b: Any) -> Any:
    a, b = array_of(a), array_of(b)
    shape_a, shape_b = shape_of(a), shape_of(b)
    ndim = max(len(shape_a), len(shape_b))
    shape_a, shape_b = ((1,) * (ndim - len(shape)) + shape for shape in (shape_a, shape_b))
    blocks = np.reshape(a, [n for size in shape_a for n in (size, 1)])
    insides = np.reshape(b, [n for size in shape_b for n in (1, size)])
    return np.reshape(blocks * insides, [m * n for m, n in zip(shape_a, shape_b, strict=True)])


@composite(np.cross)
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(array_of(a), axisa, -1), np.moveaxis(array_of(b), axisb, -1)
    sizes = shape_of(a)[-1], shape_of(b)[-1]
    if sizes != (3, 3):
        np.cross(np.zeros(sizes[0]), np.zeros(sizes[1]))  # warns or raises as the installed NumPy does for such sizes
    if sizes == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

    def component(i: int) -> Any:
        """Component `i`; a vector of two components has a third component of zero."""
        j, k = (i + 1) % 3, (i + 2) % 3
        if k >= sizes[0] or j >= sizes[1]:
            return a[..., j] * b[..., k]
        if j >= sizes[0] or k >= sizes[1]:
            return -(a[..., k] * b[..., j])
        return a[..., j] * b[..., k] - a[..., k] * b[..., j]

    return np.moveaxis(np.stack([component(i) for i in range(3)], axis=-1), -1, axisc)


@composite(np.linalg.cross)
def _linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = array_of(x1), array_of(x2)
    sizes = shape_of(x1)[axis], shape_of(x2)[axis]
    if sizes != (3, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {sizes[0]} and {sizes[1]} dimensional instead."
        )
    return np.cross(x1, x2, axis=axis)


@composite(np.linalg.outer)
def _outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = array_of(x1), array_of(x2)
    ndims = len(shape_of(x1)), len(shape_of(x2))
    if ndims != (1, 1):
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={ndims[0]} and x2.ndim={ndims[1]}."
        )
    return np.outer(x1, x2)


@composite(np.linalg.matmul)
def _matmul(x1: Any, x2: Any, /) -> Any:
    return np.matmul(array_of(x1), array_of(x2))


@composite(np.linalg.tensordot)
def _tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(array_of(x1), array_of(x2), axes)


@composite(np.linalg.vecdot)
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return np.vecdot(np.moveaxis(array_of(x1), axis, -1), np.moveaxis(array_of(x2), axis, -1))


@composite(np.linalg.trace)
def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x, offset, -2, -1, dtype)


@composite(np.linalg.diagonal)
def _diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, -2, -1)


@composite(np.linalg.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Any:
    return np.matrix_transpose(x)
