"""Plain arrays that the way back needs again, although the program may have written to them meanwhile.

    for row in data:
        buffer[:] = row
        loss = loss + np.sum(x * buffer)        # d loss / dx needs every row, and `buffer` has the last one

A small array is copied. Of a large one a sample is kept, and a change that the sample shows is an error. (Other
libraries use whatever the array has in it by then.)
"""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from shiftreset_ad.control import ControlError, Operation
from shiftreset_ad.dispatch import Number
from shiftreset_ad.tags import Tag, capture

SMALL = 4096  # elements; to copy these takes about as long as an operation on them
SAMPLED = 256


def frozen(constant: Any, tag: Tag) -> Any:
    """A constant operand as it is now, for the way back of an operation on numbers of this tag."""
    if isinstance(constant, list):
        return [frozen(part, tag) for part in constant]
    if isinstance(constant, Number):
        if tag.recorded and type(constant).take_over is not Number.take_over:  # it can be changed in place
            capture(tag, (in_use, constant.primal))
        return constant
    if type(constant) is not ndarray:
        return constant
    if constant.size <= SMALL:
        return constant.copy()
    capture(tag, unchanged(constant))
    return constant


def in_use(operation: Operation) -> None:
    """Nothing is to be done for the value of an outer number; that it is held here has `x += v` refused."""


def unchanged(array: ndarray[Any, Any]) -> Operation:
    """The operation that raises ControlError on the way back if the array has been changed since now."""
    return verify, array, fingerprint(array)


def fingerprint(array: ndarray[Any, Any]) -> bytes:
    """All of a small array, and elements from all over a large one."""
    return (array if array.size <= SMALL else array.flat[:: array.size // SAMPLED]).tobytes()


def verify(operation: Operation) -> None:
    _, array, before = operation
    if fingerprint(array) != before:
        raise ControlError(
            f"an array of shape {array.shape} was written to after an operation of the differentiated function had "
            "used it, and the derivative needs its old values. Write to a copy, or use a copy: x * array.copy()"
        )
