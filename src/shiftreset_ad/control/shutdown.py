"""The end of the interpreter, while a program still runs in a daemon thread.

Python (before 3.14) ends such a thread by unwinding its C stack from where it is, and crashes if greenlets have
switched on it. So the thread is held up first, for good.
"""

from __future__ import annotations

import atexit
import threading
from threading import get_ident
from time import monotonic, sleep
from typing import Any, NoReturn

from greenlet import greenlet

# The greenlets that wait for a program, with its prompt and their thread.
drivers: dict[greenlet, tuple[Any, int]] = {}

_ending: int | None = None  # the thread that ends the interpreter
_held: set[int] = set()


def _hold(source: object = None, message: object = None) -> NoReturn:
    """Wait for ever, without the interpreter lock; as `capture`, at the next operation."""
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
    deadline = monotonic() + 0.2  # one that waits for something else does not come by
    while monotonic() < deadline and not _held.issuperset(thread for _, thread in running):
        sleep(0.001)
