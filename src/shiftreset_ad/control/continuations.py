"""`reset` and `shift`: continuations as functions, for any use."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from functools import partial
from threading import get_ident
from typing import Any, overload

from greenlet import GreenletExit, greenlet
from greenlet import getcurrent as here

from shiftreset_ad.control.bodies import Body, enclosing
from shiftreset_ad.control.messages import Message, Outcome, Raised, Returned
from shiftreset_ad.control.programs import advance, apart
from shiftreset_ad.control.prompts import ControlError, Prompt
from shiftreset_ad.control.shutdown import drivers, stop_if_ending


class ContinuationUsedError(ControlError):
    """A continuation was resumed a second time; it is one-shot."""


def reset(body: Callable[[], Any], prompt: Prompt | None = None) -> Any:
    """Run `body()` and return its answer. If a `shift` inside puts a handler in its place, return the handler's answer.

    `() -> answer`. Without `prompt`, `reset` makes a fresh one, and `shift` finds it as the innermost. Raises what the
    body or its handlers raise: an exception passes through every waiting handler on its way out, as through frames.
    Danvy and Filinski 1990; Wang et al. 2019, section 3.2.

    >>> reset(lambda: 1 + shift(lambda k: 100))
    100
    """
    program = Runner(Prompt() if prompt is None else prompt)
    return _drive(program, program, Returned(body))


@overload
def shift(handler: Callable[[Continuation], Any], prompt: Prompt | None = None) -> Any: ...
@overload
def shift(handler: Callable[[], Generator[Any, Any, Any]], prompt: Prompt | None = None) -> Any: ...
def shift(handler: Callable[..., Any], prompt: Prompt | None = None) -> Any:
    """Capture the rest of the program up to the enclosing `reset` as `k`, and run `handler(k)` in its place.

    `k(value)` makes this call of `shift` return `value`, and returns the answer of the rest of the program. `handler`
    calls `k` once, or never, or gives it to code that calls it later. If nobody can call `k` any more, or the handler
    raises, the rest of the program is unwound. A generator function without arguments is the cheap form: its one
    `yield value` is the call of `k`. Raises `ControlError` outside of `reset`, and `ContinuationUsedError` when `k` is
    called again.
    Danvy and Filinski 1990; Wang et al. 2019, section 3.2.

    >>> reset(lambda: 2 * shift(lambda k: k(3) + 1))
    7
    """
    driver = _driver_of(prompt)
    if not inspect.isgeneratorfunction(handler):
        return driver.switch(None, Shifted(handler, here()))
    generator = handler()
    try:
        value = next(generator)
    except StopIteration as finished:  # the handler returned before its yield: it does not want the rest of the program
        answer = finished.value
        return _driver_of(prompt).switch(None, Shifted(lambda k: answer, here()))
    _driver_of(prompt).switch(here(), (generator,))  # not `driver`: the code before the yield may have been captured
    return value


def _driver_of(prompt: Prompt | None) -> greenlet:
    """The driver of the innermost `reset` around the caller; with `prompt`, of the innermost `reset` of this prompt."""
    stop_if_ending()
    for program in enclosing():
        if isinstance(program, Runner) and (prompt is None or program.prompt is prompt):
            if program.ending:
                raise ControlError("shift: this program is being unwound, and cannot capture its continuation any more")
            assert program.parent is not None
            return program.parent
    if prompt is None:
        raise ControlError("shift: no reset is running here; call shift inside reset(body)")
    raise ControlError("shift: no reset of this prompt is running here; call shift inside reset(body, prompt)")


class Continuation:
    """The rest of a program up to its `reset`; calling it, at most once, resumes the program with a value."""

    __slots__ = ("_program", "_source")

    def __init__(self, program: Runner, source: greenlet) -> None:
        self._program: Runner | None = program
        self._source: greenlet | None = source

    def take(self, driver: greenlet) -> tuple[Runner, greenlet]:
        """The suspended program and the point where it stopped. `driver` can resume it; a second call raises."""
        program, source = self._program, self._source
        if program is None or source is None:
            raise ContinuationUsedError(
                "k: this continuation is one-shot, and it was resumed before, or it ended because its handler raised "
                "an exception. To go on from the same point again, run the program again"
            )
        try:
            program.parent = driver
        except ValueError:
            raise ControlError(
                "k: this continuation cannot be resumed here: another thread captured it, or its own program started "
                "this greenlet"
            ) from None
        self._program = self._source = None
        return program, source

    def end(self) -> None:
        """Unwind the suspended program and run its `finally` blocks, unless it has been resumed already."""
        if self._program is not None:
            program, _ = self.take(here())
            program.end()

    def __del__(self) -> None:
        # A suspended frame holds its own greenlet, and the garbage collector does not look into it. Only this ends it.
        try:
            program = self._program and self.take(here())[0]
        except (AttributeError, ControlError):  # interrupted in __init__, or
            # in another thread: then greenlet makes the program's own thread unwind it
            return
        if program is not None:
            program.end()

    def __call__(self, value: Any = None) -> Any:
        """Resume the program with `value` and return its answer; `ContinuationUsedError` on a second call."""
        caller = here()
        if isinstance(caller, Runner) and self._program is not None and self._program.prompt is caller.prompt:
            driver = caller.parent
            assert driver is not None
            return driver.switch(None, Resumed(caller, *self.take(driver), value))
        return _drive(*self.take(caller), Returned(value))


class Shifted(Message):
    """The message that an ordinary function of `k` takes over from the program that shifted."""

    __slots__ = ("handler", "source")

    def __init__(self, handler: Callable[[Continuation], Any], source: greenlet) -> None:
        self.handler = handler
        self.source: greenlet | None = source

    def take_source(self) -> greenlet:
        """The greenlet that shifted. This message must not hold it: the frame of the greenlet holds the message."""
        source, self.source = self.source, None
        assert source is not None
        return source


class Resumed(Message):
    """The message that a handler calls its `k`, the rest of `program` from `source` on, and waits for the answer."""

    __slots__ = ("caller", "program", "source", "value")

    def __init__(self, caller: Runner, program: Runner, source: greenlet, value: Any) -> None:
        self.caller = caller
        self.program = program
        self.source = source
        self.value = value


class Runner(Body):
    """The greenlet that runs the body of a user's `reset`, or a handler of the continuation `handled`."""

    def __init__(self, prompt: Prompt, handled: Continuation | None = None) -> None:
        super().__init__(prompt)
        self.handled = handled
        self.ending = False

    def end(self) -> None:
        """Unwind a program that nobody will resume: run its `finally` blocks, and raise what they raise."""
        if not self:
            return
        self.ending = True
        # Not thrown at the greenlet that shifted: it may be the user's own, and would return GreenletExit as a value.
        _, outcome = self.throw(GreenletExit)
        if isinstance(outcome, Raised) and not isinstance(outcome.error, GreenletExit):
            outcome.unwrap()


