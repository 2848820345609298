"""The peak of memory of a program, as `tracemalloc` sees it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any


def peak_of(program: Callable[[], Any]) -> int:
    """The most bytes that the second run of a program holds at once; the first one fills the caches."""
    program()
    tracemalloc.start()
    program()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
