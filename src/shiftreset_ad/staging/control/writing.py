"""The ways in which control is written down as a step: a loop, the rounds of a loop again, and a fork.

Each way has the way back. The rounds are visited in the other order, and the same branch is taken; so the derivative of
a visit is a visit, and the derivative of a fork is a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, TypeAlias
from weakref import WeakSet

import numpy as np
from numpy import ndarray

from shiftreset_ad.control import enclosing
from shiftreset_ad.modes.reverse.number import ReverseTag
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.staging.control.execution import Execution
from shiftreset_ad.staging.steps.blocks import Control, Fork, Gather, Loop, Rounds, Visit
from shiftreset_ad.staging.steps.trace import Block, Trace
from shiftreset_ad.staging.steps.values import Staged, call, kept, unstaged

Body = Callable[[list[Any]], list[Any]]  # from the values that come in to those that go out


Records: TypeAlias = "WeakSet[Any]"


class ControlWay(Protocol):
    """A way in which control is written down."""

    trace: Trace
    carries: bool  # what goes out of a body comes into its next round
    records: Records  # what reverse mode knows of each visit of these rounds, or of these branches, and still needs

    def write(self, bodies: Any, state: list[Any], /) -> list[Any]:
        """Write a step for bodies, or for a function, on plain staged values; the answers are staged values."""

    def back(self) -> ControlWay:
        """The way in which the derivative goes back."""

    def has(self, block: Block) -> bool:
        """Whether a block is one round, or one branch, of this way, or lies in it."""


class Rounded:
    """A way that goes through rounds."""

    carries = True

    def __init__(self, trace: Trace, rounds: Rounds, records: Records) -> None:
        self.trace = trace
        self.rounds = rounds
        self.records = records

    def back(self) -> ControlWay:
        return AgainWay(self.trace, self.rounds, self.records, is_reversed=True)

    def has(self, block: Block) -> bool:
        return any(around.rounds is self.rounds for around in block.outwards())


class LoopWay(Rounded):
    """A new loop. `test` takes the carried values, and says whether there is another round.

    The loop `keeps` the values of its rounds for `gather`.
    """

    def __init__(self, trace: Trace, test: Callable[[list[Any]], Any], keeps: bool = False) -> None:
        super().__init__(trace, Rounds(trace.keep([])), WeakSet())
        self._test = test
        self._keeps = keeps

    def write(self, bodies: Sequence[Body], state: list[Any]) -> list[Any]:
        trace = self.trace

        def loop(body: Block, params: list[Any]) -> tuple[type[Loop], list[Block]]:
            test = Block(body)
            with within(test, trace):
                self._goes_on = self._test(params)
            return Loop, [test, body]

        step = rounds_written(self, bodies, state, loop)
        step.goes_on, step.keeps, step.rounds = self._goes_on, self._keeps or len(self.records) > 0, self.rounds
        return answered(trace, step)

    def gather(self, value: Any) -> Staged:
        """The array of a value of each round."""
        trace = self.trace
        step = Gather(trace.keep(None), self.rounds, plain(trace, value), trace.reactions())
        trace.block.steps.append(step)
        Execution(trace).gather(step, trace.values)
        return Staged(trace, step.place)


class AgainWay(Rounded):
    """The rounds of a loop again."""

    def __init__(self, trace: Trace, rounds: Rounds, records: Records, is_reversed: bool) -> None:
        super().__init__(trace, rounds, records)
        self._is_reversed = is_reversed

    def back(self) -> ControlWay:
        return AgainWay(self.trace, self.rounds, self.records, not self._is_reversed)

    def write(self, bodies: Sequence[Body], state: list[Any]) -> list[Any]:
        step = rounds_written(self, bodies, state, lambda body, _: (Visit, [body]))
        step.rounds, step.is_reversed = self.rounds, self._is_reversed
        return answered(self.trace, step)


class ForkWay:
    """Two branches. Later branches by the same predicate belong to them, and have the same `records`."""

    carries = False

    def __init__(self, trace: Trace, predicate: Any, records: Records) -> None:
        self.trace = trace
        self.records = records
        self._predicate = predicate

    def back(self) -> ControlWay:
        return ForkWay(self.trace, self._predicate, self.records)

    def has(self, block: Block) -> bool:
        return any(around.fork is not None and around.fork[0] is self.records for around in block.outwards())

    def write(self, bodies: Sequence[Body], state: list[Any]) -> list[Any]:
        trace = self.trace
        blocks, results = [], []
        unknown: UnknownAnswer | None = None
        for branch, body in enumerate(bodies):
            block = Block(trace.block, fork=(self.records, branch))
            blocks.append(block)
            try:
                with within(block, trace):
                    results.append([plain(trace, result) for result in body([])])
            except UnknownAnswer as error:
                unknown = error
        if unknown is not None:
            if not results:
                raise unknown
            return [Staged(trace, trace.keep(unstaged(result))) for result in results[0]]
        for i, (x, y) in enumerate(zip(*results, strict=True)):
            dtype = common(trace, x, y)
            if dtype is None:
                trace.refuse(f"the branches of cond answer {described(x)} and {described(y)}")
            for block, result in zip(blocks, results, strict=True):
                with within(block, trace):
                    result[i] = converted(result[i], dtype)
        step = Fork([], blocks, [], results, [], None)
        step.predicate = self._predicate
        return answered(trace, step)


class UnknownAnswer(BaseException):
    """A function calls itself while nothing is known of its answers yet. Another branch may tell what they are."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function


