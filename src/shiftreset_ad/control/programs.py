"""A program that runs in a greenlet, and the driver that waits for it.

The driver only stands in for its program: an exception that is sent to it, or a value from a greenlet of the user's
own, goes on to the program. What the program itself has to say comes as a pair: the greenlet that left, and the
operation that it captured; or None, and a `Message`.
"""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable, Generator, Iterator
from threading import get_ident
from types import TracebackType
from typing import Any, NoReturn, TypeAlias, TypeVar

from greenlet import GreenletExit, greenlet
from greenlet import getcurrent as here

from shiftreset_ad.control.shutdown import drivers, stop_if_ending

Answer = TypeVar("Answer")
Operation: TypeAlias = tuple[Any, ...]

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "shiftreset_ad needs the global interpreter lock: greenlet on a free-threaded build is experimental. "
        "Run Python with PYTHON_GIL=1, or use the ordinary build."
    )


class ControlError(RuntimeError):
    """A continuation was captured or resumed where that has no meaning."""


class Prompt:
    """What a `reset` puts down and a `shift` captures up to.

    `capture(here(), operation)` leaves the program for the `run` of this prompt, which keeps the operation and resumes
    the program at once. It is the driver's own `switch`, so that an operation costs two switches and no Python frame.
    Where the operation could not be kept, it returns what is true, or raises `GreenletError`. While no `run` of this
    prompt is on its way, it is `closed`, which raises.
    """

    __slots__ = ("capture", "closed")
    capture: Callable[[greenlet | None, Any], Any]

    def __init__(self, closed: Callable[[greenlet | None, Any], NoReturn] | None = None) -> None:
        self.closed = self.capture = _not_running if closed is None else closed

    @property
    def is_open(self) -> bool:
        """Whether a `run` of this prompt is on its way."""
        return self.capture is not self.closed

    def open(self, capture: Callable[[greenlet | None, Any], Any]) -> None:
        """Capture by this function from now on: the `switch` of the driver of a `run`."""
        self.capture = capture


def _not_running(source: greenlet | None, message: Any) -> NoReturn:
    raise ControlError("an operation was captured outside of the run of its prompt")


class Message:
    """What a program has to say to its driver, other than that it has captured an operation."""

    __slots__ = ()


class Returned(Message):
    """A body, handler or continuation has come to its end with a value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def unwrap(self) -> Any:
        return self.value

    def enter(self, suspended: greenlet) -> Any:
        return suspended.switch(self.value)

    def enter_generator(self, handler: Generator[Any, Any, Any]) -> Any:
        return handler.send(self.value)


class Raised(Message):
    """A body, handler or continuation has come to its end with an exception."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def unwrap(self) -> NoReturn:
        error, context = self.error, self.error.__context__
        try:
            raise error
        finally:
            if context is not None:  # what the program was handling, and not what its driver is
                error.__context__ = context
            del self.error, error, context  # the traceback holds the frames, this one and the caller's: no cycle

    def enter(self, suspended: greenlet) -> Any:
        return suspended.throw(*_with_traceback(self.error))

    def enter_generator(self, handler: Generator[Any, Any, Any]) -> Any:
        return handler.throw(self.error)


def _with_traceback(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """The arguments to throw an exception by: given alone, it would lose the traceback that it has."""
    return type(error), error, error.__traceback__


Outcome: TypeAlias = Returned | Raised


def _guarded(body: Callable[[], Any]) -> tuple[None, Outcome]:
    """Run `body` and say how it ended, so that an exception seen by a driver can only be one sent to the driver."""
    try:
        return None, Returned(body())
    except BaseException as error:
        # The first frame is this one; without it, the traceback reads as if there were no greenlet.
        return None, Raised(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))


