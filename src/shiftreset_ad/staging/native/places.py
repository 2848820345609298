"""The code of steps that find a place in a list whose length depends on values. It leaves if there is no such place."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.native.llvm import Code


def place_of_item(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    """The place of the item at an index, counted from the beginning of a list."""
    index, length = map(code.integer, args[:2])
    place = counted_from_the_first(code, index, length)
    code.leave_if(code.new(f"icmp uge i64 {place}, {length}"))
    return place


def place_of_next(code: Code, args: tuple[Any, ...], answer: Any) -> str:
    """The place of an item that is appended."""
    length, room = map(code.integer, args)
    code.leave_if(code.new(f"icmp sge i64 {length}, {room}"))
    return length


def counted_from_the_first(code: Code, index: str, length: int | str) -> str:
    """An index, of which a negative one counts from the end."""
    from_last, is_from_last = code.new(f"add i64 {index}, {length}"), code.new(f"icmp slt i64 {index}, 0")
    return code.new(f"select i1 {is_from_last}, i64 {from_last}, i64 {index}")
