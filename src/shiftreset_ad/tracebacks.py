"""Tracebacks without this library's own frames, so that an error reads as if the function had been called directly."""

from __future__ import annotations

import os
from types import TracebackType

_HERE = os.path.join(os.path.dirname(__file__), "")


def trimmed(error: BaseException) -> BaseException:
    """`error` with a traceback of the user's frames only; unchanged where there are none: the error is our own."""
    frames: list[TracebackType] = []
    traceback = error.__traceback__
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
            frames.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return error.with_traceback(kept) if kept is not None else error
