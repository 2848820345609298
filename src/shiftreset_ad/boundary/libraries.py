"""Where derivatives of values of different libraries meet.

A derivative of a value is an array of the library of the value, on the same device. Rules make zeros and ones from
shapes alone. These are plain arrays, which are converted where they meet others, and here at the latest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.array_api.libraries import MET
from shiftreset_ad.array_api.promotion import in_dtype
from shiftreset_ad.array_api.standard import Standard
from shiftreset_ad.numbers.number import Number, innermost
from shiftreset_ad.rules.broadcasting import dtype_of


def as_the_users(x: Any, derivative: Any) -> Any:
    """A derivative of the value `x`, which stands for an array of NumPy, as the user gets it; None is zero."""
    if isinstance(x, Standard):
        return in_library_of(x, np.zeros(x.shape, x.dtype) if derivative is None else +derivative)
    return x.own(derivative)


def in_library_of(x: Any, derivative: Any) -> Any:
    """A derivative of the value `x`, or a part of a derivative, as an array of the library of `x`."""
    if not MET:  # the usual case, for speed
        return derivative
    here, there = innermost(derivative), innermost(x)
    if isinstance(there, Standard):
        if isinstance(here, Standard):
            return derivative
        if isinstance(derivative, Number):
            return derivative * there.full((), 1, dtype_of(derivative))
        return in_dtype(dtype_of(derivative), derivative, like=there)[0]
    if isinstance(derivative, Standard):
        plain = derivative.to_numpy()
        return plain if isinstance(there, np.ndarray) else plain[()]
    return derivative
