"""The functions that only rearrange elements, by their other arguments. They are carried out on offsets (`arrays`)."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.building import assemble
from shiftreset_ad.rules.numpy.shapes import repeated
from shiftreset_ad.staging.native.layouts import Layout, as_layout
from shiftreset_ad.staging.steps.functions import Attribute, Method, again, read_only

JOINS = {assemble, np.stack, np.concatenate, np.hstack, np.vstack, np.column_stack}
MOVES = {
    *(operator.getitem, np.reshape, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.ravel),
    *(np.broadcast_to, np.copy, np.flip, np.roll, np.repeat, np.tile, np.take, np.diagonal, np.rot90),
    *(np.take_along_axis, np.atleast_1d, np.atleast_2d, repeated, read_only, again, *JOINS),
}
PLAIN = (int, bool, str, type(None), np.int64, np.bool)
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


def is_plain(x: Any) -> bool:
    """Whether an argument is made of numbers and names alone, so that its parts tell what it is."""
    if type(x) is slice:
        return is_plain((x.start, x.stop, x.step))
    return all(map(is_plain, x)) if type(x) in (tuple, list) else x is ... or type(x) in PLAIN


class Part(NamedTuple):
    """Elements of an array: their offsets, and where the first lies and the layout of all, if they have a layout."""

    offsets: ndarray[Any, Any]
    first: int
    layout: Layout | None


def part_of(offsets: ndarray[Any, Any]) -> Part:
    """The elements with these offsets."""
    first, layout = as_layout(offsets, 8) or (0, None)
    return Part(np.ascontiguousarray(offsets), first, layout)


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
