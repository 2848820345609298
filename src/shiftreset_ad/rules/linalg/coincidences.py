"""Eigenvalues and singular values that coincide, where the derivative of a vector is not determined.

Any basis of the space of a repeated eigenvalue will do, and what the derivative of one vector takes from another one of
the space is 0 / 0. Here it is zero: the basis moves with its space, and is not turned in it. That is right for a
function that does not look into the space: of the vectors of other eigenvalues, or of the projection onto the space. It
is not right for V diag(f(w)) V^T, unless f' is zero there, and nothing else would be: at the identity matrix, element
(0, 1) of e V V^T and that of V diag(exp(w)) V^T have the same derivatives in w and V, but not in the matrix. So there
is a warning.
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
    """The matrix of 1 / (w_j - w_i), with zeros for pairs that coincide, as those on the diagonal do."""
    coincide = constant_of(w, coinciding)
    gaps = np.where(coincide, 1.0, np.expand_dims(w, -2) - np.expand_dims(w, -1))
    return ~coincide / gaps


def coinciding(w: Any) -> Any:
    """Which pairs of values are the same, up to rounding."""
    largest = np.max(np.abs(w), axis=-1, initial=0.0)[..., None, None]
    return np.abs(w[..., None, :] - w[..., :, None]) <= rounding_of(w, w.shape[-1]) * largest


def coupled(function: str, values: str, w: Any, m: Any) -> Any:
    """m_ij / (w_j - w_i), and zero for pairs of `values` that coincide: RuntimeWarning if that leaves something out."""
    if _leaves_out(w, m):
        warnings.warn(
            f"{function}: some {values} coincide, and the derivatives of their vectors are taken not to turn them into "
            "each other. That is wrong for a matrix like V f(w) V^T that is made from them, and in general for second "
            f"derivatives. Use a function for the {values} alone where only these are wanted; inv, det, norm, or expm, "
            "logm and sqrtm of shiftreset_ad.scipy.linalg, where they do",
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
    except TypeError:  # many directions at once have no one value
        return True
    return bool(np.any(pairs & (sizes > rounding_of(w, shape_of(w)[-1]) * np.max(sizes, initial=0.0))))


def sum_of_products(u: Any, weights: Any, v: Any) -> Any:
    """The sum over the columns of u and v of weight * conj(u_i) v_i^T."""
    return np.matmul(conjugated(u) * np.expand_dims(weights, -2), transposed(v))
