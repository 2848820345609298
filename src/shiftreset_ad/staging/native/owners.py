"""Answers that are arrays: which of them share memory, and which arrays the steps may write for Python themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.llvm import ARRAY, form_of, refuse
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

LEAST = 1024  # bytes of an answer that is worth it that the steps write to the answer itself


class Owner(NamedTuple):
    """The memory of answers: the place of an array, an array like it, and the slot for the address of its elements.

    It has no slot if the steps do not write to it. Then its elements are copied from `start`.
    """

    place: int
    example: ndarray[Any, Any]
    slot: int | None
    start: int = 0


def roots_of_several(trace: Trace, left: Eliminated, memory: ArrayBlocks, outputs: list[Any]) -> set[int]:
    """The places of arrays in whose memory several answers lie.

    Refuses arrays that are one, or share memory, but do not lie in one array for certain.
    """
    pairs: list[tuple[int, int | None]] = []
    for x in outputs:
        is_array = type(x) is Staged and x._place not in left.fixed and form_of(x.inside) == ARRAY
        root = memory.root(left.place(x)) if is_array else None
        pairs += [(id(owner), root) for owner in owners_of(unstaged(x))]
    owners, roots = Counter(owner for owner, _ in pairs), Counter(root for _, root in pairs if root is not None)
    together = {(owner, root) for owner, root in pairs if owners[owner] > 1 or (root is not None and roots[root] > 1)}
    are_certain = len(together) == len({owner for owner, _ in together}) == len({root for _, root in together} - {None})
    places = [place for place in left.places_in(outputs) if form_of(trace.values[place]) == ARRAY]
    if not are_certain or len(set(places)) < len(places) or (together and trace.has_control):
        refuse("it returns arrays that share memory")
    return {root for _, root in together if root is not None}


def made_as_answers(
    trace: Trace, left: Eliminated, memory: ArrayBlocks, outputs: list[Any], together: set[int]
) -> Iterator[int]:
    """The places of arrays that are answers, or of which answers are views, and which the steps write as Python's.

    So nobody copies their elements.
    """
    made = {step.place for step in left.steps if type(step) is Step}
    for place in left.places_in(outputs):
        root = memory.root(place)
        if root in made and memory.makes(root):
            value, whole = trace.values[place], trace.values[root]
            is_most = LEAST <= value.nbytes >= whole.nbytes // 2
            if (is_most or needs_owner(root, value, together)) and is_like_a_new_array(whole):
                yield root


def needs_owner(root: int, value: ndarray[Any, Any], together: set[int]) -> bool:
    """Whether an answer is a view of another array in Python, too, and not a new array with a copy of the elements."""
    return root in together or not value.flags.writeable or not is_like_a_new_array(value)


def is_like_a_new_array(x: ndarray[Any, Any]) -> bool:
    """Whether an array has the strides of a new one. An axis with one element may have others, as in x[::-1]."""
    return x.strides == np.empty(x.shape, x.dtype, "C" if x.flags.c_contiguous else "F").strides
