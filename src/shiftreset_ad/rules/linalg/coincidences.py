"""Eigenvalues and singular values that coincide: here the derivative of a vector is not determined.

For a repeated eigenvalue, any basis of its space is a basis of eigenvectors. The share of one basis vector in the
derivative of another is 0 / 0. Here it is zero: the basis moves with its space, and does not turn in the space. This is
right for a function that does not look into the space: a function of the vectors of other eigenvalues, or of the
projection onto the space. It is not right for V diag(f(w)) V^T, unless f' is zero there, and no other choice would be
right: at the identity matrix, the elements (0, 1) of e V V^T and of V diag(exp(w)) V^T have the same derivatives in w
and V, but different ones in the matrix. So there is a warning.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.linalg.matrices import rounding_of, transposed
from shiftreset_ad.rules.numpy.products import conjugated
from shiftreset_ad.rules.numpy.shapes import constant_of


def couplings(w: Any) -> Any:
    """The matrix of 1 / (w_j - w_i), with zeros for pairs that coincide, and so on the diagonal."""
    coincide = constant_of(w, coinciding)
    gaps = np.where(coincide, 1.0, np.expand_dims(w, -2) - np.expand_dims(w, -1))
    return ~coincide / gaps


def coinciding(w: Any) -> Any:
    """Which pairs of values are the same, up to rounding."""
    largest = np.max(np.abs(w), axis=-1, initial=0.0)[..., None, None]
    return np.abs(w[..., None, :] - w[..., :, None]) <= rounding_of(w, w.shape[-1]) * largest


def coupled(function: str, values: str, w: Any, m: Any) -> Any:
    """m_ij / (w_j - w_i), and zero for pairs of `values` that coincide; RuntimeWarning if this drops a nonzero m_ij."""
    if _leaves_out(w, m):
        warnings.warn(
            f"{function}: some {values} coincide, and the derivatives assume that their vectors do not turn into each "
            "other. This is wrong for a matrix like V f(w) V^T that is made from them, and in general for second "
            f"derivatives. If you need only the {values}, use a function for these alone. If inv, det or norm is "
            "enough, or expm, logm or sqrtm of shiftreset_ad.scipy.linalg, use it",
            RuntimeWarning,
            stacklevel=2,
        )
    return couplings(w) * m


def _leaves_out(w: Any, m: Any) -> bool:
    pairs = constant_of(w, coinciding) & ~np.eye(shape_of(w)[-1], dtype=bool)
    if not np.any(pairs):
        return False
    try:
        sizes = constant_of(m, np.abs)
    except TypeError:  # many directions at once have no single value
        return True
    return bool(np.any(pairs & (sizes > rounding_of(w, shape_of(w)[-1]) * np.max(sizes, initial=0.0))))


def sum_of_products(u: Any, weights: Any, v: Any) -> Any:
    """The sum over the columns of u and v of weight * conj(u_i) v_i^T."""
    return np.matmul(conjugated(u) * np.expand_dims(weights, -2), transposed(v))