def _drive(program: Runner, source: greenlet, arrival: Outcome) -> Any:
    """Run `program`, and then each handler that takes its place, until no handler waits any more."""
    driver = here()
    stop_if_ending()
    if driver in drivers:
        return apart(partial(_drive, program, source, arrival))
    program.parent = driver
    pending: list[Any] = []
    message: Any = None
    try:
        drivers[driver] = program.prompt, get_ident()
        while True:
            message = advance(program, source, arrival, pending.append)
            if isinstance(message, Shifted):
                handled = Continuation(program, message.take_source())
                program = source = Runner(program.prompt, handled)
                arrival = Returned(partial(message.handler, handled))
                del handled  # from here on, the handler decides how long the continuation lives
            elif isinstance(message, Resumed):
                pending.append(message.caller)
                program, source, arrival = message.program, message.source, Returned(message.value)
            else:
                arrival = _ended(program, message)
                if not pending:
                    return arrival.unwrap()
                waiting = pending[-1]
                if isinstance(waiting, Runner):
                    program = source = waiting
                else:
                    program = source = Runner(program.prompt)
                    arrival = Returned(partial(_finish, waiting[0], arrival))
                del waiting
                pending.pop()  # only now that a variable holds it, too: an interrupt must not lose it
            message = None
    finally:
        try:
            del arrival, message  # they may hold an error or a continuation, and the error's traceback holds this frame
            pending.append(program)
            while True:  # not `while pending`: see `programs`
                if not pending:
                    break
                _end(pending.pop())
        finally:
            drivers.pop(driver, None)


def _end(waiting: Any) -> None:
    """End what waits, if it is a program: it is still alive if its driver was interrupted."""
    if isinstance(waiting, Runner):
        waiting.end()


def _ended(program: Runner, outcome: Outcome) -> Outcome:
    """The outcome of a program that has ended. If it is a handler that raised, its continuation ends, too."""
    if isinstance(outcome, Raised) and program.handled is not None:
        try:
            program.handled.end()  # otherwise the traceback would keep the continuation alive
        except BaseException as error:
            error.__context__ = outcome.error
            return Raised(error)
    return outcome


def _finish(handler: Generator[Any, Any, Any], outcome: Outcome) -> Any:
    """Give `outcome`, the answer of `k`, to the generator that waits for it, and return the generator's answer."""
    try:
        outcome.enter_generator(handler)
    except StopIteration as finished:
        return finished.value
    except RuntimeError as error:
        # Python turns a StopIteration that passes through a generator into a RuntimeError; undo that.
        if isinstance(outcome, Raised) and error.__cause__ is outcome.error:
            outcome.unwrap()
        raise
    handler.close()
    raise ContinuationUsedError("shift: a handler yielded twice, but a continuation is one-shot")
