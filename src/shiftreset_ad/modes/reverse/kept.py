"""Plain arrays that the way back needs as they were, although the program may write to them later.

    for row in data:
        buffer[:] = row
        loss = loss + np.sum(x * buffer)        # d loss / dx needs every row, and `buffer` has only the last row

So an operation keeps a copy. Unless the array is tiny, it shares the copy of an earlier operation if the array has not
changed since: each copy takes new memory, and to get new memory takes longer than to compare. An array that nobody can
write to is kept as it is.
"""

from __future__ import annotations

from typing import Any, cast
from weakref import ref

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api import Standard
from shiftreset_ad.array_api.libraries import is_sparse
from shiftreset_ad.control import ControlError, Operation
from shiftreset_ad.modes.reverse.memory import has_been_written
from shiftreset_ad.numbers.number import Number, in_memory
from shiftreset_ad.numbers.plain_arrays import is_read_only, same
from shiftreset_ad.numbers.sparse import arrays_of
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.broadcasting import FLOAT64, shape_of
from shiftreset_ad.rules.stand_ins import is_staged

TINY = 512  # elements; a copy takes less time than it takes to find out whether the array may be written to
SMALL = 4096  # elements; so few are compared with the bits of the copy, which are kept, too
BITS = frozenset("fiub")  # the kinds of elements that are the same if their bits are


def frozen(constant: Any, tag: Tag) -> Any:
    """A constant operand as it is now, for the way back of an operation on numbers of this tag."""
    if type(constant) is ndarray and (constant.dtype is FLOAT64 or not constant.dtype.hasobject):
        return constant.copy("K") if constant.size <= TINY else shared_copy(constant, tag)
    if type(constant) is list:
        return [frozen(element, tag) for element in constant]
    if isinstance(constant, Number):
        is_array = shape_of(constant) or type(in_memory(constant)) is ndarray  # such as the view x[..., 0]
        is_copied = is_array and (tag.recorded or tag.copies_all or may_change(constant))
        return np.positive(cast(Any, constant)) if is_copied else constant
    if type(constant) is Standard:
        return frozen_of_other_library(constant, tag) if constant.shared else constant
    if is_staged(constant):
        return constant.frozen()
    if isinstance(constant, ndarray):  # of a subclass, or of objects
        return constant.copy("K")
    return frozen_sparse(constant, tag) if is_sparse(constant) else constant


class Copied:
    """A copy of an array, by a reference that does not keep it alive: the operations hold the copy.

    `bits` of the copy are kept if it is compared with the array often: None before the first comparison, and False if
    the array is large, or is not the same as soon as its bits are.
    """

    __slots__ = ("bits", "copy")

    def __init__(self, copy: ndarray[Any, Any]) -> None:
        self.copy = ref(copy)
        self.bits: bytes | bool | None = None if copy.size <= SMALL and copy.dtype.kind in BITS else False


def shared_copy(constant: ndarray[Any, Any], tag: Tag) -> ndarray[Any, Any]:
    """A copy of an array, that of an earlier operation if nothing has changed; the array itself if nothing can."""
    known = tag.copies.get(id(constant))
    # If it is the copy of another array, which is gone and had this id, it has the same elements all the same.
    if type(known) is Copied and (copy := known.copy()) is not None:
        bits = known.bits
        if bits is None:
            known.bits = bits = copy.tobytes()
        is_alike = constant.shape == copy.shape and constant.dtype is copy.dtype
        if is_alike and (constant.tobytes() == bits if bits else same(constant, copy)):
            return copy
    elif is_read_only(constant):
        return constant
    copy = constant.copy("K")
    tag.copies[id(constant)] = Copied(copy)
    return copy


def frozen_of_other_library(constant: Standard, tag: Tag) -> Standard:
    """A copy of an array of another library, which the program may change."""
    if constant.size <= SMALL:
        return constant.unshared()
    known = tag.copies.get(id(constant.array))
    if type(known) is tuple and np.array_equal(constant, known[1]):
        return known[1]  # type: ignore[no-any-return]
    copy = constant.unshared()
    tag.copies[id(constant.array)] = constant.array, copy
    return copy


def frozen_sparse(constant: Any, tag: Tag) -> Any:
    """A copy of a sparse matrix, which the program may change."""
    now = arrays_of(constant)
    known = tag.copies.get(id(constant))
    if type(known) is tuple and all(map(same, now, arrays_of(known[1]))):
        return known[1]
    copy = constant.copy()
    tag.copies[id(constant)] = constant, copy
    return copy


def may_change(x: Any) -> bool:
    """Whether the array of `x`, a number of another derivative, may change before the way back of this derivative.

    The program cannot write to the array meanwhile, but a way back that undoes a write can.
    """
    return has_been_written(x) if hasattr(x, "adjoint") else True


def unchanged(array: ndarray[Any, Any]) -> Operation:
    """An operation that raises ControlError on the way back if the argument `array` has changed by then."""
    return verify, array, array.copy("K")


def verify(operation: Operation) -> None:
    _, array, before = operation
    if not same(array, before):
        raise ControlError(
            f"the program wrote to an argument, an array of shape {array.shape}, while its derivative was computed. "
            "The derivative needs the old values. Write to a copy, or give the derivative a copy: x.copy()"
        )
