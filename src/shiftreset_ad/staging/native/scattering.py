"""Values that are added at indices to an array of zeros. Where their parts do not overlap, each is set at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.indexing import part_at
from shiftreset_ad.staging.native.layouts import as_layout, offsets_like
from shiftreset_ad.staging.native.llvm import DOUBLE, Value, double, refuse
from shiftreset_ad.staging.native.loops import Round, operand
from shiftreset_ad.staging.native.positions import add, are_in_order, has_arrays
from shiftreset_ad.staging.steps.values import is_staged


class Part(NamedTuple):
    """The offsets of the elements of a part, and the numbers of the values that are added there, in their order."""

    offsets: ndarray[Any, Any]
    values: list[int]


def write_scatter(work: Any) -> None:
    """Write the code of a step of `arrays` that adds each value at its index to an array of zeros."""
    values, indices, _, dtype = work.args
    if dtype != np.float64:
        refuse(f"it scatters {dtype}")
    parts = _without_overlap(work.answer, indices)
    if parts is None or sum(part.offsets.size for part in parts) < work.answer.size:
        turn = Round(work.code, work.answer.shape, {}, {"y": operand(work.out, work.answer)})
        turn.store("y", Value(double(0.0), DOUBLE))
        turn.write()
    if parts is None:
        _add_one_after_another(work, values, indices)
    else:
        for part in parts:
            _set(work, part, values)


def _without_overlap(answer: ndarray[Any, Any], indices: Sequence[Any]) -> list[Part] | None:
    """The parts of an array that some constant indices name; None if two of them overlap, and are not the same."""
    if any(is_staged(index) or has_arrays(index) for index in indices):
        return None
    offsets = offsets_like(answer)
    parts: dict[Any, Part] = {}
    for i, index in enumerate(indices):
        found = np.asarray(offsets[index])
        parts.setdefault((found.shape, found.tobytes()), Part(found, [])).values.append(i)
    places = [part.offsets.ravel() // answer.itemsize for part in parts.values()]
    names = np.bincount(np.concatenate(places), minlength=1)  # how many parts name each element; no time for a search
    return list(parts.values()) if names.max() <= 1 else None


def _set(work: Any, part: Part, values: Sequence[Any]) -> None:
    """Set the elements of a part to the sum of zero and its values, which are added one after another."""
    if not part.offsets.size:
        return
    start, layout = as_layout(part.offsets, 8) or refuse("it scatters at single positions")
    to = work.to(work.code.new(f"getelementptr i8, ptr {work.out}, i64 {start}"), layout)
    turn = Round(work.code, layout.shape, {i: work.any(values[i]) for i in part.values}, {"y": to})
    total = double(0.0)
    for i in part.values:
        total = turn.new(f"fadd double {total}, {turn.element(i).text}")
    turn.store("y", Value(total, DOUBLE))
    turn.write()


def _add_one_after_another(work: Any, values: Sequence[Any], indices: Sequence[Any]) -> None:
    whole = operand(work.out, work.answer)
    for value, index in zip(values, indices, strict=True):
        x = work.any(value)
        if has_arrays(index):
            if not are_in_order(index, work.answer):
                refuse("it scatters by arrays in another order than that of C")
            add(work.code, work.positions(whole, work.answer, index), x)
            continue
        to, offsets = part_at(work.code, work.out, work.answer, index)
        if not offsets.size:
            continue
        start, layout = as_layout(offsets, 8) or refuse("it scatters at single positions")
        at = work.to(work.code.new(f"getelementptr i8, ptr {to}, i64 {start}"), layout)
        turn = Round(work.code, layout.shape, {"x": x, "y": at}, {"y": at})
        turn.store("y", Value(turn.new(f"fadd double {turn.element('y').text}, {turn.element('x').text}"), DOUBLE))
        turn.write()
