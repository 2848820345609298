"""Steps that may write to the array they are given, as nothing else needs it: then a round takes no time for a copy.

Such a step is `replaced([v, x], i)`, which stands for a write in a block, and `x + scatter([v], [i])`, which adds to a
few elements, as the way back of `x[i]` does. It takes `x`, and so do the end of a round and of a branch, and a loop, if
all other uses of `x` are over then. What is new, and is only taken from one to another, has one memory from the first
to the last.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import replaced, scatter
from shiftreset_ad.staging.native.additions import Addition, Additions
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, Gather, Loop, all_steps, has_several_layouts
from shiftreset_ad.staging.steps.functions import INFIX
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

REDUCTIONS = np.sum, np.mean, np.prod, np.max, np.min
MAKING = {*INFIX, *REDUCTIONS, replaced, scatter, np.copy, np.zeros_like}  # functions whose arrays are new
PLAIN = (bool, int, float, complex, np.generic, type(None))
FEW = 4  # a part of an array is small if the array has so many times as many elements
AT_END = 1 << 60

Path: TypeAlias = tuple[tuple[Block, int], ...]  # the blocks around a use, each with the number of the step in it


class _Use(NamedTuple):
    """A use of a value: the step if it uses the value while it runs, and where. None: a frame keeps the value."""

    step: Step | None
    at: Path | None


class Passage(NamedTuple):
    """The value with this number among those that control carries or answers."""

    step: Control
    i: int


class _Plan(NamedTuple):
    """What has to be so for some steps to be in place. `InPlace` has the same names."""

    passages: set[Passage]
    taken: set[Passage]
    copied: set[int]

    def copy(self) -> _Plan:
        return _Plan(set(self.passages), set(self.taken), set(self.copied))

    def add(self, other: _Plan) -> None:
        self.passages.update(other.passages)
        self.taken.update(other.taken)
        self.copied.update(other.copied)


class InPlace:
    """The steps of a trace that write to the array they are given, by their places.

    `additions` are sums with their scatters, which are only pairs of values and indices then. `moved` are copies of
    arrays that nothing else needs: they are the arrays themselves. `passages` are the arrays that control carries and
    answers in the memory of such arrays; a loop begins with those that it has `taken`, and with copies of the others.
    Small parts of such arrays that are needed later are `copied`.
    """

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        self.replaced: set[int] = set()
        self.additions: dict[int, Addition] = {}
        self.scatters: set[int] = set()
        self._scatter_of: dict[int, int] = {}
        self.moved: set[int] = set()
        self._plan = _Plan(set(), set(), set())
        self.passages, self.taken, self.copied = self._plan
        self._trace, self._left = trace, left
        self._uses: dict[int, list[_Use]] = defaultdict(list)
        self._makers: dict[int, Step] = {}
        self._at: dict[int, Path] = {}  # where the makers are
        self._passed: dict[int, Passage] = {}  # by the places of parameters and answers
        self._ends: dict[Block, Path] = {}
        self._begins: dict[Control, Path] = {}
        if not any(step.function in (replaced, scatter, np.copy) for step in all_steps(left.steps)):
            return
        self._walk(left.steps, trace.root, ())
        self._note(left.places_in(outputs), ((trace.root, AT_END),), None)
        for place, step in self._makers.items():
            if step.function is replaced and self._is_taken_new(step.args[0][1], step):
                self.replaced.add(place)
            elif step.function is np.copy and self._copies_alike(step) and self._is_taken_new(step.args[0], step):
                self.moved.add(place)
        found = Additions(trace, left, outputs, takes=self._is_added_to_in_place)
        self.additions, self.scatters, self._scatter_of = found.found, found.scatters, found.scatter_of

    def add(self, others: Additions) -> None:
        """Take these additions, too; of a sum that is known, these."""
        self.additions |= others.found
        self.scatters = {(others.scatter_of.get(sum_) or self._scatter_of[sum_]) for sum_ in self.additions}

    def copies(self, step: Control, i: int) -> bool:
        """Whether a loop, or a visit, begins with a copy of this argument."""
        passage = Passage(step, i)
        return passage in self.passages and passage not in self.taken

    @property
    def kept(self) -> list[int]:
        """The places of values that frames keep."""
        return [place for place, uses in self._uses.items() if any(use.at is None for use in uses)]

    # Where values are used

    def _walk(self, steps: list[Step], block: Block, around: Path) -> None:
        left = self._left
        for number, step in enumerate(steps):
            at = (*around, (block, number))
            if type(step) is Step:
                self._makers[step.place], self._at[step.place] = step, at
                self._note(left.operands(step), at, step)
            elif isinstance(step, Gather):
                self._note(left.places_in(step.value), at, None)
            elif isinstance(step, Control):
                self._walk_control(step, at)

    def _walk_control(self, step: Control, at: Path) -> None:
        left = self._left
        self._begins[step] = at
        self._note(left.places_in(step.args), at, None)
        if isinstance(step, Fork):
            self._note(left.places_in(step.predicate), at, None)
        if isinstance(step, Loop):
            before = (*at, (step.blocks[1].origin, -1))
            self._walk(step.test.steps, step.test.origin, before)
            self._note(left.places_in(step.goes_on), (*before, (step.test.origin, AT_END)), None)
        blocks = step.blocks[1:] if isinstance(step, Loop) else step.blocks
        for block, results in zip(blocks, step.results, strict=True):
            self._walk(block.steps, block.origin, at)
            self._ends[block.origin] = (*at, (block.origin, AT_END))
            self._note(left.places_in(results), self._ends[block.origin], None)
        if not isinstance(step, Call):
            for i, place in [*enumerate(step.answers), *enumerate(step.params)]:
                self._passed[place] = Passage(step, i)

    def _note(self, places: Iterable[int], at: Path, step: Step | None) -> None:
        blocks = [block for block, _ in at]
        for place in places:
            self._uses[place].append(_Use(step, at if self._trace.homes[place] in blocks else None))

    # Who takes an array

    def _is_taken_new(self, x: Any, step: Step) -> bool:
        """Whether a step takes an array that is new. Then control passes it on in its memory."""
        if type(x) is not Staged or x._place in self._left.fixed:
            return False
        place, plan = self._left.place(x), self._plan.copy()
        if not self._is_taken(place, self._at[step.place], step, plan) or not self._is_new(place, plan):
            return False
        self._plan.add(plan)
        return True

    def _copies_alike(self, step: Step) -> bool:
        """Whether an answer has the layout of the only array among the arguments."""
        x, answer = unstaged(step.args[0]), self._trace.values[step.place]
        is_alone = len(step.args) == 1 and step.kwargs.keys() <= {"order"}
        if step.kwargs.get("order", "K") != "K" and has_several_layouts(self._left.steps):
            return False
        return is_alone and _is_array(x) and (x.strides, x.dtype) == (answer.strides, answer.dtype)

    def _is_added_to_in_place(self, addition: Addition, step: Step, maker: Step) -> bool:
        """Whether a sum may be in place: of numbers, or of an array that is new when the sum follows the scatter."""
        arrays = [value for value in addition.values if _is_array(value)]
        (*around, (_, number)), (*around_it, (_, number_of_it)) = self._at[step.place], self._at[maker.place]
        follows = around == around_it and number == number_of_it + 1
        if arrays and not (follows and all(map(self._is_made, arrays))):
            return False
        return self._is_taken_new(addition.array, step)

    def _is_taken(self, place: int, at: Path, step: Step | None, plan: _Plan) -> bool:
        """Whether an array is used here for the last time, and once.

        It may come from outside of the branches around, and of no round: the next round would find another array.
        """
        blocks = [block for block, _ in at]
        home = self._trace.homes[place]
        if home not in blocks or any(block.fork is None for block in blocks[blocks.index(home) + 1 :]):
            return False
        others = [use for use in self._uses[place] if use.at != at or use.step is not step]
        return len(others) + 1 == len(self._uses[place]) and all(self._is_over(use, at, plan) for use in others)

    def _is_over(self, use: _Use, at: Path, plan: _Plan) -> bool:
        """Whether a use does not come later, or is in another branch, and no view of the array is used later."""
        if use.at is None or not _is_before(use.at, at):
            return False
        if use.step is None:  # the end of another branch hands the array on
            return _are_branches(use.at, at)
        place = use.step.place
        value = self._trace.values[place]
        if isinstance(value, PLAIN) or self._makes(use.step, value) or place in plan.copied:
            return True
        if type(value) is ndarray and all(self._is_over(later, at, plan) for later in self._uses[place]):
            return True
        if _may_be_copied(use.step, value):
            plan.copied.add(place)
            return True
        return False

    # Whose memory an array has

    def _is_new(self, place: int, plan: _Plan) -> bool:
        """Whether an array has memory of its own, if control passes arrays on in their memory by the plan."""
        if (passage := self._passed.get(place)) is not None:
            return self._passes_on(passage, plan)
        maker, value = self._makers.get(place), self._trace.values[place]
        return maker is not None and _is_array(value) and self._makes(maker, value)

    def _passes_on(self, passage: Passage, plan: _Plan) -> bool:
        if passage in plan.passages:
            return True
        plan.passages.add(passage)
        step, i = passage
        blocks = step.blocks if isinstance(step, Fork) else step.blocks[-1:]
        like = unstaged(step.results[0][i] if isinstance(step, Fork) else step.args[i])
        if not _is_array(like):
            return False
        for block, results in zip(blocks, step.results, strict=True):
            if not self._is_handed_on(results[i], like, self._ends[block.origin], plan):
                return False
        if not isinstance(step, Fork):
            more = plan.copy()
            if self._is_handed_on(step.args[i], like, self._begins[step], more):
                plan.add(more)
                plan.taken.add(passage)
        return True

    def _is_handed_on(self, x: Any, like: Any, at: Path, plan: _Plan) -> bool:
        """Whether an array that is new is used here for the last time, and lies in memory as this one does."""
        if type(x) is not Staged or x._place in self._left.fixed or not _is_array(x):
            return False
        place, is_like = self._left.place(x), (x.inside.strides, x.inside.dtype) == (like.strides, like.dtype)
        return is_like and self._is_taken(place, at, None, plan) and self._is_new(place, plan)

    def _is_made(self, x: Any) -> bool:
        """Whether an argument is an array that a step has made."""
        maker = self._makers.get(self._left.place(x)) if type(x) is Staged else None
        return maker is not None and self._makes(maker, x.inside)

    def _makes(self, step: Step, value: Any) -> bool:
        """Whether the array that a step answers is a new one."""
        if type(value) is not ndarray or value.base is not None:
            return False
        return not step.writes and (step.function in MAKING or isinstance(step.function, np.ufunc))


def _is_before(one: Path, other: Path) -> bool:
    """Whether a use comes before another, which is in no loop that has the first, or in the other branch."""
    for (block, number), (another, number_of_other) in zip(one, other, strict=False):
        if block is not another:
            return block.fork is not None and another.fork is not None
        if number != number_of_other:
            return number < number_of_other
    return False


def _are_branches(one: Path, other: Path) -> bool:
    """Whether two uses are in the two branches of one fork."""
    pairs = zip(one, other, strict=False)
    (block, _), (another, _) = next((pair for pair in pairs if pair[0] != pair[1]), (other[0], other[0]))
    return block is not another and block.fork is not None and another.fork is not None


def _may_be_copied(step: Step, part: Any) -> bool:
    """Whether a step reads a small part of an array, which is a view of the layout of a copy."""
    if step.function is not operator.getitem or type(part) is not ndarray or type(step.args[0]) is not Staged:
        return False
    return part.size * FEW <= step.args[0].inside.size and np.copy(part).strides == part.strides


def _is_array(x: Any) -> bool:
    x = unstaged(x)
    return type(x) is ndarray and bool(x.shape)


def with_item(x: ndarray[Any, Any], index: Any, item: Any) -> ndarray[Any, Any]:
    """The array after `x[index] = item`."""
    x[index] = item
    return x


def in_native_code(trace: Trace, left: Eliminated, outputs: list[Any]) -> InPlace:
    """The steps that native code carries out in place: those of the steps by NumPy, and others with the same bits.

    An element that is -0.0 stays -0.0 in place, and becomes 0.0 in a whole sum. So in a program with `replaced` there
    are no others.
    """
    found = InPlace(trace, left, outputs)
    if not any(step.function is replaced for step in all_steps(left.steps)):
        found.add(Additions(trace, left, outputs))
    return found


def with_added(x: ndarray[Any, Any], added: tuple[list[Any], list[Any]]) -> ndarray[Any, Any]:
    """`x + scatter(values, indices, x.shape, x.dtype)` in place; of several, each is at one element, or at one row.

    What is added at one place is summed first, as in `scatter`.
    """
    values, indices = added
    if len(values) == 1:
        x[indices[0]] += values[0]
        return x
    sums: dict[tuple[int, ...], Any] = {}
    for index, value in zip(indices, values, strict=True):
        parts = index if type(index) is tuple else (index,)
        key = tuple([part + size if part < 0 else part for part, size in zip(parts, x.shape, strict=False)])
        sums[key] = sums.get(key, 0.0) + value
    for key, value in sums.items():
        x[key] += value
    return x
