"""The table of ways: how functions work on all rows of a batch at once.

A way takes the arguments of the function, with a `Rows` for each value that differs from row to row, and returns the
rows of the answer; None where the function must be called row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Way = Callable[..., Any]  # `(batch, *args, **kwargs) -> rows`, where `batch` is one of the `Rows` in the arguments

WAYS: dict[Callable[..., Any], Way] = {}


def entered(*functions: Callable[..., Any]) -> Callable[[Way], Way]:
    """Enter the decorated way for each of `functions`."""

    def enter(way: Way) -> Way:
        WAYS.update(dict.fromkeys(functions, way))
        return way

    return enter
