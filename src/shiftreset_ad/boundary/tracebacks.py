"""Tracebacks without this library's own frames, so that an error reads as if the function had been called directly."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from shiftreset_ad.array_api import MET
from shiftreset_ad.boundary.trees import handed_back
from shiftreset_ad.control.frames import is_ours
from shiftreset_ad.numbers.refusals import explained

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def trimmed(error: BaseException) -> BaseException:
    """`error` with a traceback of the user's frames only; unchanged if there are none, as the error is our own."""
    error = explained(error)
    frames: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None:
        if not is_ours(traceback.tb_frame.f_code):
            frames.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return error.with_traceback(kept) if kept is not None else error


def trimming(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """`function` with the user's frames only in the tracebacks of errors, and the user's kinds of arrays in answers."""

    @wraps(function)
    def trimmed_function(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        try:
            answer = function(*args, **kwargs)
        except BaseException as error:
            raise trimmed(error)  # noqa: B904 (the same error)
        return handed_back(answer, (args, kwargs)) if MET else answer

    return trimmed_function
