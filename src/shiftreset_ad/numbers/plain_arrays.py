"""Plain arrays that are to stay as they are: views that cannot be written to, and whether an array has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.stand_ins import is_staged

UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
WITHOUT_BITS = "fcT"  # extended precision, which has unused bits, complex numbers, and strings of any length
WRITEABLE = 0x400  # a bit of `flags.num`; of some arrays, NumPy warns if it is asked for `flags.writeable`
SMALL = 4096  # elements; so few are compared as bytes, without an array of answers


def is_read_only(array: Any) -> bool:
    """Whether nobody can write to the memory of an array, not even through an array of which it is a view."""
    while isinstance(array, ndarray):
        if array.flags.num & WRITEABLE:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)


def same(array: ndarray[Any, Any], copy: ndarray[Any, Any]) -> bool:
    """Whether an array still has the same bits as its copy."""
    if array.shape != copy.shape:
        return False
    kind = UNSIGNED.get(array.dtype.itemsize)
    if kind is None and array.dtype.kind in WITHOUT_BITS:
        return np.array_equal(array, copy, equal_nan=True)
    if kind is None or array.size <= SMALL:
        return array.tobytes() == copy.tobytes()
    return bool((array.view(kind) == copy.view(kind)).all())


def read_only(x: Any) -> Any:
    """An array as a view that cannot be written to; anything else as it is."""
    if type(x) is float:  # the usual case, for speed
        return x
    if isinstance(x, ndarray):
        view = x.view()
        view.flags.writeable = False
        return view
    return x.read_only() if is_staged(x) and type(x.inside) is ndarray else x


def note_read_only(error: ValueError, remedy: str) -> None:
    """Have an error of NumPy's about a write to such a view say what to do."""
    if "read-only" in str(error):
        error.add_note(remedy)
