"""The sites of tests in rewritten code: each has the blocks under its test, and takes over when the test is staged.

A site hands its blocks to the control of the session as functions of a state: the variables that the blocks bind, and
that live on. A site that cannot be written down asks its test instead, and the reason is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from shiftreset_ad.staging.front.arrays import with_carried
from shiftreset_ad.staging.front.blocks import CodeBlock, RewrittenCode
from shiftreset_ad.staging.front.effects import Effects
from shiftreset_ad.staging.front.entries import only_rewritten
from shiftreset_ad.staging.front.frames import UNBOUND, FrameVariables
from shiftreset_ad.staging.front.instances import Objects
from shiftreset_ad.staging.front.list_changes import ListChanges
from shiftreset_ad.staging.front.places import Places
from shiftreset_ad.staging.front.refusals import (
    CALLS_ITSELF,
    FOREIGN_ITERATOR,
    NONE_IN_BRANCH,
    UNBOUND_IN_BRANCH,
    UNSET_BEFORE,
    Refusal,
    RefusedError,
)
from shiftreset_ad.staging.front.rounds import LoopIterator
from shiftreset_ad.staging.front.session import Session, current
from shiftreset_ad.staging.front.stand_ins import form_of, zeros_of
from shiftreset_ad.staging.front.state import State

MOST_NOT_YET = 2  # times that a branch is not written down yet, in one recording


class NotYet(BaseException):
    """A site cannot be written down this time. It may be later, as a variable has another kind of value then."""

    def __init__(self, site: Any, reason: str) -> None:
        super().__init__()
        self.site, self.reason = site, reason


class Site:
    """A test in the user's code."""

    is_of_a_function = False  # whether the site is a whole function
    has_rounds = False

    def __init__(self, line: int, code: RewrittenCode, problem: str | None) -> None:
        self.line = line
        self.code = code
        self.problem = problem
        self.bound: set[str] = set()
        self.written: set[str] = set()  # variables whose arrays the blocks may write to
        self.list_changes = ListChanges()

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

    def not_yet(self, session: Session, name: str) -> NoReturn:
        """A variable, an attribute or an item gets its first value in the blocks."""
        session.refuse(self, UNSET_BEFORE.format(name=name))

    def is_written_now(self, session: Session, carriers: Sequence[Any], write: Callable[[], None]) -> bool:
        """Write the site down. If it cannot be yet, its test is asked this time."""
        mark = session.control.mark()
        try:
            with_carried(session, carriers, write)
        except NotYet as found:
            if found.site is not self:
                raise
            session.control.rewind(mark)
            session.asked[self] = self.refusal(found.reason)
            return False
        return True

    def functions(self, session: Session, frame: FrameVariables, *blocks: CodeBlock) -> list[Callable[..., Any]]:
        """The blocks as functions."""
        try:
            return [block.on(frame.cells) for block in blocks]
        except RefusedError as error:
            session.asked[self] = self.refusal(f"{error}")
            return []

    @contextmanager
    def writing(self, session: Session, frame: FrameVariables, places: Places, roots: Sequence[Any]) -> Iterator[None]:
        """Write the site down, and see that the blocks change nothing but the variables that they bind, and the places.

        The roots are the blocks, and what else they are given.
        """
        before = frame.copy(self.bound | self.written)
        with session.writing(self, frame.codes()):
            around = session.followed[-1][0] if session.followed else None
            effects = Effects(roots, [frame.cells[name] for name in before], around)
            if effects.problem is not None:
                session.refuse(self, effects.problem)
            places.begin(effects)
            session.followed.append((effects, places))
            try:
                with only_rewritten(self.code.running, session.control, partial(session.enters, self)):
                    yield
                places.require_nothing_else()
            except BaseException:
                frame.fill(before)
                effects.take_back()
                raise
            finally:
                session.followed.pop()


