"""The cyclic garbage collector while operations pile up.

A million waiting operations are two million live objects, and at its default threshold the collector walks through them
again and again, for 40% of the time in all. It stays on, but looks at young objects only when there are many.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

YOUNG_OBJECTS = 100_000


def with_relaxed_collector(function: Callable[[], Answer]) -> Answer:
    """Call `function` with the collector's threshold raised, and put the threshold back on every way out.

    The whole process has one threshold. A call that finds it raised, by an outer call or by another thread, leaves it
    alone. So no call puts back what another call has raised.
    """
    before = gc.get_threshold()
    raised = 0 < before[0] < YOUNG_OBJECTS  # 0 is "off"
    try:
        if raised:
            gc.set_threshold(YOUNG_OBJECTS, *before[1:])
        answer = function()
        if raised and gc.get_threshold()[0] != YOUNG_OBJECTS:
            before = gc.get_threshold()  # the function has set a threshold of its own, which stays
        return answer
    finally:
        if raised:
            gc.set_threshold(*before)  # a call before this one could be interrupted by KeyboardInterrupt
