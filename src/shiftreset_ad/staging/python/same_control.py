"""Loops and branches that are carried out twice: the second one is left out, as a repeated step is.

A descent inside a descent is repeated by whatever asks for its end: by the cost, and by each direction of a derivative
on which the inner descent does not depend. The tangents that such a direction carries through the loop for nothing are
left out before, and then the loops are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shiftreset_ad.staging.python.keys import key_of, key_of_step
from shiftreset_ad.staging.steps.blocks import Control, Fork, Loop, all_steps, operands_of
from shiftreset_ad.staging.steps.functions import again
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, staged_in


class SameControl:
    """What tells whether two loops, or two branches, have the same answers."""

    def __init__(self, steps: list[Step], outputs: Any, place: Callable[[Staged], int]) -> None:
        self._steps, self._outputs, self._place = steps, outputs, place
        self._visited = {  # the places of the rounds that something goes through again
            rounds.place
            for step in all_steps(steps)
            if type(step) is not Loop and (rounds := getattr(step, "rounds", None)) is not None
        }

    def key(self, step: Control) -> Any:
        """If the keys of two steps are equal, so are their answers. None if no other step may be like this one."""
        try:
            return self._of_control(step, {})
        except _ByItself:
            return None

    def is_used_inside(self, step: Control) -> bool:
        """Whether something else uses a value of a block of the step, as the way back through a branch does."""
        made = {place for part in all_steps(_inside(step)) for place in _made_by(part)} | set(step.params)
        used = [*self._outputs, *(x for part in _without(self._steps, step) for x in operands_of(part))]
        return any(self._place(x) in made for x in staged_in(used))

    def _of_control(self, step: Control, numbers: dict[int, int]) -> Any:
        def value(x: Staged) -> Any:
            place = self._place(x)
            return ("inside", numbers[place]) if place in numbers else place

        def enter(places: Iterable[int]) -> None:
            for place in places:
                numbers[place] = len(numbers)

        def block(steps: list[Step], *results: Any) -> Any:
            found: list[Any] = []
            for part in steps:
                if isinstance(part, Control):
                    found.append(self._of_control(part, numbers))
                    continue
                if type(part) is not Step or part.function is again:
                    raise _ByItself
                found.append(key_of_step(part, value))
                enter([part.place])
            return tuple(found), tuple(key_of(result, value) for result in results)

        if type(step) is Loop and step.rounds.place not in self._visited:
            start = tuple(key_of(arg, value) for arg in step.args)
            enter(step.params)
            test, body = step.blocks
            key: Any = start, block(test.steps, step.goes_on), block(body.steps, *step.results[-1])
        elif type(step) is Fork:
            branches = zip(step.blocks, step.results, strict=True)
            predicate = key_of(step.predicate, value)
            key = predicate, *[block(branch.steps, *results) for branch, results in branches]
        else:
            raise _ByItself
        enter(step.answers)
        return type(step), key


def _inside(step: Control) -> list[Step]:
    return [part for block in step.blocks for part in block.steps]


def _made_by(step: Step) -> list[int]:
    return [*step.answers, *step.params] if isinstance(step, Control) else [step.place]


def _without(steps: list[Step], other: Control) -> Iterator[Step]:
    """These steps, and the steps in their blocks, without another one, which has been changed since."""
    for step in steps:
        if isinstance(step, Control) and step.answers == other.answers:
            continue
        yield step
        if isinstance(step, Control):
            for block in step.blocks:
                yield from _without(block.steps, other)


class _ByItself(Exception):  # noqa: N818 (it is no error)
    """No other step is like this one."""
