"""Signals that come in the middle of a recording end it. Then their handlers run, as nothing of theirs is recorded.

A handler that ran inside of the recording would be code that the program calls: a block would refuse it, take its
effects back, or take its error for one of the program's.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupted(BaseException):
    """A signal has come."""


class Signals:
    """The signals that have come, each with the handler of the user's for it."""

    def __init__(self) -> None:
        self._come: list[tuple[Callable[..., Any], int, FrameType | None]] = []

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave this block as soon as a signal comes for which the user has a handler."""
        if threading.current_thread() is not threading.main_thread():  # no handler runs here
            yield
            return
        handlers = _handlers()

        def end(number: int, frame: FrameType | None) -> None:
            self._come.append((handlers[number], number, frame))
            raise Interrupted

        try:
            for number in handlers:
                signal.signal(number, end)
            yield
        except Interrupted:
            pass
        finally:
            for number, handler in handlers.items():
                if signal.getsignal(number) is end:
                    signal.signal(number, handler)

    def are_handled(self) -> bool:
        """Run the handlers of what has come. False if nothing has."""
        for handler, number, frame in self._come:
            handler(number, frame)
        return bool(self._come)


def _handlers() -> dict[int, Callable[..., Any]]:
    """The handlers of the user's. That of Python for an interrupt from the keyboard may run anywhere."""
    found = {number: signal.getsignal(number) for number in signal.valid_signals()}
    return {number: x for number, x in found.items() if callable(x) and x is not signal.default_int_handler}