class Branch(Site):
    """An `if` statement."""

    blocks: tuple[CodeBlock, CodeBlock]
    joined: list[str]
    surely_bound: set[str]
    rounds: str | None = None
    left_out: set[str]  # variables that are read only if the first block has bound them

    def problem_in(self, frame: FrameVariables) -> str | None:
        if (
            self.rounds is not None
            and type(iterator := frame[self.rounds]) is not LoopIterator
            and iterator is not UNBOUND
        ):
            return FOREIGN_ITERATOR.format(kind=type(iterator).__name__)
        for name in self.joined:
            if frame[name] is UNBOUND and name not in self.surely_bound | self.left_out:
                return UNBOUND_IN_BRANCH.format(name=name)
        return None

    def is_written(self, test: Any, seen: Any) -> bool:
        """Whether the branches have been written down; then the variables have their values after the `if`."""
        session, frame = current(), FrameVariables(seen)
        if session is None or not self.is_open(session, frame):
            return False
        if not (functions := self.functions(session, frame, *self.blocks)):
            return False
        unset = [name for name in self.joined if name in self.left_out and frame[name] is UNBOUND]
        missing = {name: session.forms.get((self, name)) for name in unset}
        joined = [name for name in self.joined if missing.get(name, name) is not None]
        state = State(session, self, frame, joined, frame.copy(self.bound | self.written))
        first: list[Any] = []  # what the first block hands on
        may_wait = not session.active and any(frame[name] is None for name in joined)

        def write() -> None:
            first.clear()

            def branch(block: Callable[..., Any]) -> Callable[[], Any]:
                def carried_out() -> tuple[Any, ...]:
                    origins = state.begin(start)
                    block()
                    for name, form in missing.items():
                        self._stand_in(session, frame, name, form, is_first=block is functions[0])
                    values = state.handed_on(origins)
                    first[:] = first or values
                    for i, (x, y) in enumerate(zip(first, values, strict=True)):
                        if (x is None) != (y is None):
                            self._is_none_in_one(session, state.name(i), may_wait)
                    return values

                return carried_out

            with self.writing(session, frame, state.places, functions):
                start = state.start()
                with state.arrays.followed():
                    answers = session.control.cond(test, *map(branch, functions))
                state.end(answers)

        if may_wait:
            return self.is_written_now(session, state.carriers, write)
        with_carried(session, state.carriers, write)
        return True

    def _is_none_in_one(self, session: Session, name: str, may_wait: bool) -> NoReturn:
        """A variable is None after one block alone. In a later round of a loop, it may be bound before."""
        reason = NONE_IN_BRANCH.format(name=name)
        session.none_in_one[self] += 1
        if not may_wait or session.none_in_one[self] > MOST_NOT_YET:
            session.refuse(self, reason)
        raise NotYet(self, reason)

    def _stand_in(self, session: Session, frame: FrameVariables, name: str, form: Any, is_first: bool) -> None:
        """The first block binds a variable, if the `form` of its value is known, and the other one gets zeros."""
        if not is_first:
            if form is not None:
                frame.fill({name: zeros_of(form)})
            return
        is_bound = frame[name] is not UNBOUND
        if is_bound and (found := form_of(frame[name])) is not None:
            session.has_form((self, name), found)
        elif is_bound or form is not None:
            session.refuse(self, UNBOUND_IN_BRANCH.format(name=name))


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

        places, objects = Places(session, self), Objects(session)
        known = set[Any]()  # the answers of the branches, where they are plain

        def write() -> Any:
            def branch(f: Callable[[], Any]) -> Callable[[], Any]:
                def carried_out() -> tuple[Any, ...]:
                    places.fill(start)
                    answer = f()
                    known.add(answer if type(answer) is bool else f)
                    places.require_nothing_else()
                    values = [answer, *places.values()]
                    objects.require_known(keys, met or values, values)
                    met[:] = met or values
                    apart = objects.taken_apart(keys, values)
                    session.control.versions.require_last(apart)
                    return session.noted(self, places, apart)

                return carried_out

            with self.writing(session, frame, places, functions):
                keys = [ANSWER, *[place.identity() for place in places.carried]]
                met: list[Any] = []  # what the first branch hands on
                start = places.values()
                session.noted(self, places, [None, *start])
                answers = session.control.cond(test, branch(then), branch(other))
                answer, *of_places = objects.put_together(answers)
                session.noted(self, places, answers)
                places.fill(of_places)
            return known.pop() if known in ({True}, {False}) else answer  # so a loop ends by a test that is plain

        return with_carried(session, [places, objects], write)


ANSWER = "the answer"


def _value(x: Any) -> Any:
    return x
