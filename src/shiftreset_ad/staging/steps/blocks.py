"""The steps of control: loops, visits of their rounds, what rounds gather, forks into branches, and calls."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from shiftreset_ad.staging.steps.trace import NOTHING, Block, Step
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged


class Rounds:
    """The rounds of a loop. `place` has a list with a frame for each round, where the values of the round are kept.

    All visits of a round share its frame, so a later visit sees the values of an earlier one.
    """

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


class Control(Step):
    """A step with `blocks`. A round or a branch has `results`, and the step has an answer at each place in `answers`.

    A loop or a visit carries values from round to round: `args` come in, a round finds them at the places `params`, and
    the results of a round are the values for the next round. The last results are the answers.
    """

    __slots__ = ("answers", "blocks", "params", "results")

    def __init__(
        self,
        args: Sequence[Any],
        blocks: list[Block],
        params: list[int],
        results: list[list[Any]],
        answers: list[int],
        errors: Any,
    ) -> None:
        super().__init__(-1, type(self), tuple(args), NOTHING, errors)
        self.blocks = blocks
        self.params = params
        self.results = results
        self.answers = answers

    def with_blocks(self, blocks: list[Block]) -> Self:
        """The same step with other blocks."""
        step = copy.copy(self)
        step.blocks = blocks
        return step

    def carrying(self, left: list[int]) -> Self:
        """The same step, which carries and answers only these values."""
        step = copy.copy(self)
        step.args = tuple([self.args[i] for i in left])
        step.params = [self.params[i] for i in left]
        step.results = [[results[i] for i in left] for results in self.results]
        step.answers = [self.answers[i] for i in left]
        return step


class Loop(Control):
    """Rounds as long as the `test` says so. The test is a block, too, with the value `goes_on`.

    The blocks are the test and a round. The frames of the rounds are kept only if the loop `keeps` them.
    """

    __slots__ = ("goes_on", "keeps", "rounds")
    goes_on: Any
    keeps: bool
    rounds: Rounds

    @property
    def test(self) -> Block:
        return self.blocks[0]


class Visit(Control):
    """The rounds of a loop again, in the same or in the other order; the block is a visit of one round."""

    __slots__ = ("is_reversed", "rounds")
    is_reversed: bool
    rounds: Rounds


class LimitedLoop(Loop):
    """A loop whose frames may take so many bytes. So it keeps snapshots of its state, and frames of its last rounds.

    The place of its rounds has the ledger of both. If the number of rounds is known before, it is the difference of a
    value and the parameter that `counts` up to it. The frames of loops `inside` lie in those of the loop.
    """

    __slots__ = ("bytes", "counts", "inside")
    bytes: int
    counts: tuple[int, Any] | None
    inside: bool


class Stretches(Control):
    """The way back through those rounds of a limited loop of which no frame is kept.

    They come in stretches, the last one first. The block carries out a stretch again, from a state on, and visits it.
    The first of the `params` are those of the `loop`: at the beginning of a block they have the state.
    """

    __slots__ = ("loop", "rounds")
    loop: LimitedLoop
    rounds: Rounds

    @property
    def ledger(self) -> int:
        """The place of the ledger."""
        return self.loop.rounds.place


class Rerun(Loop):
    """Rounds of a limited loop again, up to the end of a stretch. The frames of the stretch are kept."""

    __slots__ = ("loop",)
    loop: LimitedLoop

    @property
    def ledger(self) -> int:
        """The place of the ledger."""
        return self.loop.rounds.place


class Fork(Control):
    """Two branches, and a `predicate` that says which of them to take. Nothing is carried."""

    __slots__ = ("predicate",)
    predicate: Any

    def carrying(self, left: list[int]) -> Self:
        step = copy.copy(self)
        step.results = [[results[i] for i in left] for results in self.results]
        step.answers = [self.answers[i] for i in left]
        return step


class Activations(Rounds):
    """The activations of a function that calls itself. `place` has the frame of the first one.

    The frame of an inner activation is a value of the activation that calls it.
    """

    __slots__ = ()


class Call(Control):
    """A call of a function. The first call has the `body` of the function as its block; a call inside has no block.

    The activation gets a new frame at the place `frame` if it `is_new`. Otherwise the call is a visit: it has the frame
    of an earlier activation. `args` come in at the places `params`, which belong to the function.
    """

    __slots__ = ("activations", "body", "frame", "is_new")
    activations: Activations
    body: Block
    frame: int
    is_new: bool

    @property
    def rounds(self) -> Rounds:
        """The activations, whose frames are laid out as those of rounds are."""
        return self.activations

    def with_arguments(self, left: list[int]) -> Call:
        """The same call with only these arguments."""
        step = copy.copy(self)
        step.args = tuple([self.args[i] for i in left])
        step.params = [self.params[i] for i in left] if self.blocks else []
        return step


class Gather(Step):
    """A value of each round of a loop, all of them as one array along a new first axis."""

    __slots__ = ("rounds", "value")

    def __init__(self, place: int, rounds: Rounds, value: Any, errors: Any) -> None:
        super().__init__(place, np.stack, (rounds, value), NOTHING, errors)
        self.rounds = rounds
        self.value = value


def all_steps(steps: list[Step]) -> Iterator[Step]:
    """These steps, and the steps in their blocks."""
    waiting = steps[::-1]
    while waiting:
        yield (step := waiting.pop())
        if type(step) is not Step and isinstance(step, Control):
            for block in reversed(step.blocks):
                waiting += reversed(block.steps)


def has_several_layouts(steps: list[Step]) -> bool:
    """Whether a branch, or a round, answers an array in another layout than that of the other branch, or of before.

    Then what is made of such an array may lie in memory in another way than what was recorded.
    """
    for step in all_steps(steps):
        if isinstance(step, Control) and not isinstance(step, Call):
            joined = zip(*step.results, *([] if isinstance(step, Fork) else [step.args]), strict=True)
            if any(len({getattr(unstaged(x), "strides", ()) for x in xs}) > 1 for xs in joined):
                return True
    return False


def operands_of(step: Step) -> list[Staged]:
    """The staged values among what a step itself needs."""
    if type(step) is not Step:
        return staged_in(own_arguments(step))
    if step.operands is None:
        step.operands = staged_in(own_arguments(step))
    return step.operands


def own_arguments(step: Step) -> list[Any]:
    """What a step itself needs, beside the steps in its blocks."""
    found = [*step.args, *step.kwargs.values()] if step.kwargs else [*step.args]
    if type(step) is Step or not isinstance(step, Control):
        return found
    found += [result for results in step.results for result in results]
    if isinstance(step, Loop):
        found.append(step.goes_on)
    if isinstance(step, Fork):
        found.append(step.predicate)
    return found
