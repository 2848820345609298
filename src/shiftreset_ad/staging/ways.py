"""The ways that a function has taken, and which of them a call may still take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optree

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.places import Line
from shiftreset_ad.staging.limits import Remark, limited
from shiftreset_ad.staging.native.compiled import NONE, InTurn
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.expressions import is_same
from shiftreset_ad.staging.python.grouping import grouped
from shiftreset_ad.staging.seen.guards import Guards
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.texts import Texts

Lines = Sequence[tuple[Line | None, int]]  # how many steps the lines of the user's have; None is the way back
MOST_WAYS = 32  # of a signature


class Way:
    """One way that a function has taken: its steps, by NumPy and as native code, and the structure of its answer.

    `take` has the answers for some inputs, or the number of a question that has another answer; None if there are none.
    `given` has the parts of the answer
    that the function does not make, by their position: for a structure in the arguments, the number of its node there;
    for a structure or an array from outside, the object itself.
    """

    __slots__ = (
        *("_native", "_texts", "answers", "carries_zeros", "given", "has_control", "is_asked", "is_checked", "lines"),
        *("not_written", "problem", "sites", "spec", "take", "unanswered", "unlimited"),
    )

    def __init__(
        self,
        trace: Trace,
        outputs: list[Any],
        spec: optree.PyTreeSpec,
        given: Mapping[int, Any],
        lines: Lines,
    ) -> None:
        if trace.refusal is not None:  # also if the function has caught the error
            raise UnstageableError(trace.refusal)
        left = grouped(trace, Eliminated(trace, outputs), outputs)
        self.unlimited: list[Remark] = []  # for what the memory limit does not hold
        if trace.memory_limit is not None:
            left, self.unlimited = limited(trace, left, outputs, trace.memory_limit)
        self._texts = texts = Texts(trace, outputs, left)
        by_numpy = texts.take if texts.is_by_numpy else None
        self.take: Callable[[list[Any]], Any] = texts.take if texts.problem else InTurn(texts.native, by_numpy)
        self._native: Any = NONE + texts.problem if texts.problem else self.take
        self.sites = [question.site for question in texts.questions]
        self.answers = [question.expected for question in texts.questions]
        self.spec = spec
        self.given = given
        self.has_control = trace.has_control
        self.carries_zeros = trace.carries_zeros
        self.is_asked = trace.is_asked
        self.lines = lines
        self.is_checked = False
        self.not_written: list[str] = []  # why branches and loops ask, and are not written down
        self.unanswered = 0  # calls that were left to the function itself
        self.problem = ""  # of the last one of these calls

    def keep(self) -> None:
        """Keep what later texts are made of, now that the run has ended."""
        self._texts.keep()

    @property
    def ir(self) -> str:
        """The text of the steps, from which their source and their native code are made."""
        return self._texts.ir

    @property
    def source(self) -> str:
        """The steps by NumPy, in Python."""
        return self._texts.source

    @property
    def llvm(self) -> str:
        """The native code, or why there is none."""
        return f"{self._native.text if isinstance(self._native, InTurn) else self._native}"

    @property
    def is_native(self) -> bool:
        """Whether there is native code that calls no function of Python's."""
        return not self.llvm.startswith(NONE) and not self.by_python

    @property
    def by_python(self) -> list[str]:
        """The names of the functions that native code calls in Python."""
        return self._native.by_python if isinstance(self._native, InTurn) else []

    @property
    def left(self) -> int:
        """The number of calls that native code has left to the steps by NumPy."""
        return self._native.left if isinstance(self._native, InTurn) else 0

    @property
    def quick(self) -> Callable[..., Any] | None:
        """The native code if it checks all its arguments, so that nobody else need look at them; otherwise None."""
        take = self.take
        if not isinstance(take, InTurn):
            return None
        if take.problem and take.steps is not None:
            self.take = take.steps
        return take.quick

    def answer(self, answers: list[Any], nodes: Callable[[], list[Any]]) -> Any:
        """The answer of the function, of the answers of the steps and the nodes of the arguments."""
        if self.given:
            of_arguments = nodes()
            for position, part in self.given.items():
                answers.insert(position, of_arguments[part] if type(part) is int else part)
        return trees.unflatten(self.spec, answers)


class Signature:
    """The ways for arguments of the same types and shapes, newest first, and guards on all that was read in them."""

    __slots__ = ("_after", "changed", "guards", "ways")

    def __init__(self) -> None:
        self.guards = Guards()
        self.changed = self.guards.comparison()  # the name of something that was read and has changed, or None
        self.ways: list[Way] = []
        self._after: dict[tuple[Way, int], set[Way]] = {}

    def add(self, way: Way, guards: Guards) -> None:
        """Keep a way; drop the oldest one if there are more than MOST_WAYS."""
        self.ways = [way, *self.ways[: MOST_WAYS - 1]]
        self.changed = self.guards.add(guards).comparison()
        self._after = {}

    def drop(self, way: Way) -> None:
        """Take a way no more."""
        self.ways = [other for other in self.ways if other is not way]
        self._after = {}

    def after(self, way: Way, question: int) -> set[Way]:
        """The ways that are left to a call if this question of this way has another answer in it."""
        found = self._after.get((way, question))
        if found is None:
            found = {other for other in self.ways if may_go_on(way, other, question)}
            self._after[way, question] = found
        return found


def may_go_on(way: Way, other: Way, question: int) -> bool:
    """Whether another way may hold for a call in which a question of this way is the first with another answer.

    The same questions have the same answers. Where the other way asks something else, nobody knows.
    """
    if way.carries_zeros != other.carries_zeros:  # only one of them asks which numbers are chosen
        return True
    for i in range(min(question, len(other.answers))):
        if other.sites[i] != way.sites[i]:
            return True
        if not is_same(other.answers[i], way.answers[i]):
            return False
    is_known = question < len(other.answers) and other.sites[question] == way.sites[question]
    return not (is_known and is_same(other.answers[question], way.answers[question]))
