"""The watch by `sys.monitoring`, which Python has from 3.12 on (PEP 669).

Python tells of each piece of code once, when it begins. If the code is the user's, Python tells of each instruction
from then on, and otherwise of nothing more. So code of libraries takes no longer than without the watch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from types import CodeType, FrameType
from typing import Any

from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.surroundings import Users
from shiftreset_ad.staging.seen.tracing import Traced
from shiftreset_ad.staging.seen.watching import Watch
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError

monitoring: Any = getattr(sys, "monitoring", None)
TOOLS = 4, 3  # the numbers that Python leaves to others than debuggers, profilers and the like


class Monitored(Watch):
    """The watch by events. A debugger has events of its own."""

    def __init__(self, reads: Reads, users: Users, trace: Trace, tool: int) -> None:
        super().__init__(reads, users, trace)
        self._tool = tool
        self._told: dict[int, tuple[CodeType, int]] = {}  # code with events of its own, by its id
        self._thread = get_ident()
        self._is_refused = False
        self._end = monitoring.events.PY_RETURN | monitoring.events.PY_YIELD

    @contextmanager
    def on(self) -> Iterator[None]:
        tool, events = self._tool, monitoring.events
        handlers = {
            events.PY_START: self._begins,
            events.PY_RESUME: self._begins,
            events.PY_THROW: self._is_thrown,
            events.INSTRUCTION: self._comes_next,
            events.PY_RETURN: self._returns,
            events.PY_YIELD: self._returns,
            events.PY_UNWIND: self._unwinds,
            events.RAISE: self._raises,
        }
        of_all_code = events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND | events.RAISE
        monitoring.use_tool_id(tool, "shiftreset_ad")
        with self._begun(sys._getframe(2)):
            try:
                for event, handler in handlers.items():
                    monitoring.register_callback(tool, event, handler)
                monitoring.restart_events()  # what is a library's to one function may be another one's own
                monitoring.set_events(tool, of_all_code)
                yield
            finally:
                monitoring.set_events(tool, 0)
                for code, _ in self._told.values():
                    monitoring.set_local_events(tool, code, 0)
                for event in handlers:
                    monitoring.register_callback(tool, event, None)
                monitoring.free_tool_id(tool)

    def _tell(self, code: CodeType, events: int) -> None:
        """Have Python tell of these events in a piece of code, too."""
        _, told = self._told.get(id(code), (code, 0))
        if told | events != told:
            self._told[id(code)] = code, told | events
            monitoring.set_local_events(self._tool, code, told | events)

    def _await(self, code: CodeType) -> None:
        self._tell(code, self._end)

    def _begins(self, code: CodeType, offset: int) -> Any:
        """A call begins, or goes on, as that of a generator does. After DISABLE, Python tells no more of such calls."""
        return None if self._enters(sys._getframe(1)) else monitoring.DISABLE

    def _is_thrown(self, code: CodeType, offset: int, error: BaseException) -> None:
        self._enters(sys._getframe(1))

    def _enters(self, frame: FrameType) -> bool:
        """Take note of a call; whether later calls of this code matter, too."""
        if get_ident() != self._thread:
            return True
        kind = self._entered(frame)
        if kind.is_users:
            self._watched(frame)
            self._tell(kind.code, monitoring.events.INSTRUCTION | self._end)
        return kind.matters

    def _comes_next(self, code: CodeType, offset: int) -> None:
        watched = self._frames.get(id(sys._getframe(1)))
        if watched is None:
            return
        try:
            self.goes_on(watched, offset)
        except UnstageableError:
            self._is_refused = True  # the line at which the run ends is known
            raise

    def _returns(self, code: CodeType, offset: int, answer: Any) -> None:
        self._ends(sys._getframe(1), offset, answer)

    def _unwinds(self, code: CodeType, offset: int, error: BaseException) -> None:
        self._ends(sys._getframe(1), offset, None)

    def _ends(self, frame: FrameType, offset: int, answer: Any) -> None:
        """Take note of the end of a call that is watched, or whose answer an instruction waits for."""
        if self._is_refused:
            return
        watched, caller = self._frames.get(id(frame)), self._frames.get(id(frame.f_back))
        if watched is not None:
            self.comes_to(watched, offset)
        if watched is not None or (caller is not None and caller.expects is frame.f_code):
            self._leaves(frame, answer)

    def _raises(self, code: CodeType, offset: int, error: BaseException) -> None:
        watched = self._frames.get(id(sys._getframe(1)))
        if watched is not None and not self._is_refused:
            self.comes_to(watched, offset)
            watched.stack.raised = True


def watch_over(reads: Reads, users: Users, trace: Trace) -> Watch:
    """The watch over a run: by `sys.monitoring` if Python has it, and a tool is free."""
    free = [tool for tool in TOOLS if monitoring is not None and monitoring.get_tool(tool) is None]
    return Monitored(reads, users, trace, free[0]) if free else Traced(reads, users, trace)
