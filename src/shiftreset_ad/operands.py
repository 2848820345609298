"""What may stand beside a number in an elementwise operation."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.checks import require_plain
from shiftreset_ad.dispatch import Number, value


def as_operand(other: Any, x: Number, function: Callable[..., Any]) -> Any:
    """The other operand of `function` as a constant to `x`; NotImplemented if it is none, and Python asks the other."""
    if type(other) is ndarray:
        return other
    if isinstance(other, Number):  # of another kind; the operation belongs to the newer one
        return other if other.tag.serial < x.tag.serial else NotImplemented
    if isinstance(other, (list, tuple)):
        # NumPy's functions and arrays take a list for an array, and Python's floats do not.
        return np.array(other) if type(function) is np.ufunc or type(value(x)) is not float else NotImplemented
    if isinstance(other, ndarray):
        require_plain(other)
        return np.array(other)
    if isinstance(other, (complex, np.generic)):
        return other
    return float(other) if isinstance(other, Real) else NotImplemented
