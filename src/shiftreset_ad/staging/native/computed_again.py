"""What a visit computes again, and what the frame of its round keeps for it.

A frame keeps what a visit needs of its round. Sums and products of floats are computed faster than memory is written
and read, so a visit computes them again, from the values that the round begins with, where that saves enough slots. The
frames of Runge and Kutta's method then keep two numbers of a step in place of 16.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from copy import copy
from typing import Any

from shiftreset_ad.staging.copying import Copying
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Call, Control, Gather, Loop, Visit, all_steps
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import Staged

CHEAP = {operator.add, operator.sub, operator.mul, operator.neg}
FLOATS = {float}
LEAST_SAVED = 4  # slots of a frame
MOST_STEPS = 4  # for a slot


def with_less_kept(trace: Trace, left: Eliminated) -> Eliminated:
    """The steps, with visits that compute again what is cheap."""
    steps = list(all_steps(left.steps))
    loops = {id(step.rounds): step for step in steps if type(step) is Loop}
    visits: dict[int, list[Visit]] = {}
    for step in steps:
        if isinstance(step, Visit | Gather):
            visits.setdefault(id(step.rounds), []).append(step)  # type: ignore[arg-type]
    if any(isinstance(step, Call) for step in steps):
        return left
    again = {
        visit: made
        for rounds, of_rounds in visits.items()
        if rounds in loops
        for visit, made in _Rounds(trace, left, loops[rounds]).again(of_rounds).items()
    }
    if not again:
        return left
    less = copy(left)
    less.steps = _Visits(trace, left, again).steps(left.steps)
    return less


class _Rounds:
    """The rounds of a loop, and what their visits need of them."""

    def __init__(self, trace: Trace, left: Eliminated, loop: Loop) -> None:
        self._trace, self._left, self._loop = trace, left, loop
        self._home = loop.blocks[1].origin
        self._cheap = {step.place: step for step in loop.blocks[1].steps if self._is_cheap(step)}

    def again(self, visits: list[Visit]) -> dict[Visit, list[Step]]:
        """The steps that each of these visits computes again; nothing if that does not pay."""
        if any(type(visit) is not Visit for visit in visits):
            return {}
        needed = {visit: self._needed(visit) for visit in visits}
        made = {visit: self._made(places) for visit, places in needed.items()}
        before = set().union(*needed.values())
        places = {step.place for steps in made.values() for step in steps}
        kept = {place for step in self._steps_of(places) for place in self._left.operands(step) if self._is_own(place)}
        saved = len(before) - len((kept | before) - places)
        is_worth_it = saved >= LEAST_SAVED and sum(map(len, made.values())) <= MOST_STEPS * saved
        return made if is_worth_it else {}

    def _needed(self, visit: Visit) -> set[int]:
        """The values of a round that a visit needs."""
        left = self._left
        found = {place for step in all_steps(visit.blocks[0].steps) for place in left.operands(step)}
        return {place for place in (*found, *left.places_in(visit.results)) if self._is_own(place)}

    def _made(self, places: set[int]) -> list[Step]:
        """The cheap steps that lead to these places, in their order."""
        wanted = {place for place in places if place in self._cheap}
        for place in sorted(self._cheap, reverse=True):
            if place in wanted:
                wanted.update(x for x in self._left.operands(self._cheap[place]) if x in self._cheap)
        return self._steps_of(wanted)

    def _steps_of(self, places: set[int]) -> list[Step]:
        return [step for step in self._loop.blocks[1].steps if type(step) is Step and step.place in places]

    def _is_own(self, place: int) -> bool:
        return self._trace.homes[place] is self._home

    def _is_cheap(self, step: Step) -> bool:
        """Whether a step makes a float of floats, which are there in a visit, too, and raises no error."""
        if type(step) is not Step or step.function not in CHEAP or step.is_question or step.kwargs:
            return False
        values, homes = self._trace.values, self._trace.homes
        places = list(self._left.operands(step))
        return all(type(x) in FLOATS for x in (values[step.place], *map(_value, step.args))) and all(
            homes[place] in (self._home, self._trace.root) for place in places
        )


class _Visits:
    """The steps of a program, in which visits compute these steps again."""

    def __init__(self, trace: Trace, left: Eliminated, again: dict[Visit, list[Step]]) -> None:
        self._trace, self._left, self._again = trace, left, again

    def steps(self, steps: Iterable[Step], copying: Copying | None = None) -> list[Step]:
        """The steps, with the places of `copying` as operands."""
        return [self._step(step, copying) for step in steps]

    def _step(self, step: Step, copying: Copying | None) -> Step:
        if copying is None and not isinstance(step, Control):
            return step
        new = copy(step) if copying is None else copying.with_operands(step)
        if not (isinstance(new, Control) and isinstance(step, Control)):
            return new
        made: list[Step] = []
        if isinstance(step, Visit) and step in self._again:
            copying, made = self._computed_again(step)
        new.blocks = [block.with_steps([*made, *self.steps(block.steps, copying)]) for block in step.blocks]
        if copying is not None:
            copying.give_results(new)
        return new

    def _computed_again(self, visit: Visit) -> tuple[Copying, list[Step]]:
        steps = self._again[visit]
        copying = Copying(self._trace, self._left)
        copying.home(self._trace.homes[steps[0].place], visit.blocks[0].origin)
        made = copying.steps(steps)
        for step in made:
            step.errors = dict.fromkeys(self._trace.errors, "ignore")  # as the round has warned
            step.is_back = True
        return copying, made


def _value(x: Any) -> Any:
    return x.inside if type(x) is Staged else x
