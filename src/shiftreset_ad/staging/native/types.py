"""The types that a value may have, as they may differ from round to round: a number of Python's, and one of NumPy's.

The bits are the same. But Python's division raises an error where NumPy's warns, and an answer has a type.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.llvm import DOUBLE, INTEGER, TRUTH, form_of
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, Gather
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged

SAMPLES: dict[Any, Any] = {
    float: 1.0,
    np.float64: np.float64(1.0),
    bool: True,
    np.bool: np.True_,
    int: 1,
    np.int64: np.int64(1),
}
ALL: dict[Any, Any] = {DOUBLE: {float, np.float64, ndarray}, TRUTH: {bool, np.bool, ndarray}, INTEGER: {int, np.int64}}

NUMPYS = (np.generic, ndarray)


class Types:
    """The types of the values of a trace, after elimination. They grow until no round adds another one."""

    __slots__ = ("_found", "_functions", "_has_grown", "_left", "_trace")

    def __init__(self, trace: Trace, left: Eliminated) -> None:
        self._trace = trace
        self._left = left
        self._found: dict[int, frozenset[type]] = {}  # those that are not the type of the recorded value alone
        self._functions: dict[Block, Call] = {}  # the first calls, by the bodies of the functions
        self._has_grown = trace.has_control
        while self._has_grown:
            self._has_grown = False
            self._walk(left.steps)

    @property
    def differ(self) -> bool:
        """Whether a value may have one type or another."""
        return any(len(kinds) > 1 for kinds in self._found.values())

    def of(self, x: Any) -> frozenset[type]:
        """The types that an argument may have."""
        if type(x) is Staged and x._place not in self._left.fixed:
            return self.at(self._left.place(x))
        return frozenset((type(unstaged(x)),))

    def has_numpys(self, step: Step) -> bool:
        """Whether the answer of a step, or an argument, may be one of NumPy's."""
        if isinstance(self._trace.values[step.place], NUMPYS):  # the usual case, for speed
            return True
        found = any(isinstance(unstaged(x), NUMPYS) for x in (*step.args, *step.kwargs.values()))
        if found or not self._found:
            return found
        kinds = self.at(step.place).union(*map(self.of, step.args), *map(self.of, step.kwargs.values()))
        return any(issubclass(kind, NUMPYS) for kind in kinds)

    def at(self, place: int) -> frozenset[type]:
        """The types that the value at a place may have."""
        return self._found.get(place) or frozenset((type(self._trace.values[place]),))

    def _walk(self, steps: list[Step]) -> None:
        for step in steps:
            if isinstance(step, Fork):
                for block in step.blocks:
                    self._walk(block.steps)
                for answer, *results in zip(step.answers, *step.results, strict=True):
                    self._add(answer, *map(self.of, results))
            elif isinstance(step, Call):
                self._walk_call(step)
            elif isinstance(step, Control):
                carried = list(zip(step.params, step.answers, step.args, step.results[-1], strict=True))
                for param, _, arg, _ in carried:
                    self._add(param, self.of(arg))
                for block in step.blocks:
                    self._walk(block.steps)
                for param, answer, _, result in carried:
                    self._add(param, self.of(result))
                    self._add(answer, self.at(param))
            elif not isinstance(step, Gather):
                self._add(step.place, self._of_answer(step))

    def _walk_call(self, step: Call) -> None:
        """The arguments of each call come in at the parameters of the function, and each call has its answers."""
        if step.blocks:
            self._functions[step.body] = step
        function = self._functions[step.body]
        for param, arg in zip(function.params, step.args, strict=True):
            self._add(param, self.of(arg))
        for block in step.blocks:
            self._walk(block.steps)
        for answer, result in zip(step.answers, function.results[-1], strict=True):
            self._add(answer, self.of(result))

    def _add(self, place: int, *found: Iterable[type]) -> None:
        known = self._found.get(place, frozenset())
        types = known.union(*found)
        if types != known:
            self._found[place] = types
            self._has_grown = True

    def _of_answer(self, step: Step) -> frozenset[type]:
        """The types of an answer: those that the function gives for samples of the types of its arguments."""
        answer = self._trace.values[step.place]
        recorded = frozenset((type(answer),))
        if form_of(answer) not in ALL or step.is_question:
            return recorded
        args = [*step.args, *step.kwargs.values()]
        if all(self.of(x) == {type(x.inside)} for x in staged_in(args)):
            return recorded
        if step.kwargs or any(type(x) in (list, tuple, slice) for x in args):
            return frozenset(ALL[form_of(answer)])
        found = set(recorded)
        with np.errstate(all="ignore"):
            for samples in product(*map(self._samples, args)):
                try:
                    found.add(type(step.function(*samples)))
                except Exception:
                    return frozenset(ALL[form_of(answer)])
        return frozenset(found)

    def _samples(self, x: Any) -> list[Any]:
        value = unstaged(x)
        if type(x) is not Staged or form_of(value) not in ALL:
            return [value]
        return [
            np.asarray(SAMPLES[type(value)] if type(value) is not ndarray else value)
            if kind is ndarray
            else SAMPLES[kind]
            for kind in self.of(x)
        ]

    def is_numpys_by_one(self, step: Step) -> bool:
        """Whether an answer is a number of NumPy's if, and only if, one of the arguments is."""
        with np.errstate(all="ignore"):
            for args in product(*map(self._samples, step.args)):
                try:
                    answer = step.function(*args, **step.kwargs)
                except Exception:
                    return False
                if isinstance(answer, np.generic) != any(isinstance(x, np.generic) for x in args):
                    return False
        return True
