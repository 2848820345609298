"""`vmap`: a function of one row becomes a function of all rows.

The function is recorded for one row, as `staged` records it, and each recorded step is carried out for all rows at once
(`program`). Rows that take another branch are recorded for themselves. A function that cannot be recorded runs row by
row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

import numpy as np
import optree
from numpy import ndarray

from shiftreset_ad.array_api import Standard
from shiftreset_ad.batching import within
from shiftreset_ad.batching.axes import Answers, Batch, in_numpy, is_value, stack_of
from shiftreset_ad.batching.closures import held_values
from shiftreset_ad.batching.program import Program
from shiftreset_ad.batching.recorder import Recorder
from shiftreset_ad.batching.rows import row
from shiftreset_ad.batching.steps import DiffersError
from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.checks import named
from shiftreset_ad.numbers.number import plain_value
from shiftreset_ad.numbers.tags import has_open_tags, seeing
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.stand_ins import StagedValue
from shiftreset_ad.staging.recording import DIFFERS

MOST = 32  # groups of rows that are recorded in one call; the other rows are called one by one


class Batched:
    """The function `__wrapped__` of one row, for all rows."""

    __wrapped__: Callable[..., Any]

    def __init__(self, f: Callable[..., Any], in_axes: Any, out_axes: Any) -> None:
        update_wrapper(self, f)
        self._name = named("vmap", f)
        self._in_axes = in_axes
        self._out_axes = out_axes
        self._recorder = Recorder(self._name, f)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def __reduce__(self) -> Any:
        return vmap, (self.__wrapped__, self._in_axes, self._out_axes)

    def report(self) -> str:
        """What is carried out for all rows at once, and what row by row, and why."""
        return self._recorder.report()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        batch, answers = Batch(self._name, args, kwargs, self._in_axes), Answers(self._name)
        left, answered = np.arange(batch.count), list[Any]()
        if not within.is_recorded():
            left, answered = self._in_groups(batch, answers)
        elif (found := within.at_once(self.__wrapped__, batch)) is not None:
            answers.add(left, *found)
            left = left[:0]
        if len(left):
            rows = [self.__wrapped__(*args, **kwargs) for args, kwargs in map(batch.row, left[len(answered) :])]
            answers.add(left, *stack_of(self._name, answered + rows))
        return answers.joined(self._out_axes)

    def _in_groups(self, batch: Batch, answers: Answers) -> tuple[ndarray[Any, Any], list[Any]]:
        """Carry out the function for groups of rows that take the same way; return the rows that are left.

        And the answer for the first row that is left, if it is known.
        """
        f, recorder, left = self.__wrapped__, self._recorder, np.arange(batch.count)
        has_tensors = batch.has(Standard)
        if (has_tensors or has_open_tags()) and (held := held_values(f)) is not None:
            f, batch = held.put_in, batch.with_shared(held.values)
            recorder = Recorder(self._name, f)
            has_tensors = batch.has(Standard)
        if batch.has(StagedValue) or not batch.has_values_only() or not recorder.may_replay():
            return left, []
        known, recorded = recorder.programs(batch.kind()), 0
        while True:
            for program in known:
                done = self._carried_out(f, program, recorder, batch, left, answers)
                if done is None or (recorded and not len(done)):
                    return left, []
                left = left[:0] if len(done) == len(left) else np.setdiff1d(left, done, assume_unique=True)
                if not len(left) and (batch.count or answers.has_any()):
                    return left, []
            if recorded == MOST:
                recorder.pause(f"its rows take more than {MOST} ways")
                return left, []
            first = left[0] if len(left) else 0
            in_library = batch.example_in_library(first) if has_tensors else None
            try:
                new, answer = recorder.record(batch.example(first), in_library)
            except Exception:
                if not has_open_tags():
                    raise
                return left, []  # it may have got a number otherwise than by an argument; one by one, rows may have it
            if new is None:
                return left, [] if batch.has_numbers() or has_tensors or not len(left) else answer
            known, recorded = [new], recorded + 1

    def _carried_out(
        self, f: Callable[..., Any], program: Program, recorder: Recorder, batch: Batch, left: Any, answers: Answers
    ) -> Any:
        """Carry out a program for those of the rows `left` for which it holds, and return these rows.

        None if the program raises an error, which the function itself will raise at its own line.
        """
        chosen = left
        while len(chosen) or not batch.count:
            try:
                leaves = program.carried_out(batch.inputs(chosen), len(chosen))
            except DiffersError as error:
                chosen = chosen[error.agree]
                continue
            except Exception as error:
                recorder.has_raised(error)
                return None
            library = batch.library()  # where a function may have another meaning
            if not (program.is_checked and library in program.libraries) and len(chosen):
                program.is_checked = True
                program.libraries.add(library)
                expected = seeing((), called, f, *batch.example_in_library(chosen[-1]))
                if not are_close([row(leaf, len(chosen) - 1) for leaf in leaves], program.spec, expected):
                    recorder.give_up(DIFFERS)
                    return None
            recorder.has_replayed()
            answers.add(chosen, leaves, program.spec)
            return chosen
        return chosen


def called(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of a function to these arguments."""
    return f(*args, **kwargs)


def are_close(leaves: list[Any], spec: optree.PyTreeSpec, expected: Any) -> bool:
    """Whether the leaves of an answer, with numbers in them or not, are those that are expected, up to rounding."""
    wanted, wanted_spec = trees.flatten(expected)
    found = [in_numpy(plain_value(leaf)) for leaf in leaves]
    return spec == wanted_spec and all(map(_is_close, found, map(in_numpy, wanted)))


def _is_close(x: Any, y: Any) -> bool:
    if not is_value(y):
        return bool(x == y)
    if shape_of(x) != shape_of(y) or dtype_of(x) != dtype_of(y):
        return False
    if dtype_of(y).kind not in "fc":
        return bool(np.array_equal(x, y))
    precision = np.sqrt(np.finfo(dtype_of(y)).eps)
    size = np.abs(y)[np.isfinite(y)] if shape_of(y) else np.abs(y) if np.isfinite(y) else 0.0
    return bool(np.allclose(x, y, precision, precision * np.max(size, initial=0.0), equal_nan=True))


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Batched:
    """The function that calls `f` for each row of its arguments, all at once, and stacks the answers.

    `f` takes one row. `in_axes` is the axis of the arguments along which the rows lie, None for an argument that all
    rows share, or a tuple with an entry for each positional argument; an entry may be a structure like the beginning of
    its argument. Arguments given by name have their rows along the first axis. `out_axes` says where the rows of the
    answers lie, in the same manner. The rows `vmap(f)(x)[k]` are `f(x[k])`. It nests with all derivatives:
    `vmap(grad(f), (None, 0))` has a gradient for each row.

    `f` is recorded for one row, as by `staged`, and each recorded step is carried out for all rows. Rows that take
    another branch are recorded for themselves, so a branch may depend on a value. A function that cannot be recorded
    runs row by row, with a `StagingWarning` that says why; so does a program that draws random numbers. `report()` says
    which of NumPy's functions are called row by row. Raises TypeError for an argument without rows, and ValueError if
    the numbers of rows differ or an axis does not exist.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> vmap(grad(lambda w, x: np.sum(w * x) ** 2), (None, 0))(np.array([1.0, 2.0]), np.eye(2))
    array([[2., 0.],
           [0., 4.]])
    """
    return Batched(f, in_axes, out_axes)
