"""A run is watched, instruction by instruction: what its code reads from outside, and what it does that no value sees.

Python tells of each instruction of the user's code before it is carried out, in whatever function it is, and whoever
has called this function: by `sys.monitoring` (`monitoring`), or by a trace function (`tracing`). Functions of installed
packages are not watched: what they get counts as read.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

from shiftreset_ad.boundary.places import Line
from shiftreset_ad.control.bodies import enclosing
from shiftreset_ad.control.continuations import Runner, shift
from shiftreset_ad.control.frames import is_followed
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.staging.seen.instructions import Instructions, Watched
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.surroundings import Users
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import is_staged

LATER = 0x20 | 0x80 | 0x200  # flags of the code of generators and coroutines
LEVELS = ("debug", "info", "warning", "error", "exception", "critical", "log")
WORKERS = ("threading.start", "concurrent.futures.thread.submit", "concurrent.futures.process.", "multiprocessing.")
SHIFT = shift.__code__
LOGGING = {getattr(owner, name).__code__ for owner in (logging, logging.Logger) for name in LEVELS}


class Kind(NamedTuple):
    """Whether code is the user's, may be code that a block must not enter, and is a function of `logging`."""

    code: CodeType
    is_users: bool
    is_asked_about: bool
    is_logging: bool

    @property
    def matters(self) -> bool:
        """Whether each call of the code matters."""
        return self.is_asked_about or self.is_logging or self.code is SHIFT


class Watch(ABC):
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
        self._codes: dict[int, Kind] = {}
        self._counted = 0
        self._starter: FrameType | None = None
        self._around: list[Any] = []  # the programs of `reset` around the run
        self._ask: Callable[[FrameType], None] | None = None

    @abstractmethod
    def on(self) -> AbstractContextManager[None]:
        """Watch all code of the user's that runs inside the block."""

    @abstractmethod
    def _await(self, code: CodeType) -> None:
        """Take note of the answer of this code, which an instruction of a watched frame waits for."""

    @contextmanager
    def asking(self, ask: Callable[[FrameType], None]) -> Iterator[None]:
        """Call `ask` with each frame of the user's code, or of code that is followed as such, before the code begins.

        It may raise an error. Inside the block, nobody else is called.
        """
        before, self._ask = self._ask, ask
        try:
            yield
        finally:
            self._ask = before

    @property
    def lines(self) -> list[tuple[Line | None, int]]:
        """How many steps each line has; None is the way back."""
        return [(line, count) for line, count in self._lines.values()]

    @contextmanager
    def _begun(self, starter: FrameType) -> Iterator[None]:
        """The watch, from its begin to its end; `starter` is the frame that calls the function."""
        self._starter, self._around = starter, list(enclosing())
        try:
            yield
        finally:
            self._count_steps()
            self._frames.clear()
            self._starter = None

    def _entered(self, frame: FrameType) -> Kind:
        """Take note of a call; the kind of its code."""
        code = frame.f_code
        known = self._codes.get(id(code))  # to hash a piece of code takes time
        if known is None:
            module = frame.f_globals.get("__name__")
            is_users = self._users.has(module, code.co_filename)
            known = self._codes[id(code)] = Kind(code, is_users, is_users or is_followed(module), code in LOGGING)
            if is_users:
                self._reads.codes.add(self._reads.original(code))
            elif f"{module}.{code.co_name}".startswith(WORKERS):
                self._refuse("it computes in several threads or processes")
        if known.is_asked_about and self._ask is not None:
            self._ask(frame)
        if not known.is_users:
            if code is SHIFT:
                self._require_own_reset(frame)
            elif known.is_logging and id(frame.f_back) in self._frames:
                self._require_plain(frame)
        return known

    def _watched(self, frame: FrameType) -> Watched:
        watched = self._frames.get(id(frame))
        if watched is None:
            watched = self._frames[id(frame)] = Watched(frame)
        return watched

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
                self._await(watched.expects)
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
