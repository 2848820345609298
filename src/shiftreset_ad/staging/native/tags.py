"""Tags tell at run time whether an answer is Python's number or NumPy's, if this may differ from call to call.

The tag of a value has the place -1 - p, if p is the place of the value. It is carried through loops and branches beside
the value. The arithmetic of Python's numbers and NumPy's gives a number of NumPy's if one of them is NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.types import Types
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, Gather, Stretches, all_steps
from shiftreset_ad.staging.steps.trace import Block

EITHER = (frozenset((float, np.float64)), frozenset((bool, np.bool)))


class ArgumentTag:
    """The tag of an argument, in place of a value."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of


def tag_at(place: int) -> int:
    """The place of the tag of a value; or the place of the value, if this is the place of a tag."""
    return -1 - place


def is_numpys(kind: type) -> bool:
    """Whether a type is one of NumPy's."""
    return issubclass(kind, np.generic | ndarray)


def tagged(left: Eliminated, types: Types, outputs: list[Any], foreign: set[int]) -> set[int]:
    """The places whose values need a tag: outputs of either type, and the values that they are made of.

    Operands of `foreign` steps, which Python carries out, need one, too, if they can have one. Python tells the tags of
    the answers.
    """
    if not types.differ:
        return set()
    outside = [*left.places_in(outputs)]
    operands = [place for step in all_steps(left.steps) if step.place in foreign for place in left.operands(step)]
    found = _made_of(outside + operands, left, types, foreign) if foreign else set()
    return found or _made_of(outside, left, types, foreign)


def _made_of(wanted: list[int], left: Eliminated, types: Types, foreign: set[int]) -> set[int]:
    """The places that need a tag so that those wanted have one; none if one of them cannot have one."""
    sources: dict[int, list[int]] = {}
    made_otherwise = set()
    functions: dict[Block, Call] = {}
    for step in all_steps(left.steps):
        if isinstance(step, Fork):
            for answer, *results in zip(step.answers, *step.results, strict=True):
                sources[answer] = [*left.places_in(results)]
        elif isinstance(step, Call):
            function = functions.setdefault(step.body, step)  # the first call comes first
            for param, arg in zip(function.params, step.args, strict=True):
                sources.setdefault(param, []).extend(left.places_in(arg))
            for answer, result in zip(step.answers, function.results[-1], strict=True):
                sources[answer] = [*left.places_in(result)]
        elif isinstance(step, Control):
            for param, answer, *given in zip(step.params, step.answers, step.args, step.results[-1], strict=True):
                sources[param], sources[answer] = [*left.places_in(given)], [param]
            if isinstance(step, Stretches):  # a state is one of the loop
                for param, of_loop in zip(step.params, step.loop.params, strict=False):
                    sources[param].append(of_loop)
        elif step.place in foreign:
            sources[step.place] = []
        elif not isinstance(step, Gather) and len(types.at(step.place)) > 1:
            sources[step.place] = [*left.places_in(step.args)]
            if not types.is_numpys_by_one(step):
                made_otherwise.add(step.place)
    found: set[int] = set()
    waiting = [place for place in wanted if types.at(place) in EITHER]
    while waiting:
        place = waiting.pop()
        if place not in found and len(types.at(place)) > 1:
            found.add(place)
            waiting += sources[place]
    return set() if found & made_otherwise or any(types.at(place) not in EITHER for place in found) else found
