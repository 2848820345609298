"""A run is watched, instruction by instruction: what its code reads from outside, and what it does that no value sees.

Python calls a trace function before each instruction of the user's code (`sys.settrace`), in whatever function it is,
and whoever has called this function. Functions of installed packages are not watched: what they get counts as read.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from shiftreset_ad.boundary.places import Line
from shiftreset_ad.control.bodies import enclosing
from shiftreset_ad.control.continuations import Runner, shift
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.staging.seen.instructions import Instructions, Watched
from shiftreset_ad.staging.seen.parts import OURS, package_of
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.surroundings import Users
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.unwatched import watching
from shiftreset_ad.staging.steps.values import is_staged

LATER = 0x20 | 0x80 | 0x200  # flags of the code of generators and coroutines
LEVELS = ("debug", "info", "warning", "error", "exception", "critical", "log")
WORKERS = ("threading.start", "concurrent.futures.thread.submit", "concurrent.futures.process.", "multiprocessing.")
SHIFT = shift.__code__
LEFT_OUT: dict[int, CodeType] = {}  # code of this library that no watch looks at, by its id
LOGGING = {getattr(owner, name).__code__ for owner in (logging, logging.Logger) for name in LEVELS}


class Watch:
    """The watch over one run, which `trace` records."""

    def __init__(self, reads: Reads, users: Users, trace: Trace) -> None:
        self.line: Line | None = None  # where the user's code is
        self._lines: dict[tuple[int, int] | None, list[Any]] = {}
        self._reads = reads
        self._users = users
        self._steps = trace.steps
        self._refuse = refuse = trace.refuse
        self._instructions = Instructions(reads, refuse)
        self._frames: dict[int, Watched] = {}
        self._codes: dict[int, tuple[CodeType, bool, bool]] = {}
        self._awaited: set[int] = set()  # code whose answer an instruction has waited for, by its id
        self._idle: set[int] = set()  # code of libraries that is not looked at: most of the calls
        self._counted = 0
        self._outer: Any = None
        self._starter: FrameType | None = None
        self._around: list[Any] = []  # the programs of `reset` around the run

    @property
    def lines(self) -> list[tuple[Line | None, int]]:
        """How many steps each line has; None is the way back."""
        return [(line, count) for line, count in self._lines.values()]

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch all code of the user's that runs inside the block. Another trace function, of a debugger, goes on."""
        self._outer, self._starter = sys.gettrace(), sys._getframe(2)
        self._around = list(enclosing())
        sys._getframe().f_trace_opcodes = True  # Python 3.12 asks for this before `settrace`
        enters = self._enters
        if self._outer is None:
            watching.by = enters
            if not self._users.has(OURS):
                self._idle.update(LEFT_OUT)
        sys.settrace(enters)
        try:
            yield
        finally:
            sys.settrace(self._outer)
            watching.by = None
            self._count_steps()
            for watched in self._frames.values():
                watched.frame.f_trace = None  # the trace function has the frame, too
            self._frames.clear()
            self._starter = None

    def _enters(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if id(code) in self._idle:
            return None
        outer = None if self._outer is None else self._outer(frame, event, arg)
        known = self._codes.get(id(code))  # to hash a piece of code takes time
        if known is None:
            is_users = self._users.has(frame.f_globals.get("__name__"), code.co_filename)
            known = self._codes[id(code)] = code, is_users, code in LOGGING
            if is_users:
                self._reads.codes.add(self._reads.original(code))
            elif f"{frame.f_globals.get('__name__')}.{code.co_name}".startswith(WORKERS):
                self._refuse("it computes in several threads or processes")
        _, is_users, is_logging = known
        if not is_users:
            if code is SHIFT:
                self._require_own_reset(frame)
            elif self._outer is None and not is_logging and id(code) not in self._awaited:
                self._idle.add(id(code))
                if package_of(frame.f_globals.get("__name__")) == OURS:
                    LEFT_OUT[id(code)] = code
            caller = self._frames.get(id(frame.f_back))
            if caller is None:
                return outer
            if is_logging:
                self._require_plain(frame)
            return _Follow(self, outer, None) if caller.expects is code else outer
        watched = self._frames.get(id(frame))
        if watched is None:
            watched = self._frames[id(frame)] = Watched(frame)
        frame.f_trace = follow = _Follow(self, outer, watched)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = outer is not None
        return follow

    def _require_plain(self, frame: FrameType) -> None:
        """Refuse to log a value that is staged: the record of it would stay."""
        values = list(frame.f_locals.values())
        if is_staged(values) or has_number(values):
            self._refuse("it logs a value that is staged. Return the value, and log it outside")

    def _require_own_reset(self, frame: FrameType) -> None:
        """Raise UnstageableError before a `shift` up to a `reset` around the run: its handler would run once more."""
        prompt = frame.f_locals["prompt"]
        for program in enclosing():
            if isinstance(program, Runner) and (prompt is None or program.prompt is prompt):
                if program in self._around:
                    self._refuse("it captures a continuation up to a reset around it")
                    raise UnstageableError("it captures a continuation up to a reset around it")
                return

    def follows(self, frame: FrameType, event: str, arg: Any, watched: Watched | None) -> None:
        """Take note of an event in a frame, which is watched, or whose answer alone matters; not of an instruction."""
        if watched is not None and event != "line":
            self.comes_to(watched, frame.f_lasti)
        if event == "exception" and watched is not None:
            watched.stack.raised = True
        elif event == "return":
            self._leaves(frame, arg)

    def comes_to(self, watched: Watched, offset: int) -> None:
        """Take note of the place in a frame."""
        if len(self._steps) > self._counted:
            self._count_steps()
        self.line = watched.code, offset

    def goes_on(self, watched: Watched, offset: int) -> None:
        """Take note of the instruction that comes next in a frame."""
        self.comes_to(watched, offset)
        try:
            self._instructions.before(watched, offset)
            if watched.expects is not None:
                self._awaited.add(id(watched.expects))
                self._idle.discard(id(watched.expects))
        except UnstageableError as error:
            self._refuse(f"{error}")
        except Exception as error:
            self._refuse(f"staging cannot follow its code: {error!r}")

    def _count_steps(self) -> None:
        """The steps since the last instruction belong to its line."""
        steps = len(self._steps)
        if steps > self._counted:
            line = self.line
            if line is None:
                for step in self._steps[self._counted :]:
                    step.is_back = True
            key = None if line is None else (id(line[0]), line[1])  # to hash a piece of code takes time
            self._lines.setdefault(key, [line, 0])[1] += steps - self._counted
            self._counted = steps

    def _leaves(self, frame: FrameType, answer: Any) -> None:
        code, caller = frame.f_code, frame.f_back
        watched = None if caller is None else self._frames.get(id(caller))
        self.line = None if watched is None or caller is None else (caller.f_code, caller.f_lasti)
        if watched is not None:
            watched.stack.returned(answer, is_answer=watched.expects is code)
        elif caller is not self._starter and id(frame) in self._frames:
            self._reads.use(answer)  # code that is not watched has called the function
        if not code.co_flags & LATER:
            self._frames.pop(id(frame), None)
            frame.f_trace = None


class _Follow:
    """The trace function of a frame. Another one, of a debugger, goes on."""

    __slots__ = ("_outer", "_watch", "_watched")

    def __init__(self, watch: Watch, outer: Any, watched: Watched | None) -> None:
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
