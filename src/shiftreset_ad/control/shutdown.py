"""The end of the interpreter, while a program still runs in a daemon thread.

Python (before 3.14) ends such a thread by unwinding its C stack, and crashes if greenlets have switched on this stack.
So the thread is stopped first, and waits for ever.
"""

from __future__ import annotations

import atexit
import threading
from threading import get_ident
from time import monotonic, sleep
from typing import Any, NoReturn

from greenlet import greenlet

# The greenlets that wait for a program, each with the program's prompt and its own thread.
drivers: dict[greenlet, tuple[Any, int]] = {}

_ending: int | None = None  # the thread that ends the interpreter
_held: set[int] = set()


def _hold(source: object = None, message: object = None) -> NoReturn:
    """Wait for ever, without the interpreter lock. As `capture`, it stops the thread at its next operation."""
    _held.add(get_ident())
    threading.Event().wait()
    raise AssertionError("nobody sets this event")


def stop_if_ending() -> None:
    if _ending is not None and _ending != get_ident():
        _hold()


@atexit.register
def _stop_daemon_threads() -> None:
    global _ending
    _ending = get_ident()
    running = [(prompt, thread) for prompt, thread in list(drivers.values()) if thread != _ending]
    for prompt, _ in running:
        prompt.capture = _hold
    deadline = monotonic() + 0.2  # a thread that waits for something else does not get here
    while monotonic() < deadline and not _held.issuperset(thread for _, thread in running):
        sleep(0.001)
