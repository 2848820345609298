"""A program that runs in a greenlet, and the driver that waits for it.

The driver only stands in for its program. If somebody sends the driver an exception, or a greenlet of the user's own
sends it a value, the driver passes it on to the program. The program itself sends a pair: the greenlet that left and
the operation that it captured, or None and a `Message`.
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
    """The mark that a `reset` sets and that a `shift` captures up to.

    `capture(here(), operation)` leaves the program for the `run` of this prompt. `run` keeps the operation and resumes
    the program at once. `capture` is the driver's own `switch`, so that an operation costs two switches and no Python
    frame. If the operation could not be kept, `capture` returns a true value, or raises `GreenletError`. While no `run`
    of this prompt is active, `capture` is `closed`, which raises.
    """

    __slots__ = ("capture", "closed")
    capture: Callable[[greenlet | None, Any], Any]

    def __init__(self, closed: Callable[[greenlet | None, Any], NoReturn] | None = None) -> None:
        self.closed = self.capture = _not_running if closed is None else closed

    @property
    def is_open(self) -> bool:
        """Whether a `run` of this prompt is active."""
        return self.capture is not self.closed

    def open(self, capture: Callable[[greenlet | None, Any], Any]) -> None:
        """Use this function to capture from now on: the `switch` of the driver of a `run`."""
        self.capture = capture


def _not_running(source: greenlet | None, message: Any) -> NoReturn:
    raise ControlError("an operation was captured while no run of its prompt is active")


class Message:
    """A message from a program to its driver. A captured operation is no message."""

    __slots__ = ()


class Returned(Message):
    """The message that a body, handler or continuation has ended with a value."""

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
        return suspended.throw(*_with_traceback(self.error))

    def enter_generator(self, handler: Generator[Any, Any, Any]) -> Any:
        return handler.throw(self.error)


def _with_traceback(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """The arguments for `throw`. An exception that is given alone would lose its traceback."""
    return type(error), error, error.__traceback__


Outcome: TypeAlias = Returned | Raised


def _guarded(body: Callable[[], Any]) -> tuple[None, Outcome]:
    """Run `body` and return how it ended, so that a driver sees an exception only if somebody sent it to the driver."""
    try:
        return None, Returned(body())
    except BaseException as error:
        # The first frame is this function's; without it, the traceback reads as if there were no greenlet.
        return None, Raised(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))


class Body(greenlet):
    """The greenlet that runs the program under a `prompt`. Its parent is its driver, and it ends with an `Outcome`.

    It shares the caller's context variables, `np.errstate` among them: the program reads and sets them as in a plain
    call.
    """

    def __init__(self, prompt: Prompt) -> None:
        super().__init__(_guarded)
        self.prompt = prompt
        if here().gr_context is None:
            contextvars.copy_context()  # makes a context for the thread, if it has none yet
        self.gr_context = here().gr_context


def enclosing() -> Iterator[Body]:
    """The bodies that are running around the caller, innermost first."""
    current: greenlet | None = here()
    while current is not None:
        if isinstance(current, Body):
            yield current
        current = current.parent


def advance(program: greenlet, source: greenlet, arrival: Outcome, keep: Callable[[Operation], object]) -> Any:
    """Resume `program` at `source`, where it stopped; keep the operations it captures; return its first message."""
    go_on: Callable[..., Any] = arrival.enter
    arguments: tuple[Any, ...] = (source,)
    arrived: Any = (None, None)
    try:
        while True:
            try:
                arrived = source, message = go_on(*arguments)
                while source is not None:  # the hot loop: an operation has been captured
                    keep(message)
                    arrived = source, message = source.switch()  # k(y): resume the program at once
                if isinstance(message, Message):
                    return message
                go_on, arguments = program.switch, (arrived,)
            except BaseException as error:
                go_on, arguments = _stand_in(program, source, arrived, error)
                arrived = (None, None)
    finally:
        del go_on, arguments, arrival, arrived  # they may hold an error, and its traceback holds this frame


def _stand_in(
    program: greenlet, source: Any, arrived: Any, error: BaseException
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How to pass on to the program what its driver received, if that is no message.

    The program's own exceptions come as messages. So a signal, an outer driver or a greenlet of the user's own has sent
    an exception to the driver, or a value, which could not be unpacked.
    """
    if isinstance(error, TypeError | ValueError) and not (isinstance(arrived, tuple) and len(arrived) == 2):
        return program.switch, (arrived,)
    if source is not None and not isinstance(source, greenlet):
        raise ControlError(  # and the program ends, as the driver has kept the second value as an operation
            f"a greenlet sent two values, {arrived!r:.60}, to the greenlet that called grad or reset; switch with one "
            "value, for example a tuple"
        ) from None
    # A greenlet of the user's own would pass GreenletExit on as a value, so GreenletExit goes to the program itself.
    target = source if source and not isinstance(error, GreenletExit) else program
    if not target:  # neither is alive
        raise error
    return target.throw, _with_traceback(error)


def apart(drive: Callable[[], Answer]) -> Answer:
    """Call `drive` in a new greenlet. This greenlet is a driver, which a signal handler or a finalizer has interrupted.

    A driver waits for one program only. It would mix the operations of the interrupted program and of the new program.
    """
    program = Body(Prompt())
    try:
        source, message = program.switch(drive)
        while source is not None:  # an operation of the interrupted program, which nobody can keep now
            source, message = source.switch(True)
        answer: Answer = message.unwrap()
        return answer
    finally:
        if program:
            program.throw(GreenletExit)


def run(prompt: Prompt, body: Callable[[], Answer], keep: Callable[[Operation], object]) -> Answer:
    """Run `body` to its end, call `keep` with each operation that it captures, and return its answer.

    This is the forward half of `reset`: the caller decides what to do with the operations afterwards.
    Raises what `body` raises, as soon as no part of the program is alive.
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
            if program:  # it was interrupted twice, and so has not ended yet
                program.throw(GreenletExit)
        finally:
            drivers.pop(driver, None)
