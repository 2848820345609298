"""Sinking: a sum after a branch, or after the rounds of a loop, goes into them.

The way back of `if p: s += x[i]` is `x_bar + (scatter([s_bar], [i]) if p else zeros)`, where `x_bar` is what later
steps of the program have contributed. In the branch the sum is one at a few elements, which needs no time for whole
arrays (`in_place`), and in the other branch there is no sum. The rounds of an inner loop begin with `x_bar` in place of
zeros. Then contributions are added in the order in which the function itself adds them.
"""

from __future__ import annotations

import copy
import operator
from collections import Counter
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.staging.steps.blocks import Control, Fork, Loop, Visit, all_steps, own_arguments
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.sources import Sources
from shiftreset_ad.staging.steps.trace import NOTHING, Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged

ADDING = (operator.add, np.add)
MOST = 20  # terms of a sum that are looked at


class Sinking:
    """The steps of a trace after sinking. From then on, answers of control stand in for sums that have been sunk."""

    def __init__(
        self, trace: Trace, steps: list[Step], outputs: list[Any], stand_ins: dict[int, int], fixed: set[int]
    ) -> None:
        """`fixed` are the places of constants; `stand_ins` gets the places of answers for those of sums."""
        self._trace, self._stand_ins, self._fixed = trace, stand_ins, fixed
        self._uses = Counter(map(self._place, staged_in(outputs)))
        self._answered: set[int] = set()  # by branches and visits
        self._counts: dict[int, int] = {}  # of the terms of sums that have such a term
        for step in all_steps(steps):
            self._uses.update(map(self._place, staged_in(own_arguments(step))))
            if isinstance(step, Fork | Visit):
                self._answered.update(step.answers)
        self._sources = Sources(trace, steps)
        self._given = _owners([trace.values[place] for place in range(trace.inputs)])
        self._written = _owners([unstaged(step.args[0]) for step in all_steps(steps) if step.writes])
        self.steps = self._sunk(steps, trace.root)

    def _place(self, x: Staged) -> int:
        return self._stand_ins.get(x._place, x._place)

    def _sunk(self, steps: list[Step], block: Block) -> list[Step]:
        """The steps of a block, with the sums sunk in it and in the blocks inside."""
        left: list[Step] = []
        for step in steps:
            if isinstance(step, Control):
                blocks = [inner.with_steps(self._sunk(inner.steps, inner.origin)) for inner in step.blocks]
                left.append(step.with_blocks(blocks))
                continue
            if step.function in ADDING and not step.kwargs and (count := sum(map(self._count, step.args))):
                if count <= MOST and self._sinks(step, left, block):
                    continue
                self._counts[step.place] = count + 1
            left.append(step)
        return left

    def _count(self, x: Any) -> int:
        """How many terms a value has, if one of them is answered by control; otherwise 0."""
        if type(x) is not Staged:
            return 0
        place = self._place(x)
        return self._counts.get(place, int(place in self._answered))

    def _sinks(self, step: Step, steps: list[Step], block: Block) -> bool:
        """Sink a sum into control among the steps before it; False if it stays.

        A sum stays if its memory counts: it stands in for a copy of its own, or the program writes to it.
        """
        answer = self._trace.values[step.place]
        if step.place in self._stand_ins.values() or not self._written.isdisjoint(_owners([answer])):
            return False
        for x, other in (step.args, step.args[::-1]):
            if not (self._is_like(x, answer) and self._is_like(other, answer)):
                continue
            if not self._may_be_answered(x):
                continue
            terms, _ = self._terms(other, steps)
            found = [i for term in terms if (i := self._control_at(term, steps)) is not None]
            if not found or not any(self._is_sparse(term, steps) for term in terms):
                continue
            after = steps[min(found) :]
            if not self._is_there(x, after, block) or any(inner.writes for inner in all_steps(after)):
                continue
            self._use(x, -1)
            result = self._sum(x, other, steps, block, step)
            self._stand_in(step.place, self._place(result))
            return True
        return False

    def _may_be_answered(self, x: Any) -> bool:
        """Whether control may answer an array in place of a sum: nobody else has it, and it is no argument."""
        if type(x) is Staged and x._place not in self._fixed and self._uses[self._place(x)] != 1:
            return False
        return self._given.isdisjoint(self._sources.of(x))

    def _terms(self, x: Any, steps: list[Step]) -> tuple[list[Any], list[Step]]:
        """The terms of a value in the order in which they are made, and the sums that have made the value of them."""
        maker = self._maker(x, steps)
        is_sum = maker is not None and maker.function in ADDING and not maker.kwargs and self._uses[maker.place] == 1
        if maker is None or not is_sum or not all(self._is_like(arg, unstaged(x)) for arg in maker.args):
            return [x], []
        (one, sums), (other, more) = [self._terms(arg, steps) for arg in maker.args]
        return sorted([*one, *other], key=lambda term: self._number(term, steps)), [*sums, *more, maker]

    def _maker(self, x: Any, steps: list[Step]) -> Step | None:
        number = self._number(x, steps)
        return steps[number] if number >= 0 else None

    def _number(self, x: Any, steps: list[Step]) -> int:
        """The number of the step that makes a value, or -1."""
        if type(x) is not Staged or x._place in self._fixed:
            return -1
        place = self._place(x)
        return next((i for i, step in enumerate(steps) if place in _made(step)), -1)

    def _stand_in(self, place: int, other: int) -> None:
        self._stand_ins[place] = other
        self._trace.values[other] = self._trace.values[place]  # the memory of the one is that of the other
        self._uses[other] = self._uses.pop(place, 0)

    def _is_like(self, x: Any, answer: Any) -> bool:
        value = unstaged(x)
        alike = type(value) is ndarray and type(answer) is ndarray and value.shape == answer.shape != ()
        return bool(alike and value.dtype == answer.dtype == np.float64 and value.strides == answer.strides)

    def _control_at(self, x: Any, steps: list[Step]) -> int | None:
        """The number of the branch or of the visit that answers a value; None if there is none, or it has more uses."""
        if type(x) is not Staged or x._place in self._fixed:
            return None
        place = self._place(x)
        if place not in self._answered or self._uses[place] != 1:
            return None
        number = self._number(x, steps)
        return number if number >= 0 and isinstance(steps[number], Fork | Visit) else None

    def _is_there(self, x: Any, after: list[Step], block: Block) -> bool:
        """Whether a value is there before these steps, the last ones before its sum."""
        if type(x) is not Staged or x._place in self._fixed:
            return True
        place = self._place(x)
        home = self._trace.homes[place]
        if home is not block:
            return home in block.outwards()
        return not any(place in _made(step) for step in after)

    def _use(self, x: Any, count: int) -> None:
        if type(x) is Staged:
            self._uses[self._place(x)] += count

    # What a sum adds

    def _is_sparse(self, x: Any, steps: list[Step]) -> bool:
        """Whether a value is a few elements at least on one path, and made for one sum alone."""
        if type(x) is not Staged or x._place in self._fixed:
            return not np.any(unstaged(x))
        maker: Any = self._maker(x, steps)
        if maker is None or self._uses[self._place(x)] != 1:
            return False
        if isinstance(maker, Fork):
            i = maker.answers.index(self._place(x))
            pairs = zip(maker.blocks, maker.results, strict=True)
            return any(self._has_sparse(results[i], inner.steps) for inner, results in pairs)
        return self._adds(maker, x) if isinstance(maker, Visit) else maker.function is scatter

    def _has_sparse(self, x: Any, steps: list[Step]) -> bool:
        return any(self._is_sparse(term, steps) for term in self._terms(x, steps)[0])

    def _adds(self, step: Any, x: Staged) -> bool:
        """Whether the rounds begin with zeros, and add to them alone."""
        i = step.answers.index(self._place(x))
        (body,), first, param = step.blocks, step.args[i], step.params[i]
        if (type(first) is Staged and first._place not in self._fixed) or np.any(unstaged(first)):
            return False
        found = self._additions_to(param, step.results[-1][i], body.steps)
        return found is not None and found == self._uses[param]

    def _additions_to(self, param: int, result: Any, steps: list[Step]) -> int | None:
        """How often a result uses a parameter, if it is the parameter, or a sum that has it as a term."""
        if type(result) is not Staged or result._place in self._fixed:
            return None
        place = self._place(result)
        if place == param:
            return 1
        if self._uses[place] != 1:
            return None
        maker: Any = self._maker(result, steps)
        if maker is None:
            return None
        if isinstance(maker, Fork):
            i = maker.answers.index(place)
            parts = [
                self._additions_to(param, results[i], [*steps, *inner.steps])
                for inner, results in zip(maker.blocks, maker.results, strict=True)
            ]
            return None if None in parts else sum(parts)  # type: ignore[arg-type]
        if isinstance(maker, Visit):
            i = maker.answers.index(place)
            inner = self._additions_to(maker.params[i], maker.results[-1][i], maker.blocks[0].steps)
            return self._additions_to(param, maker.args[i], steps) if inner == self._uses[maker.params[i]] else None
        if maker.function in ADDING and not maker.kwargs:
            found = [self._additions_to(param, x, steps) for x in maker.args]
            found = [count for count in found if count is not None]
            return found[0] if len(found) == 1 else None
        return None

    def _sum(self, x: Any, other: Any, steps: list[Step], block: Block, like: Step) -> Any:
        """`x + other`, where steps are added or changed in the steps of a block."""
        terms, sums = self._terms(other, steps)
        if not any(self._is_sparse(term, steps) for term in terms):
            return self._added(x, other, steps, block, like)
        for step in sums:
            steps.remove(step)
        for term in terms:
            x = self._sum_with_term(x, term, steps, block, like)
            self._use(x, -1)  # by the next sum
        self._use(x, 1)
        return x

    def _sum_with_term(self, x: Any, term: Any, steps: list[Step], block: Block, like: Step) -> Any:
        if (type(term) is not Staged or term._place in self._fixed) and not np.any(unstaged(term)):
            self._use(x, 1)
            return x
        at = self._control_at(term, steps) if self._is_sparse(term, steps) else None
        if at is None or self._number(x, steps) >= at:  # the same control may have answered another term
            return self._added(x, term, steps, block, like)
        step: Any = copy.copy(steps[at])
        steps[at] = step
        i = step.answers.index(self._place(term))
        if isinstance(step, Fork):
            blocks, step.results = [], [list(results) for results in step.results]
            for inner, results in zip(step.blocks, step.results, strict=True):
                of_branch = list(inner.steps)
                results[i] = self._sum(x, results[i], of_branch, inner.origin, like)
                blocks.append(inner.with_steps(of_branch))
            step.blocks = blocks
        else:
            self._use(x, 1)
            step.args = tuple([x if k == i else arg for k, arg in enumerate(step.args)])
        return Staged(self._trace, step.answers[i])

    def _added(self, x: Any, term: Any, steps: list[Step], block: Block, like: Step) -> Staged:
        """A new step for `x + term`, behind those that make the two."""
        trace = self._trace
        place = len(trace.values)
        trace.values.append(trace.values[like.place].copy("K"))
        trace.homes.append(block)
        new = Step(place, like.function, (x, term), NOTHING, like.errors)
        new.is_back = like.is_back
        steps.insert(max(self._number(x, steps), self._number(term, steps)) + 1, new)
        self._uses[place] = 1
        self._use(x, 1)
        return Staged(trace, place)


def _owners(arrays: list[Any]) -> set[int]:
    return {id(owner) for array in arrays for owner in owners_of(array)}


def _made(step: Step) -> list[int]:
    """The places of the values that a step makes in its block."""
    if not isinstance(step, Control):
        return [step.place]
    return [*step.answers, step.rounds.place] if isinstance(step, Loop) else step.answers
