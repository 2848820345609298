"""The functions that only rearrange elements, by their other arguments. They are carried out on offsets (`arrays`)."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.building import assemble
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.staging.native.layouts import (
    Layout,
    as_layout,
    is_view,
    layout_of,
    offsets_like,
    offsets_of,
    place_in,
    untouched,
    view_at,
)
from shiftreset_ad.staging.native.llvm import refuse
from shiftreset_ad.staging.steps.functions import Attribute, Method, again, name_in_program, read_only
from shiftreset_ad.staging.steps.values import unstaged

JOINS = {assemble, np.stack, np.concatenate, np.hstack, np.vstack, np.column_stack}
MOVES = {
    *(operator.getitem, np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.ravel),
    *(np.broadcast_to, np.copy, np.flip, np.roll, np.repeat, np.tile, np.take, np.diagonal, np.rot90),
    *(np.take_along_axis, np.atleast_1d, np.atleast_2d, repeated, read_only, again, *JOINS),
}
# Of these, functions that may answer a view, which tells where all elements lie, and functions that copy all.
VIEWS = {
    *(np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.ravel, np.broadcast_to),
    *(np.flip, np.diagonal, np.rot90, np.atleast_1d, np.atleast_2d, read_only, again),
}
VIEWING = {"T", "mT", "reshape", "transpose", "swapaxes", "squeeze", "ravel", "diagonal"}
COPYING = {"__copy__", "__deepcopy__", "copy"}
PLAIN = (int, bool, str, type(None), np.int64, np.bool)
MOST_MOVES = 64  # of single elements; more of them have a loop over tables
MOST_PIECES = 8
MOST_OFFSETS = 2**20  # elements; for more of them, it would take long to find where each one goes
SOURCE = 2**40  # the offsets of each source begin at a multiple of it
METHODS = {
    "__copy__",
    "__deepcopy__",
    "reshape",
    "transpose",
    "swapaxes",
    "squeeze",
    "ravel",
    "copy",
    "flatten",
    "diagonal",
    "repeat",
    "take",
}


def is_move(function: Any) -> bool:
    """Whether a function only rearranges elements, by its other arguments."""
    if isinstance(function, Attribute):
        return function.__name__ in (METHODS if type(function) is Method else ("T", "mT"))
    return function in MOVES


def view_by(function: Any, x: ndarray[Any, Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The view of an array that the answer of a function is, or has the elements of; None if there is none."""
    if function is operator.getitem:
        return view_at(x, *args)
    name = function.__name__ if isinstance(function, Attribute) else None
    if function is np.copy or name in COPYING:
        return x
    found = function(x, *args, **kwargs) if function in VIEWS or name in VIEWING else None
    return found if is_view(found, x) else None


