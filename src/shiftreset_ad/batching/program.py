"""What a function does with one row, carried out for all rows: each recorded step works on all of them.

A step is a call of a function of NumPy on plain values, also where the recorded function is a derivative. So what
carries it out for all rows is a way of the function (`ways`), or the function itself, row by row. A question is a step
whose answer the recorded run has used, such as a branch: the program holds for the rows that give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.batching.rows import Rows, row, rows_in, stacked
from shiftreset_ad.batching.ways import way_of
from shiftreset_ad.batching.writing import write
from shiftreset_ad.boundary import trees
from shiftreset_ad.numbers.new_arrays import zeros
from shiftreset_ad.numbers.number import plain_value
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.staging.ir import text_of
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.generation import is_same
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.trace import Step, Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged
from shiftreset_ad.staging.ways import Lines


class DiffersError(Exception):
    """Some rows give another answer to a question, or another shape: those where `agree` is False."""

    def __init__(self, agree: ndarray[Any, Any]) -> None:
        super().__init__()
        self.agree = agree


class Program:
    """The steps of one recorded row, to be carried out for many. It has what a `Way` has, but for code.

    `row_by_row` has the names of the functions that are called row by row.
    """

    __slots__ = (
        *("_constants", "_inputs", "_outputs", "_steps", "has_control", "ir", "is_checked", "lines", "row_by_row"),
        *("answers", "length", "sites", "spec"),
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
        has_writes = any(step.writes for step in left.steps)
        place = lambda x: x._place if x._place in left.fixed else left.place(x)  # noqa: E731
        self._inputs = trace.inputs
        self._constants = {i: trace.values[i] for i in left.fixed}
        self._steps = [_Step(step, trace, place, has_writes) for step in left.steps]
        self._outputs = [_Place(place(x)) if type(x) is Staged else x for x in outputs]
        self.length = len(self._steps)
        self.spec = spec
        self.lines = lines
        self.has_control = self.is_checked = False
        self.ir = text_of(trace, outputs, left)
        self.sites = [step.site for step in left.steps if step.is_question]
        self.answers = [step.expected for step in left.steps if step.is_question]
        self.row_by_row: set[str] = set()

    def answer(self, answers: list[Any], nodes: Callable[[], list[Any]]) -> Any:
        """The answer of the function, of the answers of the steps."""
        return trees.unflatten(self.spec, answers)

    def carried_out(self, inputs: list[Any], count: int) -> list[Any]:
        """The leaves of the answer for these inputs, with a `Rows` for each that differs from row to row.

        Raises DiffersError if some of the `count` rows take another way.
        """
        values: dict[int, Any] = {**self._constants, **dict(enumerate(inputs))}
        for step in self._steps:
            step.carry_out(values, count, self.row_by_row)
        return [values[x.place] if type(x) is _Place else x for x in self._outputs]


class _Place:
    """The place of a value in the arguments of a step."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


def _with_places(x: Any, place: Callable[[Staged], int]) -> Any:
    """An argument with places for the staged values."""
    kind = type(x)
    if kind is Staged:
        return _Place(place(x))
    if kind is slice:
        return slice(*[_with_places(part, place) for part in (x.start, x.stop, x.step)])
    return kind([_with_places(part, place) for part in x]) if kind is list or kind is tuple else x


def _filled(x: Any, values: Mapping[int, Any]) -> Any:
    """An argument with the values at its places."""
    kind = type(x)
    if kind is _Place:
        return values[x.place]
    if kind is slice:
        return slice(*[_filled(part, values) for part in (x.start, x.stop, x.step)])
    return kind([_filled(part, values) for part in x]) if kind is list or kind is tuple else x


