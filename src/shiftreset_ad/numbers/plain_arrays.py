"""Whether a plain array is still what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def is_read_only(array: Any) -> bool:
    """Whether nobody can write to the memory of an array, not even through an array of which it is a view."""
    while isinstance(array, ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)


def same(array: ndarray[Any, Any], copy: ndarray[Any, Any]) -> bool:
    """Whether an array still has the same bits as its copy."""
    kind = UNSIGNED.get(array.dtype.itemsize)
    if kind is None:  # complex numbers, or extended precision
        return array.shape == copy.shape and np.array_equal(array, copy, equal_nan=True)
    return array.shape == copy.shape and bool((array.view(kind) == copy.view(kind)).all())
