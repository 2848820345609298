"""Which arrays may lie in memory in another order than NumPy's arrays would, as nobody sees the order.

NumPy adds up an array in the order of its memory, and gives an answer the order of its arguments. So the same numbers
in another order may have another sum, and strides that the user can see.
"""

from __future__ import annotations

import operator
from functools import cached_property
from typing import Any

import numpy as np

from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.staging.native.fusion import FILLED, POWERS
from shiftreset_ad.staging.native.llvm import ARRAY, form_of
from shiftreset_ad.staging.native.moves import is_move
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, Gather, all_steps, own_arguments
from shiftreset_ad.staging.steps.functions import method
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import unstaged

# An element of the answer is that of correctly rounded arithmetic, in whatever order NumPy goes through the arrays.
ROUNDED_ALIKE = {
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, operator.abs),
    *(np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.absolute, np.fabs, np.square, np.sqrt),
    *(np.reciprocal, np.where, np.isnan, np.isfinite, np.isinf, np.logical_not, np.logical_and, np.logical_or),
    *(operator.gt, operator.ge, operator.lt, operator.le, operator.eq, operator.ne, astype, method("astype")),
    *(np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, *FILLED),
}
COPIES = {np.copy, method("copy")}
BY_MEMORY = {"A", "K"}  # orders of NumPy's that are those of the memory


class SeenLayouts:
    """The steps that may see the layout of an array, found by going on from the array to all that is made of it."""

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        self._trace = trace
        self._left = left
        self._outputs = set(left.places_in(outputs))
        self._known: dict[Control, dict[int, list[int]]] = {}  # where each step hands on what is at a place

    @cached_property
    def _uses(self) -> dict[int, list[Step]]:
        """The steps that use a value, by its place."""
        found: dict[int, list[Step]] = {}
        for step in all_steps(self._left.steps):
            for place in set(self._left.places_in(own_arguments(step))):
                found.setdefault(place, []).append(step)
        return found

    def is_seen(self, *places: int) -> bool:
        """Whether a step, or the user, may see in which order the arrays at these places lie in memory."""
        waiting, known = [*places], set(places)
        while waiting:
            place = waiting.pop()
            if place in self._outputs:
                return True
            for step in self._uses.get(place, []):
                made = self._made_of(place, step)
                if made is None:
                    return True
                waiting += [x for x in made if x not in known]
                known.update(made)
        return False

    def _made_of(self, place: int, step: Step) -> list[int] | None:
        """The places of what a step makes in an order that is that of its argument; None if the step sees the order."""
        if isinstance(step, Control):
            return None if isinstance(step, Call) else self._handed_on(place, step)
        if isinstance(step, Gather):
            return [step.place]
        if step.writes or step.is_question or step.open_ended:
            return None
        answer = self._trace.values[step.place]
        options = [*map(unstaged, step.args[1:]), *map(unstaged, step.kwargs.values())]
        orders = {x for x in options if type(x) is str}
        if form_of(answer) != ARRAY:
            return [] if step.function is operator.getitem else None
        if step.function in COPIES:
            return [] if orders == {"C"} else [step.place]
        if is_move(step.function):
            return None if orders & BY_MEMORY else [step.place]
        is_power = step.function is operator.pow and type(options[0]) in (int, float) and options[0] in POWERS
        if not is_power and (step.function not in ROUNDED_ALIKE or step.kwargs):
            return None
        return [step.place] if answer.ndim > 1 else []  # a new array with one axis has no gaps

    def _handed_on(self, place: int, step: Control) -> list[int]:
        """Where the blocks and the answers of a step find an array."""
        known = self._known.get(step)
        if known is None:
            known = self._known[step] = {}
            for xs in step.results if isinstance(step, Fork) else [step.args, *step.results]:
                for i, x in enumerate(xs):
                    for part in self._left.places_in(x):
                        known.setdefault(part, []).extend([step.answers[i], *step.params[i : i + 1]])
        return known.get(place, [])
