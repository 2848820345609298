"""A function of numbers that calls itself: the newest tag is taken off first, until a function of plain values is left.

Arguments and answers have kinds of their own, other than the state of a loop. The function is given `again`, which it
calls for itself. At each level both are wrapped. In reverse mode a call inside is an operation of the activation that
calls, and its pullback is a visit of the activation that was called.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from shiftreset_ad.modes.reverse.adjoints import accumulate, settle
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag, capture
from shiftreset_ad.modes.reverse.writing import writes_among
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.staging.control.activations import Again, CallWay, Function
from shiftreset_ad.staging.control.kinds import Kind, Kinds, apart, joined, kind_of_adjoint, newest_in, together, zeros
from shiftreset_ad.staging.control.reverse import (
    Record,
    handed_on,
    pull_call,
    pull_control,
    restore,
)
from shiftreset_ad.staging.control.writing import Body, collecting, open_reverse_tags

ITS_OWN_DERIVATIVE = "the function takes a derivative of itself, so there is one derivative more in each call"


class _SideGrown(BaseException):
    """What goes into a function, or out of it, is of greater kinds than it was thought to be."""

    def __init__(self, side: Side, kinds: Kinds) -> None:
        super().__init__()
        self.side, self.kinds = side, kinds


class Side:
    """What goes into a function, or out of it: the kinds of the values. `like` has values in the shapes of adjoints."""

    def __init__(self, kinds: Kinds, like: Sequence[Any]) -> None:
        self.kinds = kinds
        self._like = like

    @property
    def known(self) -> list[Kind]:
        return [kind for kind in self.kinds if kind is not None]

    def reduced(self, xs: list[Any]) -> list[Any]:
        """The values that are there, which must be of these kinds."""
        found = [kind_of_adjoint(x) for x in xs]
        grown = found if len(found) != len(self.kinds) else list(map(joined, self.kinds, found))
        if grown != self.kinds:
            raise _SideGrown(self, grown)
        return [
            zeros(self._like[i]) if x is ZERO else x
            for i, (x, kind) in enumerate(zip(xs, self.kinds, strict=True))
            if kind is not None
        ]

    def filled(self, xs: list[Any]) -> list[Any]:
        """All values, given those that are there."""
        left = iter(xs)
        return [ZERO if kind is None else next(left) for kind in self.kinds]


def called_out(
    way: CallWay,
    function: Function,
    args: list[Any],
    like: tuple[Sequence[Any], Sequence[Any]] = ((), ()),
    tags: Sequence[Tag] = (),
) -> list[Any]:
    """Write a call down for a function of numbers, and return its answers, which are numbers.

    The arguments and the answers may be adjoints that are ZERO; `like` then has values in the shapes of both. The
    function may leave something for the way back of each of these `tags`, even if it has no number of the tag.
    """
    attempts = way.trace.attempts
    path, given = attempts.path(), [kind_of_adjoint(x) for x in args]
    nothing: Kinds = [None] * len(like[1])
    known = attempts.found(path, given) if way.is_met else None
    way.is_met = known is not None  # its answers are those for these kinds
    into, out = (Side(*side) for side in zip(known or (given, nothing), like, strict=True))

    def checked(values: list[Any], again: Again) -> list[Any]:
        def again_here(args: list[Any], frame: int | None) -> tuple[list[Any], int]:
            answers, frame = again(into.reduced(args), frame)
            return out.filled(answers), frame

        with attempts.within(path, 0):
            found = function(into.filled(values), again_here)
        return out.reduced(found)

    from_here_on = Tag().serial
    while True:
        mark = way.trace.mark()
        try:
            answers = at_level(way, checked, into.reduced(args), into.known, out.known, tags)
            if newest_in([*into.kinds, *out.kinds]) <= attempts.newest:
                attempts.keep(path, given, (into.kinds, out.kinds))
            return out.filled(answers)
        except _SideGrown as grown:
            if grown.side is not into and grown.side is not out:
                raise
            if any(kind.tag is not None and kind.tag.serial > from_here_on for kind in grown.kinds if kind is not None):
                way.trace.refuse(ITS_OWN_DERIVATIVE)
            way.trace.rewind(mark)
            grown.side.kinds, way.is_met = grown.kinds, False


def at_level(
    way: CallWay, function: Function, args: list[Any], ins: list[Kind], outs: list[Kind], tags: Sequence[Tag]
) -> list[Any]:
    """A call with arguments of these kinds and answers of these kinds, and with operations of these tags."""
    levels = [*tags, *[kind.tag for kind in (*ins, *outs) if kind.tag is not None]]
    if not levels:
        return way.write(function, args)
    tag = max(levels, key=lambda tag: tag.serial)
    below = [other for other in tags if other is not tag]
    at_level_of = _in_reverse if type(tag) is ReverseTag else _by_parts
    return at_level_of(way, function, args, ins, outs, tag, below)


def _by_parts(
    way: CallWay, function: Function, args: list[Any], ins: list[Kind], outs: list[Kind], tag: Tag, tags: Sequence[Tag]
) -> list[Any]:
    """A call with the parts of the numbers of this tag."""

    def lowered(parts: list[Any], again: Again) -> list[Any]:
        def again_here(args: list[Any], frame: int | None) -> tuple[list[Any], int]:
            answers, frame = again(apart(args, ins, tag), frame)
            return together(answers, outs, tag), frame

        return apart(function(together(parts, ins, tag), again_here), outs, tag)

    below = [[part for kind in kinds for part in (kind.parts if kind.tag is tag else (kind,))] for kinds in (ins, outs)]
    return together(at_level(way, lowered, apart(args, ins, tag), below[0], below[1], tags), outs, tag)


class Recursion(Record):
    """A function that has been called under a tag, and has called itself."""

    __slots__ = ("_again", "free")
    way: CallWay
    _again: Again
    free: list[NumR]  # the numbers from outside that a visit adds to

    def __init__(self, way: CallWay, tag: Tag) -> None:
        super().__init__(way, tag, 1, called_out)
        self.free = []

    def visited(self, bodies: list[Body], state: list[Any], free: list[NumR], like: list[Any]) -> list[Any]:
        (body,), (part,) = bodies, self.parts
        self.free = free

        def visit(values: list[Any], again: Again) -> list[Any]:
            self._again = again
            return body(values)

        answers = [x.primal for x in (*part.xs, *free)]
        return called_out(self.way.back(), visit, state, (like, answers), open_reverse_tags())

    def pull_call(self, ys: list[NumR], ins: list[NumR | None], frame: int) -> None:
        """The way back through a call inside: a visit of the activation that has this frame."""
        answers, _ = self._again([settle(x) for x in (*ys, *self.free)], frame)
        restore(zip(self.free, answers[len(ins) :], strict=True))
        for x, bar in zip(ins, answers, strict=False):
            if x is not None and bar is not ZERO:
                accumulate(x, bar)


def _in_reverse(
    way: CallWay, function: Function, args: list[Any], ins: list[Kind], outs: list[Kind], tag: Tag, tags: Sequence[Tag]
) -> list[Any]:
    """A call in which some arguments or answers are numbers of this tag."""
    record = Recursion(way, tag)
    way.records.add(record)
    (part,) = record.parts
    enters, leaves = ([kind.tag is tag for kind in kinds] for kinds in (ins, outs))
    number = partial(_number, tag=tag)

    def below(x: Any) -> Any:
        return x.primal if type(x) is NumR and x.tag is tag else x

    def lowered(values: list[Any], again: Again) -> list[Any]:
        def again_here(args: list[Any], frame: int | None) -> tuple[list[Any], int]:
            answers, frame = again(list(map(below, args)), frame)
            answers = list(map(number, answers, leaves))
            capture(tag, (pull_call, _of(answers, leaves), record, inputs(args), frame))
            return answers, frame

        xs = list(map(number, values, enters))
        with collecting(tag) as pending:
            found = function(xs, again_here)
            found = [handed_on(y, tag) if is_number else y for y, is_number in zip(found, leaves, strict=True)]
        if writes_among(pending):
            way.trace.refuse("a function that calls itself writes to an array that is being differentiated")
        part.xs, part.outs, part.pending = _of(xs, enters), _of(found, leaves), pending
        return list(map(below, found))

    def inputs(xs: list[Any]) -> list[NumR | None]:
        return [x if type(x) is NumR and x.tag is tag else None for x in _of(xs, enters)]

    kinds_below = [[kind.parts[0] if kind.tag is tag else kind for kind in kinds] for kinds in (ins, outs)]
    answers = at_level(way, lowered, list(map(below, args)), kinds_below[0], kinds_below[1], tags)
    answers = list(map(number, answers, leaves))
    capture(tag, (pull_control, _of(answers, leaves), record, inputs(args)))
    return answers


def _number(x: Any, is_number: bool, tag: Tag) -> Any:
    return NumR(x, ZERO, tag) if is_number else x


def _of(xs: list[Any], are_numbers: list[bool]) -> list[Any]:
    return [x for x, is_number in zip(xs, are_numbers, strict=True) if is_number]
