"""The sites of tests in rewritten code: each has the blocks under its test, and takes over when the test is staged.

A site hands its blocks to the control of the session as functions of a state: the variables that the blocks bind, and
that live on. A site that cannot be written down asks its test instead, and the reason is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from shiftreset_ad.staging.front.blocks import CodeBlock, RewrittenCode
from shiftreset_ad.staging.front.effects import Effects
from shiftreset_ad.staging.front.entries import only_rewritten
from shiftreset_ad.staging.front.facts import BREAKS
from shiftreset_ad.staging.front.frames import UNBOUND, FrameVariables
from shiftreset_ad.staging.front.refusals import (
    CALLS_ITSELF,
    FOREIGN_ITERATOR,
    HAS_EFFECT,
    UNBOUND_BEFORE_LOOP,
    UNBOUND_IN_BRANCH,
    UNEQUAL_ITEMS,
    Refusal,
    RefusedError,
)
from shiftreset_ad.staging.front.sequences import Sequential, sequential
from shiftreset_ad.staging.front.session import Session, current
from shiftreset_ad.staging.front.versions import Arrays, with_arrays


class Site:
    """A test in the user's code."""

    is_of_a_function = False  # whether the site is a whole function

    def __init__(self, line: int, code: RewrittenCode, problem: str | None) -> None:
        self.line = line
        self.code = code
        self.problem = problem
        self.bound: set[str] = set()
        self.written: set[str] = set()  # variables whose arrays the blocks may write to

    def refusal(self, reason: str) -> Refusal:
        return Refusal(self.code.place.filename, self.line, reason)

    def is_open(self, session: Session, frame: FrameVariables) -> bool:
        """Whether the site may be written down. If not, the session gets the reason."""
        if self in session.refusals:
            return False
        if session.is_active(self, frame.codes()):
            session.calls_itself(self, CALLS_ITSELF)
        problem = self.problem or self.problem_in(frame)
        if problem is not None:
            session.asked[self] = self.refusal(problem)
        return problem is None

    def problem_in(self, frame: FrameVariables) -> str | None:
        """Why the site cannot be written down for the values that the variables have now."""
        return None

    def functions(self, session: Session, frame: FrameVariables, *blocks: CodeBlock) -> list[Callable[..., Any]]:
        """The blocks as functions."""
        try:
            return [block.on(frame.cells) for block in blocks]
        except RefusedError as error:
            session.asked[self] = self.refusal(f"{error}")
            return []

    @contextmanager
    def writing(
        self, session: Session, frame: FrameVariables, functions: Sequence[Callable[..., Any]]
    ) -> Iterator[Callable[[], None]]:
        """Write the site down, and see that the blocks change nothing but the variables that they bind.

        The function looks at it at once: the test of a loop may wait for what a round changes, and then has no end.
        """
        before = frame.copy(self.bound | self.written)
        with session.writing(self, frame.codes()):
            effects = Effects(functions, [frame.cells[name] for name in before])
            if effects.problem is not None:
                session.refuse(self, effects.problem)

            def require_no_effect() -> None:
                if (name := effects.taken_back()) is not None:
                    session.refuse(self, HAS_EFFECT.format(name=name))

            try:
                with only_rewritten(self.code.running, session.control, partial(session.refuse, self)):
                    yield require_no_effect
            except BaseException:
                frame.fill(before)
                effects.taken_back()
                raise
            require_no_effect()