def rounds_written(way: Any, bodies: Sequence[Body], state: list[Any], step_of: Callable[..., Any]) -> Any:
    """A step with one block for a round. A value that has a wider type after a round has it from the beginning."""
    trace, (body,) = way.trace, bodies
    state = [plain(trace, x) for x in state]
    while True:
        mark = trace.mark()
        block = Block(trace.block, rounds=way.rounds)
        with within(block, trace):
            params = [Staged(trace, trace.keep(unstaged(x))) for x in state]
            for x in params:
                trace.protect(x.inside, "is carried by a loop")
            result = [plain(trace, y) for y in body(params)]
            kind, blocks = step_of(block, params)
            wider = [common(trace, x, y) for x, y in zip(params, result, strict=True)]
            for i, (x, y) in enumerate(zip(params, result, strict=True)):
                if wider[i] is None:
                    trace.refuse(f"a loop carries {described(x)}, and after a round {described(y)}")
                result[i] = converted(y, wider[i])
        if all(dtype == dtype_of(x.inside) for x, dtype in zip(params, wider, strict=True)):
            return kind(state, blocks, [x._place for x in params], [result], [], None)
        trace.rewind(mark)
        state = [converted(x, dtype) for x, dtype in zip(state, wider, strict=True)]


def answered(trace: Trace, step: Control) -> list[Staged]:
    """Add a step with blocks to the steps, carry it out, and return its answers.

    An answer may be an array from outside that a branch hands on. A derivative knows them as two numbers, so a write to
    one would not be seen in the other. Therefore nobody may write to what any of the blocks hands on.
    """
    trace.has_control = trace.carries_zeros = True
    step.errors = trace.reactions()
    step.answers = [trace.keep(unstaged(x)) for x in step.results[-1]]
    trace.block.steps.append(step)
    Execution(trace).carry_out(step)
    for place in step.answers:
        value = trace.values[place]
        if trace.is_exact and type(value) is int and not -(2**63) <= value < 2**63:
            trace.refuse_inexact("an integer has more than 64 bits")
        if type(value) is ndarray and not value.flags.writeable:  # a constant, of which the function gives a copy
            trace.values[place] = value.copy("K")
    answers = [Staged(trace, place) for place in step.answers]
    for answer in [*answers, *[result for results in step.results for result in results]]:
        trace.share(unstaged(answer), "is the answer of a loop or a branch")
    return answers


@contextmanager
def within(block: Block, trace: Trace) -> Iterator[None]:
    """Record in this block. The derivatives that are open keep no operation, unless somebody collects them."""
    outer, trace.block = trace.block, block
    try:
        with ExitStack() as stack:
            for tag in open_reverse_tags():
                stack.enter_context(collecting(tag))
            yield
    finally:
        trace.block = outer


def open_reverse_tags() -> list[ReverseTag]:
    """The tags of the derivatives in reverse mode that are running here."""
    return [body.prompt for body in enclosing() if isinstance(body.prompt, ReverseTag)]


@contextmanager
def collecting(tag: Any) -> Iterator[list[Any]]:
    """Collect the operations of a tag, as a `reset` in the middle of its program does."""
    pending: list[Any] = []
    outer = tag.capture

    def keep(source: Any, operation: Any) -> None:
        pending.append(operation)

    try:
        tag.capture = keep
        yield pending
    finally:
        tag.capture = outer


def plain(trace: Trace, x: Any) -> Any:
    """A staged value, or a constant as it is now."""
    return kept(x, trace)


def common(trace: Trace, x: Any, y: Any) -> Any:
    """The dtype that holds both values; None if one of them would have to change its shape or its precision.

    An integer may become a float, unless the types of the program count, and an array keeps its dtype.
    """
    x, y = unstaged(x), unstaged(y)
    if trace.is_exact and dtype_of(x) != dtype_of(y):
        trace.refuse_inexact(f"{described(x)} and {described(y)} become one")
    if shape_of(x) != shape_of(y):
        return None
    kinds = dtype_of(x), dtype_of(y)
    if kinds[0] == kinds[1]:
        return kinds[0]
    if type(x) is ndarray or type(y) is ndarray:
        return None
    wider = np.result_type(*kinds)
    is_exact = all(kind == wider or kind.kind in "biu" or (kind, wider) == EXACT for kind in kinds)
    return wider if wider in kinds and is_exact else None


EXACT = np.dtype(np.float64), np.dtype(np.complex128)


def converted(x: Any, dtype: Any) -> Any:
    """A value in a wider dtype."""
    value = unstaged(x)
    if dtype_of(value) == dtype:
        return x
    if type(value) is ndarray:
        return x.astype(dtype)
    kind = {"f": float, "c": complex, "i": int}[dtype.kind] if type(value) in (bool, int, float) else dtype.type
    return call(kind, (x,)) if type(x) is Staged else kind(x)


def described(x: Any) -> str:
    """A value in words, for the user."""
    value = unstaged(x)
    return (
        f"an array of shape {value.shape} and dtype {value.dtype}"
        if type(value) is ndarray
        else f"a {type(value).__name__}"
    )
