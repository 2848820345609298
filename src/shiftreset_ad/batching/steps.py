"""One recorded step, carried out for all rows: by a way of its function, or row by row.

What differs from row to row is known before a run: the arguments say so, and a step differs if one of its operands
does. So each step is planned once for the places that differ. The values of a run lie in a list by their places; at a
place that differs lie the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.batching.rows import Rows, mapped, of_parts, row, rows_in, stacked
from shiftreset_ad.batching.table import Way
from shiftreset_ad.batching.ways import is_elementwise, way_of
from shiftreset_ad.batching.writing import write
from shiftreset_ad.numbers.new_arrays import zeros
from shiftreset_ad.numbers.number import Number, has_number, map_numbers, plain_value
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.layouts import array_of, with_axes_like
from shiftreset_ad.rules.plain import itself
from shiftreset_ad.staging.python.expressions import is_same
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged

Values = list[Any]  # of one run, by their places
Plan = Callable[[Values, int], None]  # carries a step out for so many rows


class DiffersError(Exception):
    """Some rows give another answer to a question, or another shape: those where `agree` is False."""

    def __init__(self, agree: ndarray[Any, Any]) -> None:
        super().__init__()
        self.agree = agree


class NoDerivativeError(Exception):
    """The recorded steps do not have the derivative of the function."""


class UnlikeRecordedError(Exception):
    """A way gives another shape or dtype for each row than the recorded row had."""


class Place:
    """The place of a value in the arguments of a step."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


def with_places(x: Any, place: Callable[[Staged], int]) -> Any:
    """An argument with places for the staged values."""
    kind = type(x)
    if kind is Staged:
        return Place(place(x))
    if kind is slice:
        return slice(*[with_places(part, place) for part in (x.start, x.stop, x.step)])
    return kind([with_places(part, place) for part in x]) if kind is list or kind is tuple else x


def _places_in(x: Any) -> list[int]:
    kind = type(x)
    if kind is Place:
        return [x.place]
    if kind is slice:
        x = (x.start, x.stop, x.step)
    return [place for part in x for place in _places_in(part)] if kind in (slice, list, tuple) else []


