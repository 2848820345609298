"""Stand-ins for NumPy's arrays and scalars. Rules compute with them and do not notice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray


class _Recorder(threading.local):
    """What the thread has that records a function: hooks, and a note.

    `adopt` makes a staged value of an array. `unwatched` is given a way back and its operations, and gives the way back
    without the watch over the user's code, if it reaches none. `rule_of_its_own` is the first function that was called
    whose derivative is not that of its steps. A run `has_batches` if it has calls for all rows of a `vmap`; it has none
    if it goes `row_by_row`. Its `watch` knows the `line` of the user's that makes the steps.
    """

    adopt: Callable[[Any], Any] | None = None
    unwatched: Callable[[Callable[[Any], None], list[Any]], Callable[[Any], None]] | None = None
    rule_of_its_own: str | None = None
    has_batches = False
    row_by_row = False
    watch: Any = None

    def note(self, function: str) -> None:
        """Note a function whose derivative is not that of the steps that are recorded."""
        if self.adopt is not None and self.rule_of_its_own is None:
            self.rule_of_its_own = function


recorder = _Recorder()


class Wrapped:
    """A value of the oldest level that is none of NumPy's own: it answers NumPy's functions itself."""

    __slots__ = ()

    inside: Any = None  # NumPy's array that it stands for, if any; only the layout of this array may be read

    shape: Any
    dtype: Any
    item: Callable[..., Any]

    def refuse_writing(self, statement: str) -> NoReturn:
        """Raise TypeError for `statement`, which writes to the array."""
        raise NotImplementedError


def carried_out(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The answer of one of SciPy's functions. If an argument is staged, the call is recorded as one step."""
    staged = staged_among(*args, *kwargs.values())
    return function(*args, **kwargs) if staged is None else ask(staged, function, args, kwargs)


def ask(staged: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The answer of a staged value to a call of a function, by NumPy's protocol."""
    return staged.__array_function__(function, (type(staged),), args, kwargs)


def staged_among(*values: Any) -> Any:
    """The first value that is staged, if there is one."""
    return next(filter(is_staged, values), None)


class StagedValue:
    """Staging's stand-in for NumPy's arrays and scalars: each call with it is recorded."""

    __slots__ = ()

    inside: Any  # the plain value; only its type and its layout may be read

    @property
    def is_in_block(self) -> bool:
        """Whether a loop or a branch is being recorded."""
        raise NotImplementedError

    @property
    def is_under_control(self) -> bool:
        """Whether a loop or a branch is recorded: a zero may stand for what was never touched."""
        raise NotImplementedError

    def again(self) -> Any:
        """The same value, for a run that computes again, to save memory, what an earlier run has computed."""
        raise NotImplementedError

    def own(self, derivative: Any) -> Any:
        """A derivative of this value as the user gets it: of the same kind, and the user may keep it. None is zero."""
        raise NotImplementedError


def may_hold(condition: Any) -> bool:
    """Whether a condition may hold for an element. With a loop or a branch that is recorded, it may hold."""
    return (is_staged(condition) and condition.is_under_control) or bool(np.any(condition))


def is_staged(x: Any) -> bool:
    """Whether a value stands for one of NumPy's in a function that is being recorded."""
    return issubclass(type(x), StagedValue)


def are_arrays(*values: Any) -> bool:
    """Whether each value is a plain array, or stands for one in a function that is being recorded."""
    for x in values:
        kind = type(x)
        if kind is not ndarray and not (issubclass(kind, StagedValue) and type(x.inside) is ndarray):
            return False
    return True
