"""What runs without the watch: code that calls many functions of ours, and none of the user's.

While Python has a trace function, each call of a function takes several times as long. Python 3.12 and later prepare
all code anew when a trace function comes or goes, and watch by `sys.monitoring`, which is not in the way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
IS_CHEAP = sys.version_info < (3, 12)


class _Watching:
    """The trace function of the watch that may pause; None if there is none."""

    by: Any = None


watching = _Watching()


class Pause:
    """A pause of the watch of this thread, from `begin` to `end`."""

    __slots__ = ("_watch",)

    def __init__(self) -> None:
        self._watch: Any = None

    def begin(self) -> None:
        watch = sys.gettrace()
        if watch is not None and watch is watching.by:
            self._watch = watch
            sys.settrace(None)

    def end(self) -> None:
        if self._watch is not None:
            sys.settrace(self._watch)
            self._watch = None


def unwatched(function: Function) -> Function:
    """The function, which runs without the watch of its thread."""
    if not IS_CHEAP:
        return function

    @wraps(function)
    def ours(*args: Any, **kwargs: Any) -> Any:
        watch = sys.gettrace()  # the steps of a `Pause`, for speed
        if watch is None or watch is not watching.by:
            return function(*args, **kwargs)
        sys.settrace(None)
        try:
            return function(*args, **kwargs)
        finally:
            sys.settrace(watch)

    return cast(Function, ours)
