"""Writing in place, in reverse mode: the way back undoes it.

A write keeps the elements that it overwrites, and the rest of the program runs. On the way back the elements are put
back, so that every earlier operation sees memory as it was at its own time; what was written gets the adjoint of that
part, which is zero from there on back, and does not count.

The memory is that of a plain array, or of an outer number: then these are writes of the outer program.
"""

from __future__ import annotations

import operator
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.notes import FUNCTION_OF
from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate
from shiftreset_ad.modes.reverse.memory import has_views, note_write, root_of, take_adjoint
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers.memory import lacks_level
from shiftreset_ad.numbers.number import copied_part, put, with_levels_of
from shiftreset_ad.numbers.tags import capture


def write(x: NumR, index: Any, item: Any) -> None:
    """x[index] = item, as an operation."""
    tag = x.tag
    operand = item if type(item) is NumR and item.tag is tag else None
    array = make_room_in_value(x, item if operand is None else operand.primal)
    old = copied_part(array, index)
    note_write(x)
    # What says whether it has been written is the last thing to change, so that an interrupt finds both or neither.
    written = [False, None]
    capture(tag, (undo, x, index, old, operand, written))
    try:
        put(array, index, item if operand is None else operand.primal)
        if tag.recorded:  # for another way back the elements are written again; by then a constant may have changed
            written[1] = copied_part(array, index)
        written[0] = True
    except BaseException:
        put(array, index, old)
        written[0] = False
        raise


def make_room_in_value(x: NumR, item: Any) -> Any:
    """The value of `x`, to which `item` can be written, although it may belong to an outer derivative."""
    array = with_levels_of(x.primal, item)
    if array is not x.primal:
        if has_views(x):
            raise lacks_level()
        x.primal = array
    return array


def undo(operation: Operation) -> None:
    """Put the old elements back, and give the adjoint of the new ones to what was written."""
    _, x, index, old, operand, (is_written, _) = operation
    if not is_written:
        return
    put(x.primal, index, old)
    x_bar = take_adjoint(x, index)
    if operand is not None and x_bar is not None:
        accumulate(operand, x_bar, owned=type(x_bar) is ndarray)


def redo(operation: Operation) -> None:
    """Write the new elements again, for another way back."""
    _, x, index, _, _, (is_written, new) = operation
    if is_written:
        put(x.primal, index, new)


def is_write(operation: Operation) -> bool:
    """Whether this is an operation that wrote in place."""
    return operation[0] is undo


def written_number(operation: Operation) -> NumR:
    """The number to which the memory belongs that was written to."""
    root: NumR = root_of(operation[1])
    return root


FUNCTION_OF[undo] = operator.setitem
