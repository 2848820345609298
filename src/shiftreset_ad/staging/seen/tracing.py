"""The watch by a trace function, which Python calls before each instruction (`sys.settrace` with `f_trace_opcodes`).

While there is a trace function, each call of a function takes several times as long. So the watch may pause
(`steps.unwatched`), and code of this library is left out as soon as it is known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from shiftreset_ad.staging.seen.instructions import Watched
from shiftreset_ad.staging.seen.parts import OURS, package_of
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.surroundings import Users
from shiftreset_ad.staging.seen.watching import Watch
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.unwatched import watching

LEFT_OUT: dict[int, CodeType] = {}  # code of this library that no watch looks at, by its id


class Traced(Watch):
    """The watch by a trace function. Another trace function, of a debugger, goes on."""

    def __init__(self, reads: Reads, users: Users, trace: Trace) -> None:
        super().__init__(reads, users, trace)
        self._awaited: set[int] = set()  # code whose answer an instruction has waited for, by its id
        self._idle: set[int] = set()  # code of libraries that is not looked at: most of the calls
        self._outer: Any = None

    @contextmanager
    def on(self) -> Iterator[None]:
        self._outer = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # Python 3.12 asks for this before `settrace`
        enters = self._enters
        if self._outer is None:
            watching.by = enters
            if not self._users.has(OURS):
                self._idle.update(LEFT_OUT)
        with self._begun(sys._getframe(2)):
            sys.settrace(enters)
            try:
                yield
            finally:
                sys.settrace(self._outer)
                watching.by = None
                for watched in self._frames.values():
                    watched.frame.f_trace = None  # the trace function has the frame, too

    @contextmanager
    def asking(self, ask: Callable[[FrameType], None]) -> Iterator[None]:
        trace = sys.gettrace()
        try:
            with super().asking(ask):
                yield
        finally:
            sys.settrace(trace)  # an error in a trace function ends it

    def _await(self, code: CodeType) -> None:
        self._awaited.add(id(code))
        self._idle.discard(id(code))

    def _enters(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if id(code) in self._idle:
            return None
        outer = None if self._outer is None else self._outer(frame, event, arg)
        kind = self._entered(frame)
        if not kind.is_users:
            if self._outer is None and not kind.matters and id(code) not in self._awaited:
                self._idle.add(id(code))
                if package_of(frame.f_globals.get("__name__")) == OURS:
                    LEFT_OUT[id(code)] = code
            caller = self._frames.get(id(frame.f_back))
            return _Follow(self, outer, None) if caller is not None and caller.expects is code else outer
        frame.f_trace = follow = _Follow(self, outer, self._watched(frame))
        frame.f_trace_opcodes = True
        frame.f_trace_lines = outer is not None
        return follow

    def follows(self, frame: FrameType, event: str, arg: Any, watched: Watched | None) -> None:
        """Take note of an event in a frame, which is watched, or whose answer alone matters; not of an instruction."""
        if watched is not None and event != "line":
            self.comes_to(watched, frame.f_lasti)
        if event == "exception" and watched is not None:
            watched.stack.raised = True
        elif event == "return":
            self._leaves(frame, arg)
            if id(frame) not in self._frames:
                frame.f_trace = None


class _Follow:
    """The trace function of a frame. Another one, of a debugger, goes on."""

    __slots__ = ("_outer", "_watch", "_watched")

    def __init__(self, watch: Traced, outer: Any, watched: Watched | None) -> None:
        self._watch, self._outer, self._watched = watch, outer, watched

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        watched = self._watched
        if event == "opcode" and watched is not None:
            self._watch.goes_on(watched, frame.f_lasti)
            return self
        self._watch.follows(frame, event, arg, watched)
        if self._outer is not None and event != "opcode":
            self._outer = self._outer(frame, event, arg)
        return None if event == "return" else self
