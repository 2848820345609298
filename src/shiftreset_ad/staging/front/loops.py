"""The sites of loops: each has the rounds of a `while` or `for` statement, and takes over when the test is staged.

A loop whose test is plain is recorded round by round, as Python goes round. If that would take very many steps, the
site takes over, too: the rest of the rounds is written down as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.staging.front.blocks import CodeBlock
from shiftreset_ad.staging.front.facts import BREAKS
from shiftreset_ad.staging.front.frames import UNBOUND, FrameVariables
from shiftreset_ad.staging.front.refusals import NEVER_ENDS, SAME_TEST, UNBOUND_BEFORE_LOOP, UNEQUAL_ITEMS, UNSET_BEFORE
from shiftreset_ad.staging.front.rounds import LoopIterator
from shiftreset_ad.staging.front.sequences import Sequential, sequential
from shiftreset_ad.staging.front.session import Session, current
from shiftreset_ad.staging.front.sites import NotYet, Site
from shiftreset_ad.staging.front.state import State

TRUTHS = (bool, np.bool)


class LoopSite(Site):
    """A `while` or `for` statement."""

    test: CodeBlock
    test_binds = False
    round: CodeBlock
    carried: list[str]
    flag: str | None
    rounds: str | None = None
    has_rounds = True

    def not_yet(self, session: Session, name: str) -> NoReturn:
        raise NotYet(self, UNSET_BEFORE.format(name=name))

    def problem_in(self, frame: FrameVariables) -> str | None:
        for name in self.carried:
            if frame[name] is UNBOUND:
                return UNBOUND_BEFORE_LOOP.format(name=name)
        return None

    def state(self, session: Session, frame: FrameVariables) -> State:
        """The state of the loop. A variable of the round's own has no value at the beginning."""
        return State(session, self, frame, self.carried, dict.fromkeys(frame.copy(self.bound), UNBOUND))

    def takes_over(self, value: Any) -> bool:
        """Whether the site is to write down a `while` loop whose test has this value."""
        session = current()
        if session is None or session.control.is_staged(value):
            return session is not None
        if type(value) not in TRUTHS:
            return False
        long_loops = session.long_loops
        if not value:
            long_loops.end(self)
            return False
        if not long_loops.is_to_be_written(self, session.control.steps):
            if session.active and long_loops.never_ends(self):
                session.refuse(session.active[-1], NEVER_ENDS)
            return False
        session.tries_a_long_loop()
        return True

    def goes_on(self, value: Any, seen: Any) -> Any:
        """False after the loop has been written down, as then it is over; otherwise the value of the test."""
        session, frame = current(), FrameVariables(seen)
        if session is None or not self.is_open(session, frame):
            return value
        if not (functions := self.functions(session, frame, self.test, self.round)):
            return value
        test, body = functions

        control, state = session.control, self.state(session, frame)

        def tested() -> Any:
            goes_on = test()
            if not control.is_staged(goes_on) and goes_on:
                session.refuse(self, SAME_TEST)  # as the record would go round for ever
            return goes_on

        def write() -> None:
            def cond_fun(values: Sequence[Any]) -> Any:
                state.begin(values)
                goes_on = tested()
                state.require_unchanged()
                return goes_on

            def body_fun(values: Sequence[Any]) -> tuple[Any, ...]:
                origins = state.begin(values)
                body()
                return state.handed_on(origins)

            def body_and_test(values: Sequence[Any]) -> tuple[Any, ...]:
                origins = state.begin(values[1:])
                body()
                goes_on = control.truth(tested())
                return (goes_on, *state.handed_on(origins))

            with self.writing(session, frame, state.places, functions):
                start = state.start()
                with state.arrays.followed():
                    if self.test_binds or self in session.acting:  # so each test is carried out once
                        init = control.truth(value), *start
                        final = control.while_loop(lambda values: values[0], body_and_test, init)[1:]
                    else:
                        final = control.while_loop(cond_fun, body_fun, start)
                state.end(final)

        if not self.is_written_now(session, state.carriers, write):
            return value
        if not control.is_staged(value):
            session.is_long(self)
            session.long_loops.are_written = True
        return False

    def items(self, iterable: Any, seen: Any) -> Any:
        """The items of a `for` loop, for Python to go over. They end when the rest has been written down."""
        session = current()
        if session is None:
            return iterable
        items = sequential(iterable, session.control)
        if items is None:
            return iterable
        makes_a_list = any(site.code is self.code for site in session.growing)
        return LoopIterator(self, session, FrameVariables(seen), items, makes_a_list)

    def are_written(self, session: Session, frame: FrameVariables, items: Sequential, position: int) -> bool:
        """Whether the rounds from here on have been written down."""
        if not self.is_open(session, frame) or not (functions := self.functions(session, frame, self.round)):
            return False
        item = items.at_any_index(session.control, partial(session.handed_on.note_read, self))
        if item is None:
            session.asked[self] = self.refusal(UNEQUAL_ITEMS)
            return False
        (body,) = functions
        state = self.state(session, frame)

        def write() -> None:
            def cond_fun(values: Sequence[Any]) -> Any:
                state.begin(values[1:])  # the loop may change the list that it goes over
                goes_on = values[0] < items.count
                return goes_on if self.flag is None else (values[1 + state.position(self.flag)] < BREAKS) & goes_on

            def body_fun(values: Sequence[Any]) -> tuple[Any, ...]:
                origins = state.begin(values[1:])
                body(item(values[0]))
                return (values[0] + 1, *state.handed_on(origins))

            with self.writing(session, frame, state.places, functions):
                start = position, *state.start()
                with state.arrays.followed():
                    final = session.control.while_loop(cond_fun, body_fun, start)
                state.end(final[1:])

        return self.is_written_now(session, state.carriers, write)
