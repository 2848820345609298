"""The control of a recording: staged branches and loops become those of `cond` and `while_loop`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from shiftreset_ad.modes.stacks import Stack
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.staging.control.combinators import cond, trace_of, while_loop
from shiftreset_ad.staging.control.functions import SelfCalling
from shiftreset_ad.staging.control.gathering import indexable
from shiftreset_ad.staging.control.versions import Versions
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged

UNLIKE = object()


class Writing:
    """What the front end knows of the values of a trace."""

    error: type[Exception] = UnstageableError

    def __init__(self, trace: Trace, read: Callable[[Any], None]) -> None:
        """`read` is told of each thing whose values become part of the record: it may come from outside."""
        self._trace = trace
        self._read = read
        self.versions = Versions(trace)

    def is_staged(self, x: Any) -> bool:
        value = _value(x)
        return type(value) is Staged and not shape_of(value)

    def is_staged_array(self, x: Any) -> bool:
        value = _value(x)
        return type(value) is Staged and bool(shape_of(value))

    def type_of(self, x: Any) -> type:
        value = _value(x)
        return type(value.inside if type(value) is Staged else value)

    def refuse(self, reason: str) -> NoReturn:
        self._trace.refuse(reason)

    def truth(self, x: Any) -> Any:
        value = _value(x)
        if type(value) is not Staged:
            return bool(value)
        return value if dtype_of(value).kind == "b" else operator.ne(value, 0)

    def items(self, items: Any) -> Callable[[Any], Any] | None:
        self._read(items)
        if isinstance(items, list | tuple):
            if not items or len({self._likeness(item) for item in items}) > 1 or self._likeness(items[0]) is UNLIKE:
                return None
            kind = self.type_of(items[0])
            stack = indexable(np.stack(items), self._trace)
            return (lambda i: stack[i].item()) if kind in (float, int, bool, complex) else (lambda i: stack[i])
        array = indexable(items, self._trace)
        return lambda i: array[i]

    def _likeness(self, x: Any) -> Any:
        """What two items must have in common to be parts of one array."""
        if not isinstance(x, Staged | Number | ndarray | np.generic | float | int | complex):
            return UNLIKE
        return self.type_of(x), shape_of(x), dtype_of(x)

    def cond(self, pred: Any, true_fun: Callable[[], Any], false_fun: Callable[[], Any]) -> Any:
        return cond(self.truth(pred), self._block(true_fun), self._block(false_fun))

    def while_loop(self, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
        self._read(init)
        return while_loop(self._block(lambda state: self.truth(cond_fun(state))), self._block(body_fun), init)

    def _block(self, function: Callable[..., Any]) -> Unwatched:
        """A function whose answer becomes part of the record."""

        def carried_out(*args: Any, **kwargs: Any) -> Any:
            answer = function(*args, **kwargs)
            self._read(answer)
            return answer

        return Unwatched(carried_out)

    def has_staged(self, tree: Any) -> bool:
        return trace_of(tree) is not None

    def mark(self) -> Any:
        return self._trace.mark()

    def rewind(self, mark: Any) -> None:
        self._trace.rewind(mark)

    def self_calling(self, function: Callable[..., Any]) -> SelfCalling:
        return SelfCalling(self._trace, self._block(function), self._read)


class Unwatched:
    """A function that changes variables, which is right: they are the state, and its site sees to all others."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


def _value(x: Any) -> Any:
    """The value of a number at the oldest level. A stack has no single value."""
    while isinstance(x, Number) and not isinstance(x, Stack):
        x = x.primal
    return x
