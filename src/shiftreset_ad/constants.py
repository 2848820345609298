"""Plain arrays that the way back needs again, although the program may have written to them meanwhile.

    for row in data:
        buffer[:] = row
        loss = loss + np.sum(x * buffer)        # d loss / dx needs every row, and `buffer` has the last one

So an operation keeps a copy; of a large array, the one that an earlier operation made, if nothing has changed since.
An array that can never be written to is kept as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.control import ControlError, Operation
from shiftreset_ad.dispatch import Number
from shiftreset_ad.tags import Tag, capture

SMALL = 4096  # elements; to copy these takes about as long as an operation on them, and to compare is no quicker
UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def frozen(constant: Any, tag: Tag) -> Any:
    """A constant operand as it is now, for the way back of an operation on numbers of this tag."""
    if isinstance(constant, list):
        return [frozen(part, tag) for part in constant]
    if isinstance(constant, Number):
        if tag.recorded:
            capture(tag, (in_use, constant.inside))
        return constant
    if type(constant) is not ndarray or constant.dtype.hasobject:
        return constant
    if constant.size <= SMALL:
        return constant.copy("K")
    if is_read_only(constant):
        return constant
    known = tag.copies.get(id(constant))
    if known is not None and same(constant, known[1]):
        return known[1]
    copy = constant.copy("K")
    tag.copies[id(constant)] = constant, copy  # the array too, so that no other one gets its id
    return copy


def in_use(operation: Operation) -> None:
    """Nothing is to be done for the value of an outer number; that it is held here has `x += v` refused."""


def is_read_only(array: Any) -> bool:
    """Whether nobody can write to the memory of an array, not even through the array that it is a view of."""
    while isinstance(array, ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)


def same(array: ndarray[Any, Any], copy: ndarray[Any, Any]) -> bool:
    """Whether an array still has the very bits of its copy."""
    kind = UNSIGNED.get(array.dtype.itemsize)
    if kind is None:  # a complex or an extended number
        return array.shape == copy.shape and np.array_equal(array, copy, equal_nan=True)
    return array.shape == copy.shape and bool((array.view(kind) == copy.view(kind)).all())


def unchanged(array: ndarray[Any, Any]) -> Operation:
    """The operation that raises ControlError on the way back if an argument has been changed since now."""
    return verify, array, array.copy("K")


def verify(operation: Operation) -> None:
    _, array, before = operation
    if not same(array, before):
        raise ControlError(
            f"an argument, an array of shape {array.shape}, was written to while its derivative was computed, which "
            "needs its old values. Write to a copy, or give the derivative one: x.copy()"
        )
