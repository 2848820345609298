"""Values that are added at indices to an array of zeros. Where their parts do not overlap, each is set at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.indexing import part_at
from shiftreset_ad.staging.native.layouts import Layout, layout_of, offsets_of, place_in, untouched, view_at
from shiftreset_ad.staging.native.llvm import DOUBLE, Value, double, refuse
from shiftreset_ad.staging.native.loops import Round, operand
from shiftreset_ad.staging.native.moves import MOST_OFFSETS
from shiftreset_ad.staging.native.positions import add, are_in_order, has_arrays
from shiftreset_ad.staging.steps.values import is_staged

MOST_VIEWS, HARDEST = 16, 10_000  # of a large array, which are compared two by two, with so much work for NumPy


class Part(NamedTuple):
    """Where a part begins, its layout, and the numbers of the values that are added there, in their order."""

    first: int
    layout: Layout
    values: list[int]


def write_scatter(work: Any) -> None:
    """Write the code of a step of `arrays` that adds each value at its index to an array of zeros."""
    values, indices, _, dtype = work.args
    if dtype != np.float64:
        refuse(f"it scatters {dtype}")
    parts = _without_overlap(work.answer, indices)
    if parts is None or sum(part.layout.size for part in parts) < work.answer.size:
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
    whole = untouched(layout_of(answer))
    views: dict[Any, ndarray[Any, Any]] = {}
    parts: dict[Any, Part] = {}
    for i, index in enumerate(indices):
        view = view_at(whole, index)
        found = place_in(whole, view)
        views[found] = view
        parts.setdefault(found, Part(*found, [])).values.append(i)
    return None if do_overlap(whole, list(views.values())) else list(parts.values())


def do_overlap(whole: ndarray[Any, Any], views: Sequence[ndarray[Any, Any]]) -> bool:
    """Whether some views of an array have an element in common; if this is too hard to tell, it is true."""
    if len(views) < 2:
        return False
    if whole.size > MOST_OFFSETS:
        return len(views) > MOST_VIEWS or any(map(_share, *zip(*combinations(views, 2), strict=True)))
    places = [np.ravel(offsets_of(layout) + first) for first, layout in map(partial(place_in, whole), views)]
    # How many views name each element: a search would take long.
    names = np.bincount(np.concatenate(places) // whole.itemsize, minlength=1)
    return bool(names.max() > 1)


def _share(x: ndarray[Any, Any], y: ndarray[Any, Any]) -> bool:
    try:
        return np.shares_memory(x, y, max_work=HARDEST)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _set(work: Any, part: Part, values: Sequence[Any]) -> None:
    """Set the elements of a part to the sum of zero and its values, which are added one after another."""
    if not part.layout.size:
        return
    to = work.to(work.code.new(f"getelementptr i8, ptr {work.out}, i64 {part.first}"), part.layout)
    turn = Round(work.code, part.layout.shape, {i: work.any(values[i]) for i in part.values}, {"y": to})
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
        to, start, layout = part_at(work.code, work.out, work.answer, index)
        if not layout.size:
            continue
        at = work.to(work.code.new(f"getelementptr i8, ptr {to}, i64 {start}"), layout)
        turn = Round(work.code, layout.shape, {"x": x, "y": at}, {"y": at})
        turn.store("y", Value(turn.new(f"fadd double {turn.element('y').text}, {turn.element('x').text}"), DOUBLE))
        turn.write()
