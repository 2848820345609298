"""What a program says to its driver: how a body, a handler or a continuation has ended."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

from greenlet import greenlet


class Message:
    """A message from a program to its driver. A captured operation is no message."""

    __slots__ = ()


class Returned(Message):
    """The message that a body, handler or continuation has ended with a value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def unwrap(self) -> Any:
        value, self.value = self.value, None  # a worker that waits still has the message
        return value

    def enter(self, suspended: greenlet) -> Any:
        return suspended.switch(self.value)

    def enter_generator(self, handler: Generator[Any, Any, Any]) -> Any:
        return handler.send(self.value)


class Raised(Message):
    """The message that a body, handler or continuation has ended with an exception."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def unwrap(self) -> NoReturn:
        error, context = self.error, self.error.__context__
        try:
            raise error
        finally:
            if context is not None:  # the error that the program was handling, and not the driver's
                error.__context__ = context
            del self.error, error, context  # otherwise a cycle: the traceback holds this frame and the caller's

    def enter(self, suspended: greenlet) -> Any:
        return suspended.throw(*with_traceback(self.error))

    def enter_generator(self, handler: Generator[Any, Any, Any]) -> Any:
        return handler.throw(self.error)


def with_traceback(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """The arguments for `throw`. An exception that is given alone would lose its traceback."""
    return type(error), error, error.__traceback__


Outcome: TypeAlias = Returned | Raised
