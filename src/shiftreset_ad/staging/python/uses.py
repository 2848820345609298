"""Where each value is used: how often, by which step last, and which values of a round must stay in its frame.

A local variable of the generated function serves a value in its block and in the blocks inside it. A later visit of a
round finds the values of the round in its frame, which has a slot for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from shiftreset_ad.staging.steps.blocks import (
    Activations,
    Call,
    Control,
    Fork,
    Gather,
    Loop,
    Rerun,
    Rounds,
    Stretches,
    Visit,
)
from shiftreset_ad.staging.steps.trace import Block, Step, Trace, UnstageableError


class Steps(Protocol):
    """The steps of a trace, after elimination."""

    @property
    def steps(self) -> list[Step]: ...

    def places_in(self, x: Any) -> Iterator[int]:
        """The places of the values in an argument."""

    def operands(self, step: Step) -> Sequence[int]:
        """The places that a step needs, beside those that the steps in its blocks need."""


class Uses:
    """The uses of the values of a trace.

    *   `count`: how often a value is used;
    *   `last`: the last step that uses a value; None if it is needed at the end of its block;
    *   `elsewhere`: the values that are used in other blocks than their own;
    *   `slots`: the values in the frames of these rounds, each with its index;
    *   `loads`: the values that a visit takes from its frame;
    *   `branches`: the branches of visits in which all uses of a value in the frame of an activation are;
    *   `answers`: the answers of loops and branches, which may be arrays of others.
    """

    def __init__(self, trace: Trace, left: Steps, outputs: list[Any]) -> None:
        self.count: Counter[int] = Counter()
        self.last: dict[int, Step | None] = {}
        self.elsewhere: set[int] = set()
        self.slots: dict[Rounds, dict[int, int]] = {}
        self.loads: dict[Block, list[int]] = {}
        self.branches: dict[int, list[Block]] = {}
        self.answers: set[int] = set()
        self._homes = trace.homes
        self._left = left
        self._walked: set[Block] = set()
        root = [trace.root]
        self._walk(left.steps, root)
        self._use(outputs, root, None)
        if not {round_of(self._homes[place]) for slots in self.slots.values() for place in slots} <= self._walked:
            raise UnstageableError("a value of a round is needed, and no step is left that computes it")

    def stored(self, block: Block, rounds: Rounds) -> dict[int, int]:
        """The values of a round, or of a visit, that go into its frame, each with its index."""
        slots = self.slots.get(rounds, {})
        return {place: index for place, index in slots.items() if round_of(self._homes[place]) is block.origin}

    def keep_first(self, first: set[int], nowhere: int | None, rounds: Rounds) -> None:
        """Let these values have the first slots, and one of them no slot, as a visit finds it in another way."""
        slots = self.slots[rounds]
        places = sorted(slots.keys() - {nowhere}, key=lambda place: (place not in first, slots[place]))
        self.slots[rounds] = {place: index for index, place in enumerate(places)}

    def is_of_branch(self, place: int) -> bool:
        """Whether a value is there only if a branch has been taken."""
        return round_of(self._homes[place]) is not self._homes[place]

    def _walk(self, steps: list[Step], chain: list[Block]) -> None:
        self._walked.add(chain[-1].origin)
        for step in steps:
            if isinstance(step, Gather):
                for place in self._left.places_in(step.value):
                    if any(block.rounds is step.rounds for block in self._homes[place].outwards()):
                        self._keep_in_frame(place, step.rounds)
                    else:  # each round answers the same value
                        self._use_place(place, chain, step)
            elif type(step) is Step:
                for place in self._left.operands(step):
                    self._use_place(place, chain, step)
                continue
            else:
                self._use(step.args, chain, step)
            if isinstance(step, Visit | Gather):
                self._use_place(step.rounds.place, chain, step)
            if isinstance(step, Stretches | Rerun):
                self._use_place(step.ledger, chain, step)
            if isinstance(step, Call) and not step.is_new:
                self._use_place(step.frame, chain, step)
            if isinstance(step, Fork):
                self._use(step.predicate, chain, step)
            if isinstance(step, Loop):
                test, body = step.blocks
                within = [*chain, body]
                self._walk(test.steps, [*within, test])
                self._use(step.goes_on, [*within, test], None)
                self._walk(body.steps, within)
                self._use(step.results[-1], within, None)
            elif isinstance(step, Control):
                for block, results in zip(step.blocks, step.results, strict=True):
                    self._walk(block.steps, [*chain, block])
                    self._use(results, [*chain, block], None)
            if isinstance(step, Control):
                self.answers.update(step.answers)
                self.last.update(dict.fromkeys(step.params))  # their variables serve from round to round

    def _use(self, x: Any, chain: list[Block], step: Step | None) -> None:
        for place in self._left.places_in(x):
            self._use_place(place, chain, step)

    def _use_place(self, place: int, chain: list[Block], step: Step | None) -> None:
        self.count[place] += 1
        home = self._homes[place]
        if home is chain[-1].origin:
            self.last[place] = step
            return
        self.elsewhere.add(place)
        self.last[place] = None
        origins = [block.origin for block in chain]
        for block in home.outwards():
            if block in origins:
                return
            if block.fork is not None:
                if not any(is_same_branch(block, other) for other in chain):
                    raise UnstageableError("a value of a branch of cond is used outside of the branch")
            elif block.rounds is not None:
                visits = [other for other in chain if other.rounds is block.rounds]
                if not visits:
                    raise UnstageableError("a value of a round of a loop is used outside of the loop")
                self._keep_in_frame(place, block.rounds)
                if isinstance(block.rounds, Activations):
                    inside = chain[chain.index(visits[-1]) + 1 :]
                    known = self.branches.get(place, inside)
                    self.branches[place] = [one for one in known if any(is_same_branch(one, other) for other in inside)]
                loads = self.loads.setdefault(visits[-1].origin, [])
                if place not in loads:
                    loads.append(place)
                return
        raise UnstageableError("a value of a loop or of a branch is used outside of it")

    def _keep_in_frame(self, place: int, rounds: Rounds) -> None:
        slots = self.slots.setdefault(rounds, {})
        slots.setdefault(place, len(slots))
        self.elsewhere.add(place)
        self.last[place] = None


def round_of(block: Block) -> Block:
    """The round in which a block is, or the whole run."""
    return next(around for around in block.outwards() if around.rounds is not None or around.around is None)


def is_same_branch(block: Block, other: Block) -> bool:
    """Whether both blocks are there for the same branch of a value, which has a fork."""
    return (
        block.fork is not None
        and other.fork is not None
        and other.fork[0] is block.fork[0]
        and other.fork[1] == block.fork[1]
    )
