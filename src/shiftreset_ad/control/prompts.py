"""The mark that a `reset` sets: where a `shift` captures up to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from greenlet import greenlet


class ControlError(RuntimeError):
    """A continuation was captured or resumed where that has no meaning."""


class Prompt:
    """The mark that a `reset` sets and that a `shift` captures up to.

    `capture(here(), operation)` leaves the program for the `run` of this prompt. `run` keeps the operation and resumes
    the program at once. `capture` is the driver's own `switch`, so that an operation costs two switches and no Python
    frame. If the operation could not be kept, `capture` returns a true value, or raises `GreenletError`. While no `run`
    of this prompt is active, `capture` is `closed`, which raises.
    """

    __slots__ = ("capture", "closed")
    capture: Callable[[greenlet | None, Any], Any]

    def __init__(self, closed: Callable[[greenlet | None, Any], NoReturn] | None = None) -> None:
        self.closed = self.capture = _not_running if closed is None else closed

    @property
    def is_open(self) -> bool:
        """Whether a `run` of this prompt is active."""
        return self.capture is not self.closed

    def open(self, capture: Callable[[greenlet | None, Any], Any]) -> None:
        """Use this function to capture from now on: the `switch` of the driver of a `run`."""
        self.capture = capture


def _not_running(source: greenlet | None, message: Any) -> NoReturn:
    raise ControlError("an operation was captured while no run of its prompt is active")
