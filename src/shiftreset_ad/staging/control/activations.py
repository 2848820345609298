"""The way in which a function that calls itself is written down: a step with the body of the function, and calls in it.

The way back visits the activations of the function again. Each of them calls the visits of the activations that it has
called itself, in the other order. So the derivative of a visit is a visit, and all visits of an activation share its
frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias
from weakref import WeakSet

from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.staging.control.writing import (
    Records,
    UnknownAnswer,
    answered,
    common,
    converted,
    described,
    plain,
    within,
)
from shiftreset_ad.staging.steps.blocks import Activations, Call
from shiftreset_ad.staging.steps.trace import Block, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

# From the arguments of a call, and the place of the frame that it visits, to the answers and the place of its frame.
Again: TypeAlias = Callable[[list[Any], "int | None"], tuple[list[Any], int]]
Function: TypeAlias = Callable[[list[Any], Again], list[Any]]  # it gets arguments, and what to call for itself

NEVER_ENDS = "the function calls itself on each path, so there is no end to it"


class CallWay:
    """A call of a function that calls itself: a new one, or a visit of the activations of an earlier one.

    An earlier attempt `is_met` if it may tell what the answers are.
    """

    carries = True

    def __init__(
        self,
        trace: Trace,
        activations: Activations | None = None,
        records: Records | None = None,
        is_met: bool = True,
    ) -> None:
        self.trace = trace
        self.is_met = is_met
        self.records: Records = WeakSet() if records is None else records
        self.is_new = activations is None
        self.activations = Activations(trace.keep({})) if activations is None else activations

    def back(self) -> CallWay:
        return CallWay(self.trace, self.activations, self.records)

    def has(self, block: Block) -> bool:
        return any(around.rounds is self.activations for around in block.outwards())

    def write(self, function: Function, args: Sequence[Any]) -> list[Any]:
        """Write a step for a function on plain staged values; the answers are staged values.

        In a first trial nothing is known of the answers. A branch in which the function does not call itself tells.
        """
        trace = self.trace
        args = [plain(trace, x) for x in args]
        path, given = trace.attempts.path(), [(shape_of(unstaged(x)), dtype_of(unstaged(x))) for x in args]
        examples = guess = trace.attempts.found(path, given) if self.is_met else None
        while True:
            mark = trace.mark()
            body = _Body(self, args, examples, examples is not None and examples is guess)
            try:
                results = body.results(function)
            except _OtherAnswers as other:
                if other.body is not body:
                    raise
                trace.rewind(mark)
                examples = None
                continue
            except _Wider as wider:
                if wider.body is not body:
                    raise
                trace.rewind(mark)
                args[wider.argument] = converted(args[wider.argument], wider.dtype)
                continue
            if examples is not None and all(map(_are_alike, examples, results)):
                trace.attempts.keep(path, given, examples)
                step = Call(args, [body.block], [x._place for x in body.params], [results], [], None)
                return answered(trace, body.as_call(step, self.activations.place))
            examples = [unstaged(y) for y in results]
            trace.rewind(mark)


class _OtherAnswers(BaseException):
    """An earlier attempt was one to write another function down: the answers have other shapes."""

    def __init__(self, body: _Body) -> None:
        super().__init__()
        self.body = body


class _Wider(BaseException):
    """An argument of a call inside is of a wider type than the argument of the first call."""

    def __init__(self, body: _Body, argument: int, dtype: Any) -> None:
        super().__init__()
        self.body, self.argument, self.dtype = body, argument, dtype


class _Body:
    """The body of a function while it is written down, with examples of its answers."""

    def __init__(self, way: CallWay, args: list[Any], examples: list[Any] | None, is_guess: bool) -> None:
        self.block = Block(way.trace.block, rounds=way.activations)
        self._way = way
        self._trace = way.trace
        self._examples = examples
        self._is_guess = is_guess
        with within(self.block, self._trace):
            self.params = [Staged(self._trace, self._trace.keep(unstaged(x))) for x in args]
        for x in self.params:
            self._trace.protect(x.inside, "is an argument of a function that calls itself")

    def results(self, function: Function) -> list[Any]:
        """The answers, each in a type that is wide enough for the examples, too."""
        trace = self._trace
        with within(self.block, trace):
            try:
                found = [plain(trace, y) for y in function(self.params, self._again)]
            except UnknownAnswer as unknown:
                if unknown.function is not self:
                    raise
                trace.refuse(NEVER_ENDS)
            examples = found if self._examples is None else self._examples
            if self._is_guess and [*map(_shape, examples)] != [*map(_shape, found)]:
                raise _OtherAnswers(self)
            for i, (example, y) in enumerate(zip(examples, found, strict=True)):
                dtype = common(trace, example, y)
                if dtype is None:
                    trace.refuse(f"a function that calls itself answers {described(example)}, and {described(y)}")
                found[i] = converted(y, dtype)
        return found

    def _again(self, args: list[Any], frame: int | None) -> tuple[list[Any], int]:
        """A call of the function in its own body."""
        trace = self._trace
        args = [plain(trace, x) for x in args]
        for i, (param, x) in enumerate(zip(self.params, args, strict=True)):
            dtype = common(trace, param, x)
            if dtype is None:
                trace.refuse(f"a function calls itself with {described(param)}, and with {described(x)}")
            if dtype != dtype_of(param.inside):
                raise _Wider(self, i, dtype)
            args[i] = converted(x, dtype)
        if self._examples is None:
            raise UnknownAnswer(self)
        place = trace.keep({}) if frame is None else frame
        step = self.as_call(Call(args, [], [], [], [], trace.reactions()), place)
        step.answers = [trace.keep(example) for example in self._examples]
        trace.block.steps.append(step)
        answers = [Staged(trace, answer) for answer in step.answers]
        for answer in answers:
            trace.protect(answer.inside, "is the answer of a function that calls itself")
        return answers, place

    def as_call(self, step: Call, frame: int) -> Call:
        """The step as a call of this function, with the frame at this place."""
        step.body, step.frame = self.block, frame
        step.activations, step.is_new = self._way.activations, self._way.is_new
        return step


def _shape(x: Any) -> Any:
    return shape_of(unstaged(x))


def _are_alike(x: Any, y: Any) -> bool:
    return bool(dtype_of(unstaged(x)) == dtype_of(unstaged(y)))
