"""What a function that calls itself hands on unchanged: each activation has the value that the first call was given.

Then the value need not be an argument. A table of the children of a tree is the commonest one.
"""

from __future__ import annotations

from shiftreset_ad.staging.steps.blocks import Call, all_steps
from shiftreset_ad.staging.steps.trace import Block, Step
from shiftreset_ad.staging.steps.values import Staged


class HandedOn:
    """For the functions that call themselves: which of their parameters have the value of the first call.

    All parameters are taken to be such, and then those are left out that get another value in some call. `values` has
    the place of the value for the place of each parameter.
    """

    __slots__ = ("_numbers", "values")

    def __init__(self, steps: list[Step], fixed: set[int]) -> None:
        calls = [step for step in all_steps(steps) if isinstance(step, Call)]
        first = {call.body: call for call in calls if call.blocks}
        self.values = {
            param: arg._place
            for call in first.values()
            for param, arg in zip(call.params, call.args, strict=True)
            if type(arg) is Staged and arg._place not in fixed
        }
        while others := [
            param
            for call in calls
            for param, arg in zip(first[call.body].params, call.args, strict=True)
            if param in self.values and not (type(arg) is Staged and self._end(arg._place) == self._end(param))
        ]:
            for param in others:
                self.values.pop(param, None)
        self.values = {param: self._end(param) for param in self.values}
        self._numbers: dict[Block, list[int]] = {
            body: [i for i, param in enumerate(call.params) if param not in self.values] for body, call in first.items()
        }

    def _end(self, place: int) -> int:
        while place in self.values:
            place = self.values[place]
        return place

    def without(self, step: Call) -> Call:
        """A call without the arguments that are handed on unchanged."""
        return step.with_arguments(self._numbers[step.body])
