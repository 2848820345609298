"""An array at an index that is a value: where the elements lie, and whether the index is in the array.

The integers of an index are values, and so may be the ends of its slices. The lengths of the slices are known: where
one has another length, the code leaves. So the elements have a layout that is known, and begin at an address that is
not.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.layouts import Layout, layout_of, place_in, untouched, view_at
from shiftreset_ad.staging.native.llvm import INTEGER, LEAVE, Code, form_of, refuse
from shiftreset_ad.staging.native.places import counted_from_the_first
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

PARTS = (int, np.int64, slice, type(None), type(Ellipsis))


class ArrayPart(NamedTuple):
    """A part of an array: an address in the array, and from there the offset of the first element, and the layout."""

    address: str
    first: int
    layout: Layout


def is_at_values(step: Step) -> bool:
    """Whether a step takes the elements of an array at an index that is a value."""
    return step.function is operator.getitem and is_staged(step.args[1])


def part_at(code: Code, address: str, x: ndarray[Any, Any], index: Any) -> ArrayPart:
    """The part of an array at an index. The code leaves if it is not in the array, or names more or fewer elements."""
    if not is_at_integers(index):
        refuse(f"{name_in_program(operator.getitem)} by these values has no native form")
    parts = list(index) if type(index) is tuple else [index]
    axis = 0
    for i, part in enumerate(parts):
        if part is Ellipsis:
            axis = x.ndim - sum(1 for later in parts[i + 1 :] if later is not None)
        elif part is not None:
            if type(part) is Staged:
                address = moved(code, address, part, x.shape[axis], x.strides[axis])
                parts[i] = 0
            elif type(part) is slice and is_staged(part):
                address, width = _window(code, address, part, x.shape[axis], x.strides[axis])
                parts[i] = slice(width)
            axis += 1
    whole = untouched(layout_of(x))
    return ArrayPart(address, *place_in(whole, view_at(whole, tuple(parts))))


def is_at_integers(index: Any) -> bool:
    """Whether an index has integers and slices, whose ends may be values. It names each position once."""
    parts = index if type(index) is tuple else (index,)
    return not any(
        type(unstaged(part)) not in PARTS or (type(part) is slice and _has_other_step(part)) for part in parts
    )


def _has_other_step(part: slice) -> bool:
    """Whether a slice between values takes not each element."""
    return is_staged(part) and (is_staged(part.step) or part.step not in (None, 1))


def moved(code: Code, address: str, index: Staged, length: int, stride: int) -> str:
    """The address of the row at an index. If there is none, the code leaves, and has the address of the first row."""
    if form_of(index.inside) != INTEGER:
        refuse("it indexes by something else than an integer")
    i = code.integer(index)
    if code.leaves_at_once:
        row = _row_of_usual(code, i, length)
    else:
        row, is_out = checked(code, i, length)
        code.leave_if(is_out)
    return code.new(f"getelementptr i8, ptr {address}, i64 {code.new(f'mul nsw i64 {row}, {stride}')}")


def _window(code: Code, address: str, part: slice, length: int, stride: int) -> tuple[str, int]:
    """The address where the elements between two values begin, and how many there are."""
    width = len(range(*unstaged(part).indices(length)))
    start, stop = _end(code, part.start, 0, length), _end(code, part.stop, length, length)
    is_other = code.new(f"icmp ne i64 {code.new(f'sub i64 {stop}, {start}')}, {width}")
    if code.leaves_at_once:
        code.exit_if(is_other, LEAVE)
    else:
        code.leave_if(is_other)
        start = code.new(f"select i1 {is_other}, i64 0, i64 {start}")
    return code.new(f"getelementptr i8, ptr {address}, i64 {code.new(f'mul nsw i64 {start}, {stride}')}"), width


def _end(code: Code, end: Any, default: int, length: int) -> str:
    """The end of a slice as a number from zero to the length. A negative one counts from the end."""
    if end is None:
        return f"{default}"
    if type(end) is not Staged:
        return f"{slice(end).indices(length)[1]}"
    if form_of(end.inside) != INTEGER:
        refuse("it slices between others than integers")
    i = counted_from_the_first(code, code.integer(end), length)
    i = code.new(f"select i1 {code.new(f'icmp slt i64 {i}, 0')}, i64 0, i64 {i}")
    return code.new(f"select i1 {code.new(f'icmp sgt i64 {i}, {length}')}, i64 {length}, i64 {i}")


def _row_of_usual(code: Code, i: str, length: int) -> str:
    """The number of the row that an index names. The code leaves here if it names none."""
    from_last = code.new(f"add i64 {i}, {length}")
    code.exit_if(code.new(f"icmp uge i64 {from_last}, {2 * length}"), LEAVE)
    return code.new(f"select i1 {code.new(f'icmp slt i64 {i}, 0')}, i64 {from_last}, i64 {i}")


def checked(code: Code, i: str, length: int) -> tuple[str, str]:
    """The number of the row that an index names, or else 0; and whether it names none."""
    from_last = code.new(f"add i64 {i}, {length}")
    is_out = code.new(f"icmp uge i64 {from_last}, {2 * length}")
    is_before, is_in = code.new(f"icmp ult i64 {from_last}, {length}"), code.new(f"icmp ult i64 {i}, {length}")
    row = code.new(f"select i1 {is_in}, i64 {i}, i64 0")
    return code.new(f"select i1 {is_before}, i64 {from_last}, i64 {row}"), is_out