class _Step:
    """A step, as all rows need it."""

    __slots__ = (
        *("_args", "_errors", "_example", "_expected", "_function", "_has_writes", "_is_question", "_kwargs"),
        *("_place", "_way", "_writes"),
    )

    def __init__(self, step: Step, trace: Trace, place: Callable[[Staged], int], has_writes: bool) -> None:
        self._function = step.function
        self._args = [_with_places(x, place) for x in step.args]
        self._kwargs = {name: _with_places(x, place) for name, x in step.kwargs.items()}
        self._errors = step.errors
        self._place = step.place
        self._is_question, self._expected = step.is_question, step.expected
        self._writes, self._has_writes = step.writes, has_writes
        self._way = way_of(step.function)
        example = trace.values[step.place]
        parts = example if isinstance(example, tuple | list) else [example]
        self._example = [(shape_of(part), dtype_of(part)) for part in parts] if not step.writes else []
        if self._is_question:
            self._example = []

    def carry_out(self, values: dict[int, Any], count: int, row_by_row: set[str]) -> None:
        """Put the answer at the place of the step, or look at the answer of a question."""
        if self._errors is not None:
            with np.errstate(**self._errors):
                answer = self._answer(values, count, row_by_row)
        else:
            answer = self._answer(values, count, row_by_row)
        if self._is_question:
            self._require_expected(answer, count)
        elif not self._writes:
            values[self._place] = answer

    def _answer(self, values: dict[int, Any], count: int, row_by_row: set[str]) -> Any:
        args = [_filled(x, values) for x in self._args]
        kwargs = {name: _filled(x, values) for name, x in self._kwargs.items()}
        batches = rows_in([*args, *kwargs.values()])
        function = self._function
        if not batches:
            answer = function(*args, **kwargs)
            if self._has_writes and not self._is_question and type(answer) is ndarray:
                return Rows(_copies(answer, count))  # each row may write to its own
            return answer
        if self._writes:
            return write(batches[0], function, args, kwargs)
        answer = None if self._way is None else self._way(batches[0], *args, **kwargs)
        if answer is None:
            row_by_row.add(name_in_program(function))
            return self._row_by_row(args, kwargs, count)
        if type(answer) is Rows:
            answer = answer.rows
        if self._is_question:
            return Rows(answer)
        if isinstance(answer, tuple | list):
            parts = [Rows(part) for part in answer]
            answer = type(answer)(*parts) if hasattr(answer, "_fields") else type(answer)(parts)
            self._require_as_recorded(parts)
            return answer
        answer = Rows(answer)
        self._require_as_recorded([answer])
        return answer

    def _row_by_row(self, args: list[Any], kwargs: dict[str, Any], count: int) -> Any:
        """The answers of the function to the arguments of each row, stacked."""
        function = self._function
        answers = [
            function(*[row(x, k) for x in args], **{name: row(x, k) for name, x in kwargs.items()})
            for k in range(count)
        ]
        if self._is_question:
            return answers
        expected = self._example
        alike = np.array([_kinds_of(answer) == expected for answer in answers], bool)
        if not alike.all():
            raise DiffersError(alike)
        return stacked(answers)

    def _require_as_recorded(self, parts: list[Rows]) -> None:
        """Raise AssertionError if an answer has another shape or dtype for each row than the recorded row had."""
        found = [(part.shape, part.dtype) for part in parts]
        assert found == self._example, (self._function, found, self._example)

    def _require_expected(self, answer: Any, count: int) -> None:
        """Raise DiffersError if some rows do not give the answer that the recorded row has given."""
        expected = self._expected
        if type(answer) is Rows:
            found = plain_value(answer.rows)
            axes = tuple(range(1, np.ndim(found)))
            same = found == expected
            if dtype_of(found).kind in "fc":
                same = (same & (np.signbit(np.real(found)) == np.signbit(np.real(expected)))) | (
                    np.isnan(found) & np.isnan(expected)
                )
            agree = np.all(same, axis=axes)
        elif type(answer) is list and len(answer) == count:
            agree = np.array([is_same(x, expected) for x in answer], bool)
        else:
            agree = np.full(count, is_same(answer, expected))
        if not agree.all():
            raise DiffersError(agree)


def _kinds_of(answer: Any) -> list[tuple[Any, Any]]:
    parts = answer if isinstance(answer, tuple | list) else [answer]
    return [(shape_of(part), dtype_of(part)) for part in parts]


def _copies(array: ndarray[Any, Any], count: int) -> Any:
    """A copy of an array for each row, to which numbers of all derivatives that are being computed can be written."""
    rows = zeros((count, *array.shape), array.dtype)
    rows[...] = array
    return rows
