"""A limit for the memory of frames: a loop whose frames may exceed it keeps snapshots of its state in their place.

A loop is written with its way back. The frames of all its rounds may take more memory than there is. So the rounds come
in stretches, and half of the memory has frames for the rounds of one stretch. The other half has snapshots: states of
the loop between two stretches. The loop keeps the frames of the stretch that it is in. On the way back the visit goes
through the frames that are there, and `Stretches` come after it: as long as there are rounds without frames, the last
stretch of them is carried out again from a snapshot, keeps its frames, and is visited. So the program has a copy of the
rounds and a copy of their visit. Which snapshots there are is decided while the program runs (`python/ledgers.py`).
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.staging.copying import Copying, places_made
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.ledgers import FEWEST, bytes_of_values
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import (
    Call,
    Control,
    Fork,
    Gather,
    LimitedLoop,
    Loop,
    Rerun,
    Rounds,
    Stretches,
    Visit,
    all_steps,
)
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

VISITED_OFTEN = "its rounds are visited more than once, as by scan and by derivatives of a higher order"
GATHERED = "what its rounds answer is gathered into an array"
INSIDE = "it is in another loop that keeps all frames, or in a function that calls itself"
CALLS = "a function calls itself in it"
HAS_INNER = "a loop in it keeps all its frames until the round has been visited"
TOO_SMALL = "eight snapshots of its state and the frame of one round take more"
WRITES = "it writes to arrays in place"
LESS = {operator.lt, np.less}
SUMS = {operator.add, np.add}
INTEGERS = (int, np.int64)


class _Found(NamedTuple):
    """A loop that keeps frames, what visits and gathers them, and whether it is in branches alone."""

    loop: Loop
    visits: list[Visit]
    is_gathered: bool
    is_outermost: bool


class Remark(NamedTuple):
    """For what a limit does not hold: for a loop, or within a round of one; and why."""

    is_within: bool
    reason: str


def limited(trace: Trace, left: Eliminated, outputs: list[Any], limit: int) -> tuple[Eliminated, list[Remark]]:
    """The steps with a limit of so many bytes for frames and snapshots; and for what it does not hold."""
    found = list(_loops_with_frames(left.steps))
    problems = {each.loop: problem for each in found if (problem := _problem(each))}
    visits = {each.loop: each.visits[0] for each in found if each.loop not in problems}
    if not visits:
        return left, [Remark(False, problem) for problem in problems.values()]
    remarks, share = [], limit // len(visits)
    uses, values, kept = Uses(trace, left, outputs), trace.values, {id(each.loop.rounds) for each in found}
    with_inner = set()
    for loop in visits:
        inner = {step for step in _inside(loop) if isinstance(step, Loop) and id(step.rounds) in kept}
        problems = {other: problem for other, problem in problems.items() if other not in inner}
        frame = bytes_of_values([values[place] for place in uses.slots.get(loop.rounds, {})])
        if FEWEST * bytes_of_values([values[place] for place in loop.params]) + frame > share:
            remarks.append(Remark(False, TOO_SMALL))
        if inner:
            with_inner.add(loop)
            remarks.append(Remark(True, HAS_INNER))
    remarks += [Remark(False, problem) for problem in problems.values()]
    left = copy(left)
    left.steps = _Limiting(trace, left, visits, with_inner, share).steps(left.steps, trace.root)
    return left, remarks


def _loops_with_frames(steps: list[Step]) -> Iterator[_Found]:
    loops: dict[int, Loop] = {}
    visits: dict[int, list[Visit]] = defaultdict(list)
    gathered = set()
    for step in all_steps(steps):
        if isinstance(step, Loop):
            loops[id(step.rounds)] = step
        elif isinstance(step, Visit):
            visits[id(step.rounds)].append(step)
        elif isinstance(step, Gather):
            gathered.add(id(step.rounds))
    outermost = set(map(id, _outside_of_rounds(steps)))
    for key, loop in loops.items():
        if key in visits or key in gathered:
            is_outermost = all(id(step) in outermost for step in (loop, *visits[key]))
            yield _Found(loop, visits[key], key in gathered, is_outermost)


def _outside_of_rounds(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step, Fork):
            for block in step.blocks:
                yield from _outside_of_rounds(block.steps)


def _inside(loop: Loop) -> list[Step]:
    """The steps in the rounds of a loop."""
    return list(all_steps([step for block in loop.blocks for step in block.steps]))


def _problem(found: _Found) -> str:
    """Why a loop keeps the frames of all rounds; empty if it need not."""
    loop, visits, is_gathered, is_outermost = found
    inside = _inside(loop)
    if is_gathered:
        return GATHERED
    if len(visits) > 1:
        return VISITED_OFTEN
    if not is_outermost:
        return INSIDE
    if any(isinstance(step, Call) for step in (*inside, *all_steps(list(visits)))):
        return CALLS
    return WRITES if any(step.writes for step in inside) else ""


def _counts(loop: Loop, left: Eliminated) -> tuple[int, Any] | None:
    """The parameter that a loop counts up by one, and the integer at which the loop ends; None if it does not count."""
    goes_on = left.place(loop.goes_on) if type(loop.goes_on) is Staged else None
    if len(loop.test.steps) != 1 or loop.test.steps[0].place != goes_on:
        return None
    (test,) = loop.test.steps
    if test.function not in LESS or len(test.args) != 2 or type(unstaged(test.args[1])) not in INTEGERS:
        return None
    first, end = test.args
    place = left.place(first) if type(first) is Staged else None
    is_outside = type(end) is not Staged or end._place in left.fixed or left.place(end) not in _made_in(loop)
    if place not in loop.params or not is_outside or type(unstaged(first)) not in INTEGERS:
        return None
    result = loop.results[-1][loop.params.index(place)]
    maker = next((step for step in loop.blocks[1].steps if [step.place] == [*left.places_in(result)]), None)
    if maker is None or maker.function not in SUMS or len(maker.args) != 2:
        return None
    counted, one = maker.args
    return (place, end) if [*left.places_in(counted)] == [place] and type(one) is int and one == 1 else None


def _made_in(loop: Loop) -> set[int]:
    """The places of what a loop carries, makes and answers."""
    return {*loop.params, *[place for step in _inside(loop) for place in places_made(step)]}


class _Limiting:
    """The steps with limited loops, and with stretches behind the visits of their rounds."""

    def __init__(
        self, trace: Trace, left: Eliminated, visits: dict[Loop, Visit], with_inner: set[Loop], share: int
    ) -> None:
        self._trace = trace
        self._left = left
        self._visits = visits
        self._with_inner = with_inner
        self._loops: dict[Visit, LimitedLoop] = {}
        self._share = share

    def steps(self, steps: list[Step], block: Block) -> list[Step]:
        """The steps of a block."""
        found: list[Step] = []
        for step in steps:
            if isinstance(step, Loop) and step in self._visits:
                found.append(self._limited(step))
            elif isinstance(step, Visit) and step in self._loops:
                found += self._with_stretches(step, block)
            elif isinstance(step, Fork):
                inside = [inner.with_steps(self.steps(inner.steps, inner.origin)) for inner in step.blocks]
                found.append(step.with_blocks(inside))
            else:
                found.append(step)
        return found

    def _limited(self, loop: Loop) -> LimitedLoop:
        step = LimitedLoop(loop.args, loop.blocks, loop.params, loop.results, loop.answers, loop.errors)
        step.goes_on, step.keeps, step.rounds, step.is_back = loop.goes_on, loop.keeps, loop.rounds, loop.is_back
        step.bytes, step.inside = self._share, loop in self._with_inner
        step.counts = None if step.inside else _counts(loop, self._left)
        self._loops[self._visits[loop]] = step
        return step

    def _with_stretches(self, visit: Visit, block: Block) -> list[Step]:
        """The visit of the frames that are there, and the stretches. These have the answers."""
        loop, values = self._loops[visit], self._trace.values
        first = copy(visit)
        first.answers = [self._kept(values[place], block) for place in visit.answers]
        inside = Block(block, rounds=Rounds(self._kept([], block)))
        copying = Copying(self._trace, self._left)
        state = [self._kept(values[place], inside) for place in loop.params]
        adjoints = [self._kept(values[place], inside) for place in visit.params]
        rerun = self._rerun(loop, visit, inside, copying, self._staged(state))
        copying.home(block, inside)
        (again,) = copying.steps([visit])
        assert isinstance(again, Visit)
        again.args = tuple(self._staged(adjoints))
        inside.steps = [rerun, again]
        step = Stretches(
            [*loop.args, *self._staged(first.answers)],
            [inside],
            [*state, *adjoints],
            [self._staged([*rerun.answers, *again.answers])],
            [*[self._kept(values[place], block) for place in loop.params], *visit.answers],
            visit.errors,
        )
        step.loop, step.rounds, step.is_back = loop, inside.rounds, visit.is_back
        return [first, step]

    def _rerun(self, loop: LimitedLoop, visit: Visit, inside: Block, copying: Copying, state: list[Staged]) -> Rerun:
        test, body = loop.blocks
        rounds = copying.rounds(loop.rounds)
        self._trace.homes[rounds.place] = inside
        block = Block(inside, rounds=rounds)
        copying.home(test, block)
        copying.home(body, block)
        params = copying.places(loop.params)
        block.steps = copying.steps([*self._needed_of_test(loop, visit), *body.steps])
        answers = [self._kept(self._trace.values[place], inside) for place in loop.answers]
        results = copying.arguments(loop.results[-1])
        quiet = dict.fromkeys(self._trace.errors, "ignore")  # as the loop has warned
        for inner in all_steps(block.steps):
            inner.errors = quiet
        step = Rerun(state, [Block(block), block], params, [results], answers, quiet)
        step.goes_on, step.keeps, step.rounds, step.loop = True, loop.keeps, rounds, loop
        step.is_back = True
        return step

    def _needed_of_test(self, loop: LimitedLoop, visit: Visit) -> list[Step]:
        """The steps of the test that a round needs, or its visit."""
        left, needed = self._left, list[Step]()
        wanted = {*left.places_in(loop.results)}
        wanted.update(place for step in all_steps([*loop.blocks[1].steps, visit]) for place in left.operands(step))
        for step in reversed(loop.test.steps):
            if isinstance(step, Control) or step.is_question or step.open_ended or step.place in wanted:
                needed.append(step)
                wanted.update(left.operands(step))
        return needed[::-1]

    def _kept(self, value: Any, block: Block) -> int:
        """A new place in a block."""
        self._trace.values.append(value)
        self._trace.homes.append(block)
        return len(self._trace.values) - 1

    def _staged(self, places: list[int]) -> list[Staged]:
        return [Staged(self._trace, place) for place in places]
