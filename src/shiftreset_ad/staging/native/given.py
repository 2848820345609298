"""Answers that may be arguments, or arrays from outside: Python has the very array then, and native code a copy of it.

A solver that finds its start to be good enough answers the start. So native code compares such an answer with the
argument. If all elements are the same, the steps by NumPy answer. So it is with two answers that may be one array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from shiftreset_ad.staging.native.llvm import refuse
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.sources import Sources
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged


def answers_and_what_they_may_be(
    trace: Trace, left: Eliminated, memory: ArrayBlocks, outputs: Iterable[Any]
) -> Iterator[tuple[Staged, Any]]:
    """The arrays that are answers, or of which these are views, each with an array of another name that it may be.

    This is an argument, a constant, or another answer.

    Refuses an answer that a branch may have got from outside in another way, as a view is.
    """
    inputs: dict[int, Staged] = {}
    for place in range(trace.inputs):  # of an array that is given twice, the steps have the first place
        inputs.setdefault(id(trace.values[place]), Staged(trace, place))
    given = {id(owner) for x in inputs.values() for owner in owners_of(unstaged(x))} | trace.handed_on.keys()
    sources = Sources(trace, left.steps)
    of_branches = Sources(trace, left.steps, loops_have_rounds=True)
    arrays = [x for x in outputs if type(x) is Staged and x._place not in left.fixed and owners_of(x.inside)]
    wholes = {place: Staged(trace, place) for place in dict.fromkeys(memory.root(left.place(x)) for x in arrays)}
    yield from ((x, y) for x, y in combinations(wholes.values(), 2) if _may_be_one(sources, x, y))
    for x in arrays:
        whole = wholes[memory.root(left.place(x))]
        found = _what_it_may_be(sources, whole.inside, given, inputs)
        if found is None and not given.isdisjoint(of_branches.of(x)):
            refuse("a branch answers an array that it was given")
        yield from ((whole, other) for other in found or ())


def _may_be_one(sources: Sources, x: Staged, y: Staged) -> bool:
    """Whether two answers may be the same array, which branches or loops hand on."""
    return not set(map(id, sources.arrays(x))).isdisjoint(map(id, sources.arrays(y)))


def _what_it_may_be(sources: Sources, x: Any, given: set[int], inputs: dict[int, Staged]) -> list[Any] | None:
    """The arguments and the constants that an array may be; None if it may be a view of one, or is none of floats."""
    found: list[Any] = []
    for array in sources.arrays(x):
        if id(array) in inputs or id(array) in given:
            found.append(inputs.get(id(array), array))
        elif array.base is not None and not given.isdisjoint(sources.of(array)):
            return None
    return found if x.dtype == np.float64 or not found else None
