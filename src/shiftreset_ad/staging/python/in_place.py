"""Steps that may write to the array they are given, as nothing else needs it: then a round takes no time for a copy.

Such a step is `replaced([v, x], i)`, which stands for a write in a block, and `x + scatter([v], [i])`, which adds to a
few elements, as the way back of `x[i]` does. If `x` is carried by a loop, the loop begins with a copy of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.staging.native.additions import Addition, Additions
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, Gather, Loop, all_steps
from shiftreset_ad.staging.steps.functions import INFIX
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

MAKING = {*INFIX, replaced, scatter, np.copy, np.zeros_like}  # functions whose arrays are new
AT_END = 1 << 60


class _Use(NamedTuple):
    """A use of a value: the step if it uses the value while it runs, and its number in the block of the value."""

    step: Step | None
    number: int


class _Carried(NamedTuple):
    """The value with this number among those that a loop, or a visit of its rounds, carries."""

    step: Control
    i: int


Chain = list[tuple[Block, int]]  # the blocks around a step, each with the number of the step in it


class InPlace:
    """The steps of a trace that write to the array they are given, by their places.

    `additions` are sums with their scatters, which are only pairs of values and indices then.
    """

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        self.replaced: set[int] = set()
        self.additions: dict[int, Addition] = {}
        self.scatters: set[int] = set()
        self._copied: set[_Carried] = set()
        self._trace, self._left = trace, left
        self._uses: dict[int, list[_Use]] = defaultdict(list)
        self._makers: dict[int, Step] = {}
        self._numbers: dict[int, int] = {}  # of the makers, in their blocks
        self._carried: dict[int, _Carried] = {}  # by the places of parameters and answers
        if not any(step.function is replaced or step.function is scatter for step in all_steps(left.steps)):
            return
        self._walk(left.steps, trace.root, [])
        self._note(left.places_in(outputs), [(trace.root, AT_END)], None)
        found = Additions(trace, left, outputs, is_whole=False)
        for place, step in self._makers.items():
            addition = found.found.get(place)
            x = addition.array if addition is not None else step.args[0][1] if step.function is replaced else None
            if type(x) is not Staged or (addition is not None and any(map(_is_array, addition.values))):
                continue
            carried: set[_Carried] = set()
            if self._is_left_to(step, left.place(x)) and self._is_new(left.place(x), carried):
                self._copied |= carried
                if addition is None:
                    self.replaced.add(place)
                else:
                    self.additions[place] = addition
                    self.scatters.add(found.scatter_of[place])

    def copies(self, step: Control, i: int) -> bool:
        """Whether a loop, or a visit, begins with a copy of this argument."""
        return _Carried(step, i) in self._copied

    # Where values are used

    def _walk(self, steps: list[Step], block: Block, around: Chain) -> None:
        left = self._left
        for number, step in enumerate(steps):
            chain = [*around, (block, number)]
            if isinstance(step, Gather):
                self._note(left.places_in(step.value), chain, None)
            elif not isinstance(step, Control):
                self._makers[step.place], self._numbers[step.place] = step, number
                self._note(left.operands(step), chain, step)
            else:
                self._walk_control(step, chain)

    def _walk_control(self, step: Control, chain: Chain) -> None:
        left = self._left
        self._note(left.places_in(step.args), chain, None)
        if isinstance(step, Fork):
            self._note(left.places_in(step.predicate), chain, None)
        body = step.blocks[-1].origin if step.blocks else None
        if isinstance(step, Loop):
            before = [*chain, (step.blocks[1].origin, -1)]
            self._walk(step.test.steps, step.test.origin, before)
            self._note(left.places_in(step.goes_on), [*before, (step.test.origin, AT_END)], None)
        blocks = step.blocks[1:] if isinstance(step, Loop) else step.blocks
        for block, results in zip(blocks, step.results, strict=True):
            self._walk(block.steps, block.origin, chain)
            self._note(left.places_in(results), [*chain, (block.origin, AT_END)], None)
        if body is not None and not isinstance(step, Fork | Call):
            for i, (param, answer) in enumerate(zip(step.params, step.answers, strict=True)):
                self._carried[param] = self._carried[answer] = _Carried(step, i)

    def _note(self, places: Iterable[int], chain: Chain, step: Step | None) -> None:
        for place in places:
            home = self._trace.homes[place]
            numbers = [number for block, number in chain if block is home]
            self._uses[place].append(_Use(step, numbers[0]) if numbers else _Use(None, AT_END))

    # Whose an array is

    def _is_left_to(self, step: Step, place: int) -> bool:
        """Whether all other uses of an array are over when a step of the same block takes it."""
        homes, number = self._trace.homes, self._numbers[step.place]
        others = [use for use in self._uses[place] if use.step is not step]
        is_last = all(use.number < number and self._is_over(use) for use in others)
        return homes[place] is homes[step.place] and is_last and len(self._uses[place]) == len(others) + 1

    def _is_over(self, use: _Use) -> bool:
        """Whether a step has made no view of the array that it uses, and does not keep it."""
        return use.step is not None and not _is_array(self._trace.values[use.step.place])

    def _is_handed_on_once(self, place: int) -> bool:
        """Whether an array is handed on by control once, after all its other uses."""
        others = [use for use in self._uses[place] if use.step is not None]
        ends = [use.number for use in self._uses[place] if use.step is None]
        return len(ends) == 1 and all(use.number < ends[0] and self._is_over(use) for use in others)

    def _is_new(self, place: int, carried: set[_Carried]) -> bool:
        """Whether the array at a place has memory of its own, if loops begin with copies of what they carry there."""
        if place in self._carried:
            known = self._carried[place]
            if known in carried:
                return True
            carried.add(known)
            result, argument = known.step.results[-1][known.i], unstaged(known.step.args[known.i])
            if type(result) is not Staged or result._place in self._left.fixed or not _is_array(argument):
                return False
            end = self._left.place(result)
            is_here = self._trace.homes[end] is known.step.blocks[-1].origin
            is_like = argument.strides == result.inside.strides and argument.dtype == result.inside.dtype
            return is_here and is_like and self._is_handed_on_once(end) and self._is_new(end, carried)
        maker, value = self._makers.get(place), self._trace.values[place]
        if maker is None or not _is_array(value) or value.base is not None:
            return False
        return maker.function in MAKING or isinstance(maker.function, np.ufunc)


def additions_of(trace: Trace, left: Eliminated, outputs: list[Any]) -> Additions:
    """The additions that native code carries out in place.

    In a program with `replaced`, they are those of the steps by NumPy. An element that is -0.0 stays -0.0 in
    place, and becomes 0.0 in a whole sum.
    """
    if not any(step.function is replaced for step in all_steps(left.steps)):
        return Additions(trace, left, outputs)
    additions, in_place = Additions(trace, left, outputs, is_whole=False), InPlace(trace, left, outputs)
    additions.found, additions.scatters = in_place.additions, in_place.scatters
    return additions


def _is_array(x: Any) -> bool:
    x = unstaged(x)
    return type(x) is ndarray and bool(x.shape)


def with_item(x: ndarray[Any, Any], index: Any, item: Any) -> ndarray[Any, Any]:
    """The array after `x[index] = item`."""
    x[index] = item
    return x


def with_added(x: ndarray[Any, Any], added: tuple[list[Any], list[Any]]) -> ndarray[Any, Any]:
    """`x + scatter(values, indices, x.shape, x.dtype)` in place, for numbers; of several, each is at one element.

    What is added at one element is summed first, as in `scatter`.
    """
    values, indices = added
    if len(values) == 1:
        x[indices[0]] += values[0]
        return x
    sums: dict[tuple[int, ...], Any] = {}
    for index, value in zip(indices, values, strict=True):
        parts = index if type(index) is tuple else (index,)
        key = tuple([part + size if part < 0 else part for part, size in zip(parts, x.shape, strict=True)])
        sums[key] = sums.get(key, 0.0) + value
    for key, value in sums.items():
        x[key] += value
    return x
