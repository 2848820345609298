"""Elimination leaves out steps: repeated ones, products with ones, and those that nothing depends on."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.staging.steps.functions import may_raise
from shiftreset_ad.staging.steps.trace import Step, Trace, owners_of
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged

NOT_RAISING = {"ignore", "warn"}


def places_in(x: Any) -> Iterator[int]:
    """The places of the staged values in an argument."""
    return (value._place for value in staged_in(x))


class Eliminated:
    """A trace after elimination: the `steps` that the outputs, the questions, the writes and the errors depend on.

    A repeated step is left out, and `stand_ins` has for its place the place with the same value. `fixed` are the places
    whose values are the same for all inputs. If the user gets an array, or a view of it, the step that makes the array
    stays even if it is a repetition, as the user may write to the array. If the function itself writes, all repetitions
    stay.
    """

    __slots__ = ("fixed", "stand_ins", "steps")

    def __init__(self, trace: Trace, outputs: list[Any]) -> None:
        self.steps = trace.steps
        self.stand_ins: dict[int, int] = {}
        self.fixed: set[int] = set()
        if not any(step.writes for step in trace.steps):
            self._leave_out_what_is_fixed()
            self._leave_out_repetition(trace, outputs)
        self._leave_out_what_is_not_needed(trace, outputs)

    def place(self, x: Staged) -> int:
        """The place that has the value."""
        return self.stand_ins.get(x._place, x._place)

    def places_in(self, x: Any) -> Iterator[int]:
        """The places that have the values in an argument, except those that are fixed."""
        return (self.place(value) for value in staged_in(x) if value._place not in self.fixed)

    def operands(self, step: Step) -> Iterator[int]:
        """The places that a step needs."""
        return self.places_in(arguments(step))

    def _leave_out_what_is_fixed(self) -> None:
        left = []
        for step in self.steps:
            if any(True for _ in self.operands(step)):
                left.append(step)
            else:
                self.fixed.add(step.place)
        self.steps = left

    def _leave_out_repetition(self, trace: Trace, outputs: list[Any]) -> None:
        owners = {id(owner) for place in self.places_in(outputs) for owner in owners_of(trace.values[place])}
        self.stand_ins = copied_for_nothing(trace, outputs)
        owners |= {id(trace.values[original]) for original in self.stand_ins.values()}
        known: dict[Any, int] = {}
        left = []
        for step in self.steps:
            if step.place in self.stand_ins:
                continue
            if not step.is_question and not owners.isdisjoint(map(id, owners_of(trace.values[step.place]))):
                left.append(step)
                continue
            key = self._key((step.function, step.args, dict(step.kwargs), step.is_question, _strict(step.errors)))
            if key in known:
                self.stand_ins[step.place] = known[key]
            elif (factor := self._idle(step, trace)) is not None:
                self.stand_ins[step.place] = self.place(factor)
            else:
                known[key] = step.place
                left.append(step)
        self.steps = left

    def _idle(self, step: Step, trace: Trace) -> Staged | None:
        """The other factor in a real product with ones, if the product has the type and layout of this factor."""
        if step.function not in (operator.mul, np.multiply) or step.kwargs or step.is_question:
            return None
        answer = trace.values[step.place]
        for x, other in (step.args, step.args[::-1]):
            is_fixed = not any(True for _ in self.places_in(x))
            if type(other) is Staged and is_fixed and dtype_of(answer).kind == "f":
                factor = other.inside
                if like(answer) == like(factor) and np.all(np.equal(unstaged(x), 1)):
                    return other
        return None

    def _leave_out_what_is_not_needed(self, trace: Trace, outputs: list[Any]) -> None:
        wanted = set(self.places_in(outputs))
        left = []
        for step in reversed(self.steps):
            acts = step.writes or step.is_question or step.open_ended
            if step.place in wanted or acts or _may_raise(trace, step):
                left.append(step)
                wanted.update(self.operands(step))
        self.steps = left[::-1]

    def _key(self, x: Any) -> Any:
        """A key: if the keys of two arguments are equal, the arguments are the same."""
        kind = type(x)
        if kind is Staged:
            return Staged, self.place(x)
        if kind is slice:
            return slice, self._key((x.start, x.stop, x.step))
        if kind is tuple or kind is list:
            return kind, tuple([self._key(part) for part in x])
        if kind is dict:
            return dict, tuple([(name, self._key(part)) for name, part in x.items()])
        if kind is float:
            return float, x.hex()  # 0.0 and -0.0 differ
        if kind is complex:
            return complex, x.real.hex(), x.imag.hex()
        if kind in (int, bool, str, type(None)):
            return kind, x
        if isinstance(x, np.generic) and not x.dtype.hasobject:
            return kind, x.dtype, x.tobytes()
        try:  # a bound method is a new one each time
            return (callable, hash(x), x) if callable(x) else (kind, id(x))
        except TypeError:
            return kind, id(x)


def arguments(step: Step) -> list[Any]:
    """The arguments of a step, and its options."""
    return [*step.args, *step.kwargs.values()]


def copied_for_nothing(trace: Trace, outputs: list[Any]) -> dict[int, int]:
    """The places of copies of arrays that nothing else uses; for each, the place of the array that was copied."""
    uses = Counter(place for step in trace.steps for place in places_in(arguments(step)))
    uses.update(places_in(outputs))
    # A function may return the array that it was given. Then another place, or a constant, is the same array.
    held = Counter(map(id, trace.values))
    held.update(id(constant) for step in trace.steps for constant in _constants_in(arguments(step), set()))
    inputs = len(trace.values) - len(trace.steps)
    originals: dict[int, int] = {}
    for step in trace.steps:
        if step.function is np.copy and len(step.args) == 1 and not step.kwargs and type(step.args[0]) is Staged:
            place = step.args[0]._place
            array = trace.values[place]
            of_its_own = place >= inputs and type(array) is ndarray and array.base is None and held[id(array)] == 1
            if of_its_own and uses[place] == 1 and like(array) == like(trace.values[step.place]):
                originals[step.place] = originals.get(place, place)
    return originals


def like(x: Any) -> Any:
    """The type, shape, dtype and strides of a value. Strides count: the rounding of a sum depends on them."""
    return type(x), np.shape(x), dtype_of(x), getattr(x, "strides", None)


def _strict(errors: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """The reactions to floating-point errors if some are more than warnings; None if the reactions do not matter."""
    return None if errors is None or NOT_RAISING.issuperset(errors.values()) else tuple(errors.values())


def _may_raise(trace: Trace, step: Step) -> bool:
    values = [value.inside for value in staged_in(arguments(step))]
    reactions: Any = step.errors or trace.errors
    return may_raise(step.function, values, trace.values[step.place], reactions)


def constants_in(left: Eliminated) -> Iterator[ndarray[Any, Any]]:
    """The arrays in the arguments of the steps that are the same for all inputs."""
    for step in left.steps:
        yield from _constants_in(arguments(step), left.fixed)


def _constants_in(x: Any, fixed: set[int]) -> Iterator[ndarray[Any, Any]]:
    if type(x) is Staged and x._place in fixed:
        x = x.inside
    if isinstance(x, ndarray):
        yield x
    elif isinstance(x, list | tuple):
        for part in x:
            yield from _constants_in(part, fixed)
