"""What rules compute with in place of NumPy's arrays and scalars, and do not know of."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn


class _Recorder(threading.local):
    """What `adopt` makes of an array in this thread, where a function is being written down."""

    adopt: Callable[[Any], Any] | None = None


recorder = _Recorder()


class Wrapped:
    """A value of the oldest level that is none of NumPy's own, and answers NumPy's functions itself."""

    __slots__ = ()

    inside: Any = None  # the array of NumPy's that it stands for, of which only the layout may be looked at, if any

    shape: Any
    dtype: Any
    item: Callable[..., Any]

    def refuse_writing(self, statement: str) -> NoReturn:
        """Raise TypeError for `statement`, which writes to the array."""
        raise NotImplementedError


def carried_out(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The answer of one of SciPy's functions; with a staged value among the arguments the call is one step."""
    staged = staged_among(*args, *kwargs.values())
    return function(*args, **kwargs) if staged is None else ask(staged, function, args, kwargs)


def ask(staged: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a staged value answers for a function, by NumPy's protocol."""
    return staged.__array_function__(function, (type(staged),), args, kwargs)


def staged_among(*values: Any) -> Any:
    """The first value that is staged, if there is one."""
    return next(filter(is_staged, values), None)


class StagedValue:
    """What staging has in place of NumPy's arrays and scalars: each call with it is written down."""

    __slots__ = ()

    def own(self, derivative: Any) -> Any:
        """A derivative of this value, None for zero, as the user gets it: of the same kind, and the user's to keep."""
        raise NotImplementedError


def is_staged(x: Any) -> bool:
    """Whether a value is one of NumPy's that is being written down."""
    return issubclass(type(x), StagedValue)
