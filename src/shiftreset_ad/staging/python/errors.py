"""Errors of steps: whose error it is, and what its traceback keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from types import FrameType

from shiftreset_ad.control.frames import is_installed, is_of_a_library

FILENAME = "<staged>"  # of the functions that are generated


def is_of_a_handler(error: BaseException) -> bool:
    """Whether code of the user's has raised an error in the steps, which have no such code: a handler of a signal."""
    frames = list(_frames_of(error))
    return bool(frames) and not _is_of_steps(frames[-1])


def forget_values(error: BaseException) -> None:
    """Have the frames of the steps in a traceback keep no values."""
    link: BaseException | None = error
    while link is not None:
        for frame in _frames_of(link):
            if _is_of_steps(frame):
                with suppress(RuntimeError):  # the function that handles the error is still running
                    frame.clear()
        link = link.__context__


def _frames_of(error: BaseException) -> Iterator[FrameType]:
    """The frames of a traceback, from outside to inside."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _is_of_steps(frame: FrameType) -> bool:
    """Whether a frame belongs to steps, or to functions that steps call."""
    code = frame.f_code
    return code.co_filename == FILENAME or is_of_a_library(code) or is_installed(code.co_filename)
