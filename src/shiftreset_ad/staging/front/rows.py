"""A few rows of an array by a display of their numbers, as in `a[[i, j]] = a[[j, i]]`: each row is one of its own.

A row at a staged number is a step that has derivatives and native code, where the steps would have to look into an
array of such numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.number import in_memory
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.staging.front.session import current
from shiftreset_ad.staging.steps.values import unstaged

MOST = 8  # rows


def are_rows(x: Any, index: Any) -> bool:
    """Whether an index is a list of integers, some of them staged, for an array whose rows lie one after another."""
    session = current()
    if type(index) is not list or session is None or not 0 < len(index) <= MOST:
        return False
    control, array = session.control, unstaged(in_memory(x))
    if not any(map(control.is_staged, index)) or not isinstance(array, ndarray):
        return False
    kinds = [control.type_of(i) for i in index]
    is_usual = array.ndim > 0 and array.flags.c_contiguous
    return is_usual and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)


def parts_for(x: Any, index: Any, item: Any) -> list[Any] | None:
    """What each of these rows gets of an item; None if they are no such rows, or if NumPy is to say why it cannot."""
    if not are_rows(x, index):
        return None
    ndim, shape = len(shape_of(x)), shape_of(item)
    if len(shape) < ndim:
        return [item] * len(index)
    if len(shape) > ndim or shape[0] not in (1, len(index)):
        return None
    arrays = unstaged(in_memory(item)), unstaged(in_memory(x))
    if isinstance(arrays[0], ndarray) and np.may_share_memory(*arrays):
        item = np.copy(item)  # NumPy reads all of it before it writes
    return [item[0 if shape[0] == 1 else i] for i in range(len(index))]