class Body(greenlet):
    """The greenlet in which the program under a `prompt` runs; it ends with its `Outcome`. Its parent is its driver.

    It shares the caller's context variables: they, and `np.errstate` with them, are seen and set inside just as in a
    plain call.
    """

    def __init__(self, prompt: Prompt) -> None:
        super().__init__(_guarded)
        self.prompt = prompt
        if here().gr_context is None:
            contextvars.copy_context()  # makes the thread's context, if it has none yet
        self.gr_context = here().gr_context


def enclosing() -> Iterator[Body]:
    """The bodies that are running around the caller, innermost first."""
    current: greenlet | None = here()
    while current is not None:
        if isinstance(current, Body):
            yield current
        current = current.parent


def advance(program: greenlet, source: greenlet, arrival: Outcome, keep: Callable[[Operation], object]) -> Any:
    """Resume `program` where it left, at `source`; keep the operations that it captures, up to its first message."""
    go_on: Callable[..., Any] = arrival.enter
    arguments: tuple[Any, ...] = (source,)
    arrived: Any = (None, None)
    try:
        while True:
            try:
                arrived = source, message = go_on(*arguments)
                while source is not None:  # the hot loop: an operation has been captured
                    keep(message)
                    arrived = source, message = source.switch()  # k(y): the program goes on at once
                if isinstance(message, Message):
                    return message
                go_on, arguments = program.switch, (arrived,)
            except BaseException as error:
                go_on, arguments = _stand_in(program, source, arrived, error)
                arrived = (None, None)
    finally:
        del go_on, arguments, arrival, arrived  # they may hold an error, and its traceback this frame


def _stand_in(
    program: greenlet, source: Any, arrived: Any, error: BaseException
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How the program goes on after something came to its driver that was no message: it goes to the program instead.

    The program's own exceptions come as messages. So this is what a signal, an outer driver or a greenlet of the user's
    own sent to the driver: an exception, or a value, which could not be unpacked.
    """
    if isinstance(error, TypeError | ValueError) and not (isinstance(arrived, tuple) and len(arrived) == 2):
        return program.switch, (arrived,)
    if source is not None and not isinstance(source, greenlet):
        raise ControlError(  # and the program ends, as the second value has been kept as an operation
            f"a greenlet switched to the one that called grad or reset with two values, {arrived!r:.60}; "
            "switch with one value, a tuple of them say"
        ) from None
    # A greenlet of the user's own would pass GreenletExit on as a value, so that one is for the program itself.
    target = source if source and not isinstance(error, GreenletExit) else program
    if not target:  # neither is alive to take it
        raise error
    return target.throw, _with_traceback(error)


def apart(drive: Callable[[], Answer]) -> Answer:
    """Drive from a greenlet of its own, as this one is a driver that a signal handler or a finalizer has interrupted.

    A driver waits for one program only: it would take the operations of the interrupted one for those of the other.
    """
    program = Body(Prompt())
    try:
        source, message = program.switch(drive)
        while source is not None:  # an operation of the interrupted program, which cannot be kept now
            source, message = source.switch(True)
        answer: Answer = message.unwrap()
        return answer
    finally:
        if program:
            program.throw(GreenletExit)


def run(prompt: Prompt, body: Callable[[], Answer], keep: Callable[[Operation], object]) -> Answer:
    """Run `body` up to its end, handing every operation captured on the way to `keep`; return its answer.

    The forward half of `reset`: what becomes of the operations afterwards is for the caller to decide.
    Raises whatever `body` raises, once nothing of it is left alive.
    """
    driver = here()
    stop_if_ending()
    if driver in drivers:
        return apart(lambda: run(prompt, body, keep))
    program = Body(prompt)
    prompt.open(driver.switch)
    try:
        drivers[driver] = prompt, get_ident()
        answer: Answer = advance(program, program, Returned(body), keep).unwrap()
        return answer
    finally:
        try:
            prompt.capture = prompt.closed
            if program:  # interrupted twice, and so not ended yet
                program.throw(GreenletExit)
        finally:
            drivers.pop(driver, None)