class Branch(Site):
    """An `if` statement."""

    blocks: tuple[CodeBlock, CodeBlock]
    joined: list[str]
    surely_bound: set[str]
    rounds: str | None = None

    def problem_in(self, frame: FrameVariables) -> str | None:
        if (
            self.rounds is not None
            and type(iterator := frame[self.rounds]) is not LoopIterator
            and iterator is not UNBOUND
        ):
            return FOREIGN_ITERATOR.format(kind=type(iterator).__name__)
        for name in self.joined:
            if frame[name] is UNBOUND and name not in self.surely_bound:
                return UNBOUND_IN_BRANCH.format(name=name)
        return None

    def is_written(self, test: Any, seen: Any) -> bool:
        """Whether the branches have been written down; then the variables have their values after the `if`."""
        session, frame = current(), FrameVariables(seen)
        if session is None or not self.is_open(session, frame):
            return False
        if not (functions := self.functions(session, frame, *self.blocks)):
            return False
        before = frame.copy(self.bound)
        as_it_was = frame.copy(self.bound | self.written)
        arrays = Arrays(session, frame, self.written)

        def write() -> None:
            names = [*self.joined, *[name for name in arrays.names if name not in self.joined]]

            def branch(block: Callable[..., Any]) -> Callable[[], Any]:
                def carried_out() -> tuple[Any, ...]:
                    frame.fill(as_it_was | copies)
                    origins = arrays.begin()
                    block()
                    return handed_on(session, self, arrays.handed_on(names, origins))

                return carried_out

            with self.writing(session, frame, functions):
                copies = dict(zip(arrays.names, arrays.copies(arrays.names), strict=True))
                with arrays.followed():
                    answers = session.control.cond(test, *map(branch, functions))
                frame.fill(as_it_was)
                found = arrays.write_back(names, answers, self.joined)
            handed_on(session, self, answers)
            frame.fill(dict.fromkeys(before, UNBOUND) | found)

        with_arrays(session, arrays, write)
        return True


class ChoiceSite(Site):
    """An expression with a test: `a if t else b`, `a and b`, `a or b`. None stands for the test's value."""

    blocks: tuple[CodeBlock | None, ...]

    def noted(self, test: Any) -> Any:
        """The value of a test that is asked; the session gets the reason."""
        session = current()
        if session is not None and session.control.is_staged(test):
            session.asked[self] = self.refusal(f"{self.problem}")
        return test

    def value(self, test: Any, seen: Any) -> Any:
        """The value of the expression."""
        session, frame = current(), FrameVariables(seen)
        blocks = [block for block in self.blocks if block is not None]
        functions = [block.on(frame.cells) for block in blocks]
        rest = iter(functions)
        then, other = [next(rest) if block is not None else partial(_value, test) for block in self.blocks]
        if session is None or not self.is_open(session, frame):
            return then() if test else other()

        def noting(f: Callable[[], Any]) -> Callable[[], Any]:
            return lambda: handed_on(session, self, [f()])[0]

        with self.writing(session, frame, functions):
            return noting(partial(session.control.cond, test, noting(then), noting(other)))()


def _value(x: Any) -> Any:
    return x


def handed_on(session: Session, site: Site, values: Sequence[Any]) -> tuple[Any, ...]:
    """These values, which a site takes or hands on: lists and dicts in them must not change from here on."""
    session.handed_on.note(site, values)
    return tuple(values)