class BatchedStep:
    """A step, as all rows need it. With `has_writes`, the program writes to arrays, and each row needs its own.

    `row_by_row` says whether the last run has called the function row by row.
    """

    __slots__ = (
        *("_args", "_example", "_expected", "_function", "_gives_constant", "_has_writes", "_is_question"),
        *("_kwargs", "_strides", "_writes", "errors", "is_checked", "place", "row_by_row"),
    )

    def __init__(self, step: Step, example: Any, place: Callable[[Staged], int], has_writes: bool) -> None:
        self._function = step.function
        self._args = [with_places(x, place) for x in step.args]
        self._kwargs = {name: with_places(x, place) for name, x in step.kwargs.items()}
        self.errors = step.errors
        self._is_question, self._expected = step.is_question, step.expected
        # The program has gone on with a plain value: of numbers, it may go another way.
        takes_plain = step.function is constant_of and step.args[1:] == (itself,)
        self._gives_constant = takes_plain or (step.is_question and type(step.expected) is not bool)
        self._writes, self._has_writes = step.writes, has_writes
        self._example = [] if step.writes or step.is_question else _kinds_of(example)
        self._strides = [getattr(part, "strides", None) for part in _parts_of(example)] if has_writes else []
        self.place = step.place
        self.row_by_row = self.is_checked = False

    @property
    def name(self) -> str:
        """The name of the function, as the user knows it."""
        return name_in_program(self._function)

    @property
    def uses(self) -> list[int]:
        """The places of the values that the step uses."""
        return [place for x in (*self._args, *self._kwargs.values()) for place in _places_in(x)]

    def plan(self, differ: set[int]) -> Plan:
        """What carries out the step if the values at the places `differ` are not the same for all rows.

        The place of the step is added to these places if its own value may differ, too.
        """
        found = [place for place in self.uses if place in differ]
        if not found:
            return self._once(differ)
        is_only_first = type(self._args[0]) is Place and found == [self._args[0].place]
        if not self._is_question and not self._writes:
            differ.add(self.place)
        return self._lined_up(differ) or self._by_way(differ, found[0], way_of(self._function, is_only_first))

    def _once(self, differ: set[int]) -> Plan:
        """The function is called once for all rows. If each row may write to the answer, each has a copy."""
        function, place = self._function, self.place
        is_copied = self._has_writes and not self._is_question and self._example and self._is_array()
        if is_copied:
            differ.add(place)

        filled = self._filler(differ)

        def run(values: Values, count: int) -> None:
            args, kwargs = filled(values)
            self._require_derivative(args, kwargs)
            answer = function(*args, **kwargs)
            if self._is_question:
                if not is_same(_plain(answer), self._expected):
                    raise DiffersError(np.zeros(count, bool))
            elif not self._writes:
                values[place] = _copies(answer, count) if is_copied else answer

        return run

    def _filler(self, differ: set[int]) -> Callable[[Values], tuple[list[Any], dict[str, Any]]]:
        """What gives the arguments of a run, with the values at their places; arguments without places stay."""
        args, kwargs = self._args, self._kwargs
        changing = [i for i, x in enumerate(args) if _places_in(x)]
        changing_kwargs = [name for name, x in kwargs.items() if _places_in(x)]

        def filled(values: Values) -> tuple[list[Any], dict[str, Any]]:
            given, named = args.copy(), kwargs.copy()
            for i in changing:
                given[i] = _filled(args[i], values, differ)
            for name in changing_kwargs:
                named[name] = _filled(kwargs[name], values, differ)
            return given, named

        return filled

    def _is_array(self) -> bool:
        return len(self._example) == 1 and self._example[0][2] is ndarray

    def _lined_up(self, differ: set[int]) -> Plan | None:
        """The plan of an elementwise function of values at places, and of plain ones; None for anything else."""
        if self._is_question or self._has_writes or self._kwargs or not is_elementwise(self._function):
            return None
        is_plain = all(type(x) is Place or isinstance(x, float | int | np.generic) for x in self._args)
        if len(self._example) != 1 or not is_plain:
            return None
        function, place = self._function, self.place
        operands = [(x.place, x.place in differ) if type(x) is Place else (x, None) for x in self._args]
        ndim = len(self._example[0][0])

        def run(values: Values, count: int) -> None:
            lined_up = []
            for x, varies in operands:
                value: Any = x if varies is None else values[x]
                if varies:
                    shape = value.shape
                    if (missing := ndim + 1 - len(shape)) > 0:
                        value = np.reshape(value, (count, *(1,) * missing, *shape[1:]))
                lined_up.append(value)
            values[place] = answer = function(*lined_up)
            if not self.is_checked:
                self._require_as_recorded([answer])

        return run

    def _by_way(self, differ: set[int], first: int, way: Way | None) -> Plan:
        """The plan of any function. The value at the place `first` differs from row to row."""
        filled = self._filler(differ)

        def run(values: Values, count: int) -> None:
            args, kwargs = filled(values)
            self._require_derivative(args, kwargs)
            if self._writes:
                write(count, self._function, args, kwargs)
                return
            answer = None if way is None else way(as_rows(values[first]), *args, **kwargs)
            self.row_by_row = answer is None
            if self._is_question:
                self._require_expected(self._row_by_row(args, kwargs, count) if answer is None else answer)
                return
            if answer is None:
                answer = self._row_by_row(args, kwargs, count)
            if not self.is_checked:
                self._require_as_recorded(_parts_of(answer))
            values[self.place] = self._laid_out(answer, args) if self._has_writes else answer

        return run

    def _laid_out(self, answer: Any, args: list[Any]) -> Any:
        """An answer, or a copy of it, in which each row lies in memory as the recorded row did.

        Whether a `reshape` is a view or a copy depends on it, and so what a later step writes to. Raises
        UnlikeRecordedError if the answer lies otherwise and may be a view.
        """
        parts = _parts_of(answer)
        for i, strides in enumerate(self._strides):
            part = array_of(parts[i])
            if part is None or strides is None or _lie_alike(part, strides):
                continue
            if any(np.may_share_memory(part, array_of(x.rows)) for x in rows_in(args)):
                raise UnlikeRecordedError(f"{self.name}: rows with strides {part.strides[1:]}, and not {strides}")
            parts[i] = with_axes_like(parts[i], (math.inf, *strides))
        return of_parts(answer, parts) if isinstance(answer, tuple | list) else parts[0]

    def _require_derivative(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        if self._gives_constant and _has_number([*args, *kwargs.values()]):
            raise NoDerivativeError(self.name)

    def _row_by_row(self, args: list[Any], kwargs: dict[str, Any], count: int) -> Any:
        """The answers of the function to the arguments of each row, stacked."""
        function = self._function
        if self._is_question:
            args, kwargs = _plain(args), {name: _plain(x) for name, x in kwargs.items()}
        answers = [
            function(*[row(x, k) for x in args], **{name: row(x, k) for name, x in kwargs.items()})
            for k in range(count)
        ]
        if self._is_question:
            return answers
        shapes = [shape for shape, _, _ in self._example]
        alike = np.array([[shape for shape, _, _ in _kinds_of(answer)] == shapes for answer in answers], bool)
        if not alike.all():
            raise DiffersError(alike)
        return stacked(answers)

    def _require_as_recorded(self, parts: Any) -> None:
        """Raise UnlikeRecordedError if an answer has another shape or dtype for each row than the recorded row had."""
        found = [(shape_of(part)[1:], dtype_of(part)) for part in parts]
        if found != [(shape, dtype) for shape, dtype, _ in self._example]:
            raise UnlikeRecordedError(f"{self.name}: {found}, and not {self._example}")

    def _require_expected(self, answer: Any) -> None:
        """Raise DiffersError if some rows do not give the answer that the recorded row has given."""
        expected = self._expected
        if type(answer) is list:
            agree = np.array([is_same(x, expected) for x in answer], bool)
        else:
            found = plain_value(answer)
            same = found == expected
            if dtype_of(found).kind in "fc":
                is_nan = np.isnan(found) & np.isnan(expected)
                same = (same & (np.signbit(np.real(found)) == np.signbit(np.real(expected)))) | is_nan
            agree = np.all(same, axis=tuple(range(1, np.ndim(found))))
        if not agree.all():
            raise DiffersError(agree)


def _filled(x: Any, values: Values, differ: set[int]) -> Any:
    """An argument with the values at its places; what differs from row to row as `Rows`."""
    kind = type(x)
    if kind is Place:
        value = values[x.place]
        return value if x.place not in differ else as_rows(value)
    if kind is slice:
        return slice(*[_filled(part, values, differ) for part in (x.start, x.stop, x.step)])
    return kind([_filled(part, values, differ) for part in x]) if kind is list or kind is tuple else x


def as_rows(value: Any) -> Any:
    """The rows of a value as `Rows`; of a tuple or a list, those of each part."""
    if not isinstance(value, tuple | list):
        return Rows(value)
    return of_parts(value, list(map(as_rows, value)))


def _has_number(arguments: list[Any]) -> bool:
    """Whether there is a number in some arguments, or in the rows of some."""
    return has_number(arguments) or any(isinstance(x.rows, Number) for x in rows_in(arguments))


def _plain(argument: Any) -> Any:
    """An argument with plain values in place of numbers."""
    return mapped(lambda x: Rows(plain_value(x.rows)), map_numbers(plain_value, argument))


def _kinds_of(answer: Any) -> list[tuple[Any, Any, type]]:
    return [(shape_of(part), dtype_of(part), type(part)) for part in _parts_of(answer)]


def _parts_of(answer: Any) -> list[Any]:
    return list(answer) if isinstance(answer, tuple | list) else [answer]


def _lie_alike(rows: ndarray[Any, Any], strides: tuple[int, ...]) -> bool:
    """Whether each row has these strides, up to those of axes along which there is one element."""
    of_each = zip(rows.shape[1:], rows.strides[1:], strides, strict=True)
    return all(found == stride for size, found, stride in of_each if size > 1)


def _copies(array: ndarray[Any, Any], count: int) -> Any:
    """A copy of an array for each row, to which numbers of all derivatives that are being computed can be written."""
    rows = with_axes_like(zeros((count, *shape_of(array)), array.dtype), (math.inf, *array.strides))
    rows[...] = array
    return rows