def copies(
    function: Any, sources: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any], answer: ndarray[Any, Any]
) -> list[tuple[int, Part, Part]]:
    """Which elements of which source go to which of the answer.

    The function is carried out on an array that nobody touches, and if its answer is no view, on offsets, each source's
    from another SOURCE on.
    """
    plain = [unstaged(x) for x in sources]
    if function not in JOINS and np.shape(plain[0]):
        whole = untouched(layout_of(plain[0]))
        view = view_by(function, whole, args, kwargs)
        if view is not None and view.shape == answer.shape:
            return [(0, Part(*place_in(whole, view)), Part(0, layout_of(answer)))]
    if function in (np.concatenate, np.stack) and (axis := _axis(args, kwargs)) is not None:
        return list(_joined(plain, answer, axis % answer.ndim, function is np.stack))
    if max(answer.size, *map(np.size, plain)) > MOST_OFFSETS:
        refuse(f"{name_in_program(function)} of so many elements has no native form")
    offsets: list[Any] = [
        (offsets_like(x) if np.shape(x) else np.int64(0)) + SOURCE * i + SOURCE // 2 for i, x in enumerate(plain)
    ]
    found = np.asarray(function(offsets if function in JOINS else offsets[0], *args, **kwargs))
    if found.shape != answer.shape:
        refuse(f"{name_in_program(function)} of these values has no native form")
    to = offsets_like(answer)
    return [
        (i, *pair) for i, offsets, at in by_source(found, to) for pair in pieces(offsets % SOURCE - SOURCE // 2, at)
    ]


def _axis(args: Sequence[Any], kwargs: Mapping[str, Any]) -> int | None:
    """The axis of a function that joins arrays; None if there is none, or if there are other options."""
    axis = args[0] if args else kwargs.get("axis", 0)
    return axis if type(axis) is int and len(args) < 2 and {"axis"}.issuperset(kwargs) else None


def _joined(sources: Sequence[Any], answer: Any, axis: int, is_new: bool) -> Iterator[tuple[int, Part, Part]]:
    """Where arrays go that are joined along an axis, which may be a new one."""
    whole, start = untouched(layout_of(answer)), 0
    for i, x in enumerate(map(np.asarray, sources)):
        length = 1 if is_new else x.shape[axis]
        part = whole[(*[slice(None)] * axis, i if is_new else slice(start, start + length), ...)]
        start += length
        if x.size:
            yield i, Part(0, layout_of(x)), Part(*place_in(whole, part))


def is_plain(x: Any) -> bool:
    """Whether an argument is made of numbers and names alone, so that its parts tell what it is."""
    if type(x) is slice:
        return is_plain((x.start, x.stop, x.step))
    return all(map(is_plain, x)) if type(x) in (tuple, list) else x is ... or type(x) in PLAIN


class Part(NamedTuple):
    """Elements of an array: where the first lies, and the layout of all; or else, their offsets."""

    first: int
    layout: Layout | None
    offsets: ndarray[Any, Any] | None = None

    @property
    def all_offsets(self) -> ndarray[Any, Any]:
        """The offsets of all elements."""
        if self.layout is None:
            return np.asarray(self.offsets)
        return offsets_of(self.layout) + self.first


def part_of(offsets: ndarray[Any, Any]) -> Part:
    """The elements with these offsets."""
    first, layout = as_layout(offsets, 8) or (0, None)
    return Part(first, layout, np.ascontiguousarray(offsets) if layout is None else None)


def pieces(source: Any, target: Any) -> list[tuple[Part, Part]]:
    """The elements with some offsets, and those to which they go, in a few pieces that have layouts, if that can be."""
    whole = [(part_of(source), part_of(target))]
    if have_layouts(whole) or source.size <= MOST_MOVES:
        return whole
    return _cut(source, target) or _cut(source.ravel(), target.ravel()) or whole


def _cut(source: Any, target: Any) -> list[tuple[Part, Part]]:
    """A few pieces that have layouts; none, if none are found.

    An axis is cut where the step to the next element changes, or into rows of the same length.
    """
    whole = [(part_of(source), part_of(target))]
    if have_layouts(whole):
        return whole
    for axis, length in enumerate(source.shape):
        rows, shape = runs(source, axis), source.shape
        if len(rows) < 2:
            continue
        short = rows[0].stop
        if length % short == 0:
            in_rows = *shape[:axis], length // short, short, *shape[axis + 1 :]
            if cut := _cut(source.reshape(in_rows), target.reshape(in_rows)):
                return cut
        at = [(*[slice(None)] * axis, row) for row in rows]
        parts = [_cut(source[part], target[part]) for part in at] if len(rows) <= MOST_PIECES else []
        if parts and all(parts) and sum(map(len, parts)) <= MOST_PIECES:
            return list(chain.from_iterable(parts))
    return []


def runs(offsets: Any, axis: int) -> list[slice]:
    """Where the steps along an axis are the same, in all lines alike; at most one run more than are of use."""
    length = offsets.shape[axis]
    steps = np.diff(np.moveaxis(offsets, axis, 0).reshape(length, -1), axis=0)
    if not (steps == steps[:, :1]).all():
        return []
    changes = np.flatnonzero(steps[1:, 0] != steps[:-1, 0])[: 2 * MOST_PIECES] + 1
    start, found = 0, list[slice]()
    for stop in [*(changes + 1).tolist(), length]:
        if stop > start + 1 or stop == length:  # a step from one run to the next one is a change twice
            found.append(slice(start, stop))
            start = stop
    return found


def have_layouts(pairs: Sequence[tuple[Part, Part]]) -> bool:
    """Whether all these have layouts, so that each pair is a loop."""
    return all(part.layout is not None for pair in pairs for part in pair)


def by_source(found: Any, to: Any) -> Iterator[tuple[int, Any, Any]]:
    """The elements of each source in the smallest box around them; if it is no whole box, one after another.

    `found` has their offsets in the sources, and `to` those in the answer. The elements are gone through once, however
    many sources there are.
    """
    sources = np.ravel(found // SOURCE)
    if (sources == sources[0]).all():
        yield int(sources[0]), found, to
        return
    order = np.argsort(sources, kind="stable")
    ends = np.flatnonzero(np.diff(sources[order])) + 1
    for elements in np.split(order, ends):
        where = np.unravel_index(elements, found.shape)
        box = tuple(slice(int(at.min()), int(at.max()) + 1) for at in where)
        at = box if math.prod(of.stop - of.start for of in box) == len(elements) else where
        yield int(sources[elements[0]]), found[at], to[at]