class LoopSite(Site):
    """A `while` or `for` statement."""

    test: CodeBlock
    test_binds = False
    round: CodeBlock
    carried: list[str]
    flag: str | None
    rounds: str | None = None

    def problem_in(self, frame: FrameVariables) -> str | None:
        for name in self.carried:
            if frame[name] is UNBOUND:
                return UNBOUND_BEFORE_LOOP.format(name=name)
        return None

    def names(self, arrays: Arrays) -> list[str]:
        """The variables that the loop carries."""
        return [*self.carried, *[name for name in arrays.names if name not in self.carried]]

    def begin(self, frame: FrameVariables, state: Mapping[str, Any]) -> None:
        """Give the variables this state. A variable of the round's own has no value at the beginning."""
        frame.fill(dict.fromkeys(frame.copy(self.bound), UNBOUND) | dict(state))

    def begin_round(
        self, frame: FrameVariables, names: Sequence[str], state: Sequence[Any], arrays: Arrays
    ) -> dict[str, Any]:
        """A round, or a test, begins; the answer tells where the arrays come from to which it may write."""
        self.begin(frame, dict(zip(names, state, strict=True)))
        return arrays.begin()

    def end(
        self, session: Session, frame: FrameVariables, names: Sequence[str], final: Sequence[Any], arrays: Arrays
    ) -> None:
        """The loop is over."""
        self.begin(frame, arrays.write_back(names, handed_on(session, self, final), self.carried))

    def goes_on(self, value: Any, seen: Any) -> Any:
        """False after the loop has been written down, as then it is over; otherwise the value of the test."""
        session, frame = current(), FrameVariables(seen)
        if session is None or not self.is_open(session, frame):
            return value
        if not (functions := self.functions(session, frame, self.test, self.round)):
            return value
        test, body = functions

        control, arrays = session.control, Arrays(session, frame, self.written)

        def write() -> None:
            names = self.names(arrays)

            def cond_fun(state: Sequence[Any]) -> Any:
                self.begin_round(frame, names, state, arrays)
                return test()

            def body_fun(state: Sequence[Any]) -> tuple[Any, ...]:
                origins = self.begin_round(frame, names, state, arrays)
                body()
                require_no_effect()
                return handed_on(session, self, arrays.handed_on(names, origins))

            def body_and_test(state: Sequence[Any]) -> tuple[Any, ...]:
                origins = self.begin_round(frame, names, state[1:], arrays)
                body()
                goes_on = control.truth(test())
                require_no_effect()
                return (goes_on, *handed_on(session, self, arrays.handed_on(names, origins)))

            with self.writing(session, frame, functions) as require_no_effect:
                start = handed_on(session, self, arrays.copies(names))
                with arrays.followed():
                    if self.test_binds:  # so each test is carried out once
                        init = control.truth(value), *start
                        final = control.while_loop(lambda state: state[0], body_and_test, init)[1:]
                    else:
                        final = control.while_loop(cond_fun, body_fun, start)
                self.end(session, frame, names, final, arrays)

        with_arrays(session, arrays, write)
        return False

    def items(self, iterable: Any, seen: Any) -> Any:
        """The items of a `for` loop, for Python to go over. They end when the rest has been written down."""
        session = current()
        if session is None:
            return iterable
        items = sequential(iterable, session.control)
        if items is None or (self.flag is None and not items.is_counted):
            return iterable
        return LoopIterator(self, session, FrameVariables(seen), items)

    def are_written(self, session: Session, frame: FrameVariables, items: Sequential, position: int) -> bool:
        """Whether the rounds from here on have been written down."""
        if not self.is_open(session, frame) or not (functions := self.functions(session, frame, self.round)):
            return False
        item = items.at_any_index(session.control, partial(session.handed_on.note_read, self))
        if item is None:
            session.asked[self] = self.refusal(UNEQUAL_ITEMS)
            return False
        (body,) = functions
        arrays = Arrays(session, frame, self.written)

        def write() -> None:
            names = self.names(arrays)

            def cond_fun(state: Sequence[Any]) -> Any:
                goes_on = state[0] < items.count
                return goes_on if self.flag is None else (state[1 + self.carried.index(self.flag)] < BREAKS) & goes_on

            def body_fun(state: Sequence[Any]) -> tuple[Any, ...]:
                origins = self.begin_round(frame, names, state[1:], arrays)
                body(item(state[0]))
                require_no_effect()
                return (state[0] + 1, *handed_on(session, self, arrays.handed_on(names, origins)))

            with self.writing(session, frame, functions) as require_no_effect:
                start = position, *handed_on(session, self, arrays.copies(names))
                with arrays.followed():
                    final = session.control.while_loop(cond_fun, body_fun, start)
                self.end(session, frame, names, final[1:], arrays)

        with_arrays(session, arrays, write)
        return True


class LoopIterator:
    """The iterator of a `for` loop whose rounds may be written down. Python goes over it as long as all is plain."""

    def __init__(self, site: LoopSite, session: Session, frame: FrameVariables, items: Sequential) -> None:
        self._site = site
        self._session = session
        self._frame = frame
        self._items = items
        self._position = 0
        self._is_over = False

    def __iter__(self) -> LoopIterator:
        return self

    def __next__(self) -> Any:
        site, frame, control = self._site, self._frame, self._session.control
        flag = 0 if site.flag is None else frame[site.flag]
        if not self._is_over and (control.is_staged(flag) or self._items.is_counted):
            self._is_over = site.are_written(self._session, frame, self._items, self._position)
            if not self._is_over and site.flag is not None and control.is_staged(flag):
                frame[site.flag] = flag = int(flag)
        if self._is_over or flag >= BREAKS or not self._position < self._items.count:
            self._is_over = True
            raise StopIteration
        self._position += 1
        return self._items.at(self._position - 1)
