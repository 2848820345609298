"""What a function does with one row, carried out for all rows: each recorded step works on all of them.

A step is a call of a function of NumPy on plain values, also where the recorded function is a derivative. So what
carries it out for all rows is a way of the function (`ways`), or the function itself, row by row. A question is a step
whose answer the recorded run has used, such as a branch: the program holds for the rows that give the same answer.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.array_api import Standard
from shiftreset_ad.batching.replay import Replay
from shiftreset_ad.batching.rows import Rows
from shiftreset_ad.batching.steps import BatchedStep, NoDerivativeError, Place, Plan, with_places
from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.layouts import array_of, with_axes_like
from shiftreset_ad.staging.ir import text_of
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged
from shiftreset_ad.staging.ways import Lines

# The plans of the steps, each with the places whose values are not needed after it; those with the same reactions to
# floating-point errors are together. Then the places that differ
Planned = tuple[list[tuple[Any, list[tuple[Plan, list[int]]]]], set[int]]


class Program:
    """The steps of one recorded row, to be carried out for many. It has the attributes of a `Way`, but no code.

    `libraries` are the types of arrays, None for NumPy's, on which it has been compared with the function.

    `rule_of_its_own` is a function in it whose derivative is not that of its steps, if there is one: then rows that are
    numbers are not carried out.
    """

    __slots__ = (
        *(
            "_constants",
            "_count",
            "_outputs",
            "_plans",
            "_replay",
            "_steps",
            "_strides",
            "answers",
            "carries_zeros",
            "has_control",
            "ir",
            "length",
        ),
        *("is_asked", "libraries", "lines", "rule_of_its_own", "sites", "spec"),
    )

    def __init__(
        self,
        trace: Trace,
        outputs: list[Any],
        spec: optree.PyTreeSpec,
        given: Mapping[int, Any],
        lines: Lines,
    ) -> None:
        if trace.has_control:
            raise UnstageableError("it has loops or branches that are written down, such as while_loop")
        if given:
            raise UnstageableError("it returns a structure, or an array, that it has got from outside. Return a copy")
        left = Eliminated(trace, outputs)

        def place(x: Staged) -> int:
            return x._place if x._place in left.fixed else left.place(x)

        has_writes = any(step.writes for step in left.steps)
        self._constants = {i: trace.values[i] for i in left.fixed}
        self._steps = [BatchedStep(step, trace.values[step.place], place, has_writes) for step in left.steps]
        self._plans: dict[tuple[bool, ...], Planned] = {}
        self._replay = Replay()
        self._outputs = [with_places(x, place) for x in outputs]
        self._strides = [_strides_of_stack(x.inside if type(x) is Staged else x) for x in outputs]
        self._count = 1 + max([step.place for step in self._steps] + list(self._constants), default=0)
        self.rule_of_its_own = trace.rule_of_its_own
        self.length = len(self._steps)
        self.spec = spec
        self.libraries: set[type | None] = set()
        self.lines = lines
        self.has_control = self.carries_zeros = False
        self.is_asked = trace.is_asked
        self.ir = text_of(trace, outputs, left)
        questions = [step for step in left.steps if step.is_question]
        self.sites = [step.site for step in questions]
        self.answers = [step.expected for step in questions]

    @property
    def is_checked(self) -> bool:
        """Whether the program has been compared with the function."""
        return all(step.is_checked for step in self._steps)

    @is_checked.setter
    def is_checked(self, is_checked: bool) -> None:
        for step in self._steps:
            step.is_checked = is_checked

    @property
    def row_by_row(self) -> set[str]:
        """The names of the functions that are called row by row."""
        return {step.name for step in self._steps if step.row_by_row}

    def _is_fit_to_replay(self) -> bool:
        """Whether the last run has called no function row by row: that would be a step for each row."""
        return not self.row_by_row

    def answer(self, answers: list[Any], nodes: Callable[[], list[Any]]) -> Any:
        """The answer of the function, of the answers of the steps."""
        return trees.unflatten(self.spec, answers)

    def carried_out(self, inputs: list[Any], count: int) -> list[Any]:
        """The leaves of the answer for these inputs, with a `Rows` for each that differs from row to row.

        Raises DiffersError if some of the `count` rows take another way, and NoDerivativeError if some inputs are
        numbers, and the steps do not have the derivative of the function.
        """
        values = [x.rows if type(x) is Rows else x for x in inputs]
        has_numbers = any(isinstance(x, Number) for x in values)
        if self.rule_of_its_own is not None and has_numbers:
            raise NoDerivativeError(self.rule_of_its_own)
        differing = tuple([type(x) is Rows for x in inputs])
        run = partial(self._by_steps, differing, count)
        if has_numbers or not count:
            answers = run(values)
        else:
            answers = self._replay.answers(values, (count, differing), run, self._is_fit_to_replay)
        _, differ = self._planned(differing)
        return [
            Rows(_laid_out(answer, strides)) if type(x) is Place and x.place in differ else answer
            for x, answer, strides in zip(self._outputs, answers, self._strides, strict=True)
        ]

    def _by_steps(self, differing: tuple[bool, ...], count: int, inputs: list[Any]) -> list[Any]:
        """The answers for these values of all rows, or shared by all rows."""
        plans, _ = self._planned(differing)
        given = {id(array_of(x)) for x in inputs} | {_storage_of(x) for x in inputs}
        values = [*inputs, *[None] * self._count]
        for place, constant in self._constants.items():
            values[place] = constant
        for errors, together in plans:
            with nullcontext() if errors is None else np.errstate(**errors):
                for plan, done in together:
                    plan(values, count)
                    for place in done:  # its memory serves a later step
                        values[place] = None
        return [_own(values[x.place] if type(x) is Place else x, given) for x in self._outputs]

    def _planned(self, differing: tuple[bool, ...]) -> Planned:
        """The plans of the steps, if these inputs differ from row to row, and the places that differ then."""
        known = self._plans.get(differing)
        if known is None:
            differ = {place for place, differs in enumerate(differing) if differs}
            plans = [
                (step.errors, (step.plan(differ), done))
                for step, done in zip(self._steps, self._last_uses(len(differing)), strict=True)
            ]
            together = itertools.groupby(plans, operator.itemgetter(0))
            known = self._plans[differing] = [(errors, [plan for _, plan in each]) for errors, each in together], differ
        return known

    def _last_uses(self, inputs: int) -> list[list[int]]:
        """For each step the places of the values of steps that nothing uses after it."""
        used = {x.place for x in self._outputs if type(x) is Place} | set(range(inputs)) | set(self._constants)
        done: list[list[int]] = []
        for step in reversed(self._steps):
            last = {*step.uses, step.place} - used
            used |= last
            done.append(sorted(last))
        return done[::-1]


def _own(answer: Any, given: set[Any]) -> Any:
    """An answer, copied if its memory is that of something `given`, or may be; from here on it counts as given."""
    if type(answer) is Standard:
        storage = _storage_of(answer)
        is_shared = storage in given or 0 in answer.array.stride() if storage else True
        given.add(storage)
        return answer.copied() if is_shared else answer
    array = array_of(answer)
    if array is not None:
        if array.base is not None or id(array) in given or (array is answer and not array.flags.writeable):
            return answer.copy()
        given.add(id(array))
    return answer


def _storage_of(x: Any) -> Any:
    """What tells the memory of a tensor of PyTorch from others; None for anything else."""
    storage = getattr(x.array, "untyped_storage", None) if type(x) is Standard else None
    return None if storage is None else ("storage", storage().data_ptr())


def _strides_of_stack(x: Any) -> tuple[int, ...] | None:
    """The strides of a stack of answers like this one; None if it is in the order of C."""
    return None if type(x) is not ndarray or x.flags.c_contiguous else np.stack([x, x]).strides


def _laid_out(rows: Any, strides: tuple[int, ...] | None) -> Any:
    """The rows, or a copy of them, with the axes in memory as a stack of the rows has them."""
    return with_axes_like(rows, (math.inf, *range(rows.ndim - 1, 0, -1)) if strides is None else strides)
