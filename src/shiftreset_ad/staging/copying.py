"""Copies of steps at new places, so that a program may have the same rounds twice."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Control, Fork, Gather, Loop, Rounds, Visit
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged


class Copying:
    """Copies of the steps of some blocks, which belong together: where one needs a value of another, so do the copies.

    A value from outside of the blocks stays as it is. The blocks have no calls of functions that call themselves.
    """

    def __init__(self, trace: Trace, left: Eliminated) -> None:
        self._trace = trace
        self._left = left
        self._places: dict[int, int] = {}
        self._rounds: dict[int, Rounds] = {}
        self._forks: dict[int, Any] = {}
        self._blocks: dict[Block, Block] = {}

    def rounds(self, rounds: Rounds) -> Rounds:
        """The rounds that stand for these in copies, from the first time on that this is asked."""
        if id(rounds) not in self._rounds:
            self._rounds[id(rounds)] = Rounds(self._new(rounds.place))
        return self._rounds[id(rounds)]

    def home(self, block: Block, new: Block) -> None:
        """Let copies of what has its home in a block have it in a new one."""
        self._blocks[block.origin] = new

    def places(self, places: Sequence[int]) -> list[int]:
        """The new places for these; their home is known."""
        return list(map(self._new, places))

    def steps(self, steps: list[Step]) -> list[Step]:
        """Copies of the steps of a block whose home is known."""
        for step in steps:
            for place in places_made(step):
                self._new(place)
        return [self._copied(step) for step in steps]

    def argument(self, x: Any) -> Any:
        """An argument for copies."""
        kind = type(x)
        if kind is Staged:
            place = self._left.place(x)
            is_ours = x._place not in self._left.fixed and place in self._places
            return Staged(self._trace, self._places[place]) if is_ours else x
        if kind is list or kind is tuple:
            return kind(map(self.argument, x))
        if kind is slice:
            return slice(*map(self.argument, (x.start, x.stop, x.step)))
        if kind is dict:
            return {name: self.argument(part) for name, part in x.items()}
        return x

    def arguments(self, xs: Sequence[Any]) -> list[Any]:
        return list(map(self.argument, xs))

    def with_operands(self, step: Step) -> Step:
        """The same step, whose operands are those of copies."""
        new = copy.copy(step)
        new.operands = None
        new.args = tuple(self.arguments(step.args))
        new.kwargs = {name: self.argument(x) for name, x in step.kwargs.items()} if step.kwargs else step.kwargs
        if isinstance(new, Gather):
            new.rounds, new.value = self._of_copies(new.rounds), self.argument(new.value)
            new.args = (new.rounds, new.value)
        return new

    def give_results(self, step: Control) -> None:
        """The results of the blocks of a step, and what decides on them, are those of copies, too."""
        step.results = list(map(self.arguments, step.results))
        if isinstance(step, Loop):
            step.goes_on = self.argument(step.goes_on)
        if isinstance(step, Fork):
            step.predicate = self.argument(step.predicate)

    def _new(self, place: int) -> int:
        trace = self._trace
        if place not in self._places:
            home = trace.homes[place]
            trace.values.append(trace.values[place])
            trace.homes.append(self._blocks.get(home, home))
            self._places[place] = len(trace.values) - 1
        return self._places[place]

    def _copied(self, step: Step) -> Step:
        new = self.with_operands(step)
        if not (isinstance(new, Control) and isinstance(step, Control)):
            new.place = self._places[step.place]
            return new
        if isinstance(step, Loop) and isinstance(new, Loop):
            new.rounds = self.rounds(step.rounds)
        elif isinstance(step, Visit) and isinstance(new, Visit):
            new.rounds = self._of_copies(step.rounds)
        new.blocks = list(map(self._block, step.blocks[::-1]))[::-1]  # the test of a loop is in its round
        new.params = list(map(self._new, step.params))
        for block, old in zip(new.blocks, step.blocks, strict=True):
            block.steps = self.steps(old.steps)
        new.answers = [self._places[place] for place in step.answers]
        self.give_results(new)
        return new

    def _of_copies(self, rounds: Rounds) -> Rounds:
        return self._rounds.get(id(rounds), rounds)

    def _block(self, block: Block) -> Block:
        around = block.around
        new = Block(self._blocks.get(around, around) if around is not None else None)
        if block.rounds is not None:
            new.rounds = self._of_copies(block.rounds)
        if block.fork is not None:
            of, branch = block.fork
            new.fork = self._forks.setdefault(id(of), object()), branch
        self._blocks[block.origin] = new
        return new


def places_made(step: Step) -> Iterator[int]:
    """The places at which a step leaves values in its own block."""
    if isinstance(step, Control):
        yield from step.answers
    else:
        yield step.place
