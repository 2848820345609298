"""The memory in which a value may lie: loops and branches hand arrays on, and the recorded run takes one path."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, all_steps
from shiftreset_ad.staging.steps.memory import owners_of
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import unstaged


class Sources:
    """For the arrays of a trace, the owners of the memory in which they may lie.

    A loop without a round answers what it was given. This does not count if loops are taken to have rounds.
    """

    def __init__(self, trace: Trace, steps: list[Step], loops_have_rounds: bool = False) -> None:
        self._values = trace.values
        self._copies = trace.copies
        self._loops_have_rounds = loops_have_rounds
        self._handed_on: dict[int, dict[int, Any]] = {}  # from the owner of an answer: the owners of what it may be
        self._arrays: dict[int, dict[int, Any]] = {}  # from an answer itself: what it may be
        if trace.has_control:
            controls = [step for step in all_steps(steps) if isinstance(step, Control)]
            functions = {step.body: step for step in controls if isinstance(step, Call) and step.blocks}
            for step in controls:
                self._look_at(step, functions[step.body] if isinstance(step, Call) else step)

    def of(self, x: Any) -> dict[int, Any]:
        """The owners of the memory in which a value may lie, by their ids."""
        return self._from(owners_of(unstaged(x)))

    def copied(self, x: Any) -> list[Any]:
        """The owners of the memory of which a value may have copies, where the program has what lies there."""
        found: dict[int, Any] = {}
        waiting = [*self.of(x).values()]
        while waiting:
            originals = self._from(self._copies.originals(waiting.pop()))
            waiting += [owner for key, owner in originals.items() if key not in found]
            found |= originals
        return [*found.values()]

    def _from(self, owners: list[Any]) -> dict[int, Any]:
        return _reached({id(owner): owner for owner in owners}, self._handed_on)

    def arrays(self, x: Any) -> list[Any]:
        """The arrays that an array may be, with itself. Views of it do not count."""
        return [*_reached({id(unstaged(x)): unstaged(x)}, self._arrays).values()]

    def _look_at(self, step: Control, whole: Control) -> None:
        """Look at a step whose blocks and parameters are those of `whole`."""
        for i, answer in enumerate(step.answers):
            for results in whole.results:
                self._may_be(self._values[answer], results[i])
        if isinstance(step, Fork):
            return
        for param, arg in zip(whole.params, step.args, strict=True):
            self._may_be(self._values[param], arg)
        if isinstance(step, Call):
            return
        for param, result in zip(step.params, step.results[-1], strict=True):
            self._may_be(self._values[param], result)
        if not self._loops_have_rounds:
            for answer, arg in zip(step.answers, step.args, strict=True):
                self._may_be(self._values[answer], arg)

    def _may_be(self, x: Any, source: Any) -> None:
        self._arrays.setdefault(id(x), {})[id(unstaged(source))] = unstaged(source)
        for owner in owners_of(x):
            self._handed_on.setdefault(id(owner), {}).update((id(o), o) for o in owners_of(unstaged(source)))


def _reached(waiting: dict[int, Any], links: dict[int, dict[int, Any]]) -> dict[int, Any]:
    """What can be reached from these objects, by their ids."""
    found: dict[int, Any] = {}
    while waiting:
        key, x = waiting.popitem()
        found[key] = x
        waiting.update((k, v) for k, v in links.get(key, {}).items() if k not in found)
    return found
