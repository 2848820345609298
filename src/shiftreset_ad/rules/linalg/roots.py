"""The inverse of the Cholesky factor: W with W A W^T = 1, and W_dot = -half(W A_dot W^T) W.

It is not entered with the rules of `numpy.linalg`, because only SciPy has LAPACK's inverse of a triangular matrix.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.linalg.factorizations import lower_half
from shiftreset_ad.rules.linalg.matrices import transposed
from shiftreset_ad.rules.table import LinearMap, dispatched, structured

_invert: Any = import_module("scipy.linalg").lapack.dtrtri


@dispatched
def inverse_root(a: Any) -> Any:
    """The inverse of the lower Cholesky factor of a symmetric real matrix in double precision."""
    return _invert(np.linalg.cholesky(a), lower=1)[0]


@structured(inverse_root)
def _inverse_root(a: Any) -> Any:
    y = inverse_root(a)

    def pushforward(a_dot: Tangent) -> Tangent:
        return -np.matmul(lower_half(np.matmul(y, np.matmul(a_dot, transposed(y)))), y)

    def pullback(y_bar: Cotangent) -> Cotangent:
        inner_bar = lower_half(np.matmul(y_bar, transposed(y)))
        return -np.matmul(transposed(y), np.matmul(inner_bar, y))

    return y, (LinearMap(pushforward, pullback),)
