"""A program that runs in a greenlet, and the driver that waits for it.

The driver only stands in for its program. If somebody sends the driver an exception, or a greenlet of the user's own
sends it a value, the driver passes it on to the program. The program itself sends a pair: the greenlet that left and
the operation that it captured, or None and a `Message`.

The loops are `while True` with a `break`: Python 3.12 and 3.13 leave the jump back of `while condition` outside of the
`try` around it, and there an interrupt would end the driver without its program.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, TypeAlias, TypeVar

from greenlet import GreenletExit, greenlet
from greenlet import getcurrent as here

from shiftreset_ad.control.bodies import Body, has_program, waiting, worker_for
from shiftreset_ad.control.messages import Message, Outcome, Returned, with_traceback
from shiftreset_ad.control.prompts import ControlError, Prompt
from shiftreset_ad.control.shutdown import drivers, stop_if_ending

Answer = TypeVar("Answer")
Operation: TypeAlias = tuple[Any, ...]


def advance(program: greenlet, source: greenlet, arrival: Outcome, keep: Callable[[Operation], object]) -> Any:
    """Resume `program` at `source`, where it stopped; keep the operations it captures; return its first message."""
    go_on: Callable[..., Any] = arrival.enter
    arguments: tuple[Any, ...] = (source,)
    arrived: Any = (None, None)
    try:
        while True:
            try:
                arrived = source, message = go_on(*arguments)
                while True:  # the hot loop
                    if source is None:
                        break
                    keep(message)  # an operation has been captured
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
    # The source may have come to its end since it left; then it is dead, or waits for a program.
    target = source if source and has_program(source) and not isinstance(error, GreenletExit) else program
    if not has_program(target):
        raise error
    return target.throw, with_traceback(error)


def apart(drive: Callable[[], Answer]) -> Answer:
    """Call `drive` in a new greenlet. This greenlet is a driver, which a signal handler or a finalizer has interrupted.

    A driver waits for one program only. It would mix the operations of the interrupted program and of the new program.
    """
    program = Body(Prompt())
    try:
        source, message = program.switch(drive)
        while True:
            if source is None:
                break
            source, message = source.switch(True)  # it was an operation of the interrupted program: nobody can keep it
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
    program = worker_for(prompt)
    prompt.open(driver.switch)
    try:
        drivers[driver] = prompt, get_ident()
        outcome = advance(program, program, Returned(body), keep)
        if program:
            waiting.append(program)
        answer: Answer = outcome.unwrap()
        return answer
    finally:
        try:
            prompt.capture = prompt.closed
            if has_program(program):  # it was interrupted twice, and so has not ended yet
                program.throw(GreenletExit)
        finally:
            drivers.pop(driver, None)
