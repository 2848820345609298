"""The cyclic garbage collector while operations pile up.

A million waiting operations are two million live objects, and at its default threshold the collector walks through them
again and again, for 40% of the time in all. It stays on, but young objects are looked at only when there are many.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

YOUNG_OBJECTS = 100_000


def with_relaxed_collector(function: Callable[[], Answer]) -> Answer:
    """Call `function` with the collector's threshold raised, and put it back on every way out.

    The threshold is the whole process's. Who finds it raised already, inside another call or beside one in another
    thread, leaves it alone, and so nobody puts back what another has raised.
    """
    before = gc.get_threshold()
    raised = 0 < before[0] < YOUNG_OBJECTS  # 0 is "off"
    try:
        if raised:
            gc.set_threshold(YOUNG_OBJECTS, *before[1:])
        answer = function()
        if raised and gc.get_threshold()[0] != YOUNG_OBJECTS:
            before = gc.get_threshold()  # the function has set one of its own, which stays
        return answer
    finally:
        if raised:
            gc.set_threshold(*before)  # with no call before it, at which a KeyboardInterrupt could come first
