"""Condition numbers, and the rank; the rank is constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.linalg.matrices import require_square
from shiftreset_ad.rules.numpy.shapes import constant_of
from shiftreset_ad.rules.table import CONSTANT, composite

CONSTANT.add(np.linalg.matrix_rank)


@composite(np.linalg.cond)
def _cond(x: Any, p: Any = None) -> Any:
    if 0 in shape_of(x)[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    with np.errstate(all="ignore"):
        if p is None or p in {2, -2}:
            s = np.linalg.svd(x, compute_uv=False)
            largest, smallest = np.max(s, axis=-1), np.min(s, axis=-1)
            y = smallest / largest if p == -2 else largest / smallest
        else:
            require_square(x)
            singular = np.isinf(constant_of(x, lambda x: np.linalg.cond(x, p)))
            regular = np.where(np.expand_dims(singular, (-2, -1)), np.eye(shape_of(x)[-1], dtype=dtype_of(x)), x)
            y = np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(regular), p, axis=(-2, -1))
            y = np.where(singular, np.inf * np.where(singular, np.linalg.norm(x, p, axis=(-2, -1)), 1.0), y)
        # NumPy gives infinity for 0 / 0, unless the matrix itself has a NaN.
        none = np.isnan(y) & ~np.any(np.isnan(x), axis=(-2, -1))
        if not np.any(none):
            return y
        # An infinite condition number has no derivative, while a constant would have the derivative zero.
        return np.where(none, np.inf * (1.0 + np.linalg.norm(x, axis=(-2, -1))), y)
