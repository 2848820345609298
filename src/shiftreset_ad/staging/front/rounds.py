"""The iterator of a `for` loop whose rounds may be written down. It decides from where on they are."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.front.facts import BREAKS
from shiftreset_ad.staging.front.frames import FrameVariables
from shiftreset_ad.staging.front.long_loops import LongLoop
from shiftreset_ad.staging.front.sequences import Sequential
from shiftreset_ad.staging.front.session import Session

MOST_ROUNDS = 8  # that are recorded one by one where a list grows


class LoopIterator:
    """Python goes over it as long as all is plain, and few steps are left."""

    def __init__(
        self, site: Any, session: Session, frame: FrameVariables, items: Sequential, makes_a_list: bool
    ) -> None:
        self._site = site
        self._session = session
        self._frame = frame
        self._items = items
        # Where a list grows, each round would be recorded with all branches in it.
        self._is_written = items.is_counted or (makes_a_list and items.count > MOST_ROUNDS)
        self._position = 0
        self._is_over = False
        self._long = LongLoop(site, session.long_loops.taken)

    def __iter__(self) -> LoopIterator:
        return self

    def __next__(self) -> Any:
        site, frame, control = self._site, self._frame, self._session.control
        if not self._is_over and self._has_no_item_left():
            self._is_over = True
            raise StopIteration
        flag = 0 if site.flag is None else frame[site.flag]
        if not self._is_over and (control.is_staged(flag) or self._is_written or self._is_long()):
            self._is_over = site.are_written(self._session, frame, self._items, self._position)
            self._session.long_loops.are_written |= self._is_over
            if not self._is_over and site.flag is not None and control.is_staged(flag):
                frame[site.flag] = flag = int(flag)
        if self._is_over or flag >= BREAKS or not self._position < self._items.count:
            self._is_over = True
            raise StopIteration
        self._position += 1
        return self._items.at(self._position - 1)

    def _has_no_item_left(self) -> bool:
        """Whether this is known without a test: then no round is written down, as its item would not be there."""
        count = self._items.count
        return not self._session.control.is_staged(count) and self._position >= count

    def _is_long(self) -> bool:
        left, session = self._items.count - self._position, self._session
        if session.long_loops.off or not self._long.is_to_be_written(session.control.steps, self._position, left):
            return False
        session.tries_a_long_loop()
        return True
