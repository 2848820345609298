"""Writing in place, in reverse mode: the way back undoes it.

A write keeps the elements that it overwrites, and the rest of the program runs. On the way back the elements are put
back, so every earlier operation sees memory as it was at its own time. The value that was written gets the adjoint of
this part. Then this part of the adjoint is zero, and does not count. If no earlier operation reads the memory, nothing
is kept and put back.

The memory belongs to a plain array, or to an outer number. The outer program records the writes to an outer number.
"""

from __future__ import annotations

import operator
from typing import Any

from numpy import ndarray

from shiftreset_ad.boundary.notes import FUNCTION_OF
from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate
from shiftreset_ad.modes.reverse.memory import has_views, note_write, root_of, take_adjoint, waiting, with_elements
from shiftreset_ad.modes.reverse.number import NumR, capture
from shiftreset_ad.modes.reverse.shells import Shell
from shiftreset_ad.numbers.memory import lacks_level
from shiftreset_ad.numbers.number import copied_part, in_memory, put, with_levels_of
from shiftreset_ad.rules.stand_ins import is_staged


def write(x: NumR, index: Any, item: Any) -> None:
    """x[index] = item, as an operation."""
    tag = x.tag
    operand, value = None, item
    if type(item) is NumR and item.tag is tag:
        operand, value = waiting(item, is_read=False), item.primal
    array = make_room_in_value(x, value)
    old = copied_part(array, index)
    root = note_write(x)
    is_read = type(root) is not Shell or root.is_read or tag.is_read_later or type(array) is not ndarray
    # The mark `written[0]` changes last, so that an interrupt leaves the write made and marked, or neither.
    written = [False, None]
    capture(tag, (undo, with_elements(x), index, old if is_read else None, operand, written))
    try:
        put(array, index, value)
        if tag.recorded:  # another way back writes the elements again; a constant may have changed by then
            written[1] = copied_part(array, index)
        written[0] = True
    except BaseException:
        put(array, index, old)
        written[0] = False
        raise


def make_room_in_value(x: NumR, item: Any) -> Any:
    """The value of `x`, with the levels of `item`, so that `item` can be written to it."""
    before = x.primal
    array = with_levels_of(before, item)
    if array is not before:
        if has_views(x):
            raise lacks_level()
        place = with_elements(x)
        if plain_array_of(array) is not plain_array_of(before):
            capture(x.tag, (move_back, place, before, array))
        place.primal = x.primal = array
    return array


def plain_array_of(x: Any) -> Any:
    """The array of NumPy's in which the elements of `x` lie."""
    found = in_memory(x)
    return found.inside if is_staged(found) else found


def move_back(operation: Operation) -> None:
    """Give the number its memory from before a write that needed another level, and so new memory.

    Earlier operations read the old memory, and earlier writes are undone there.
    """
    _, x, before, _ = operation
    x.primal = before


def undo(operation: Operation) -> None:
    """Put the old elements back, and give the adjoint of the new elements to the number that was written."""
    _, x, index, old, operand, (is_written, _) = operation
    if not is_written:
        return
    if old is not None:
        put(x.primal, index, old)
    x_bar = take_adjoint(x, index)
    if operand is not None and x_bar is not None:
        accumulate(operand, x_bar, owned=type(x_bar) is ndarray)


def redo(operation: Operation) -> None:
    """Write the new elements again, for another way back."""
    if operation[0] is move_back:
        _, x, _, x.primal = operation
        return
    _, x, index, _, _, (is_written, new) = operation
    if is_written:
        put(x.primal, index, new)


def writes_among(operations: list[Operation]) -> list[Operation]:
    """The operations that wrote in place, or made room for a write."""
    return [operation for operation in operations if operation[0] is undo or operation[0] is move_back]


def written_number(operation: Operation) -> NumR:
    """The number that owns the memory to which this operation wrote."""
    root: NumR = root_of(operation[1])
    return root


FUNCTION_OF[undo] = operator.setitem
