"""Control in reverse mode: a body runs once, one level below, and its operations are collected for the way back.

This is the rule of reverse mode for WHILE and IF (Wang et al., ICFP 2019, section 4), with the continuation as data. A
round is a program under a `reset` of its own, which collects the operations of the round. The way back through the loop
visits the rounds in the other order, and runs the pullbacks of these operations. It carries the adjoints of the values
that the loop carries, and the contributions to the adjoints of numbers from outside. The values of a round that the
pullbacks need are in the frame of the round: the frames are the tape.

A visit may add to the adjoint of a number that an earlier visit of the same round has made. Then this adjoint stays in
the frame, too, until the way back comes to the earlier visit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate, settle
from shiftreset_ad.modes.reverse.memory import PLACES
from shiftreset_ad.modes.reverse.number import NumR, capture
from shiftreset_ad.modes.reverse.unsettled import Held
from shiftreset_ad.modes.reverse.writing import writes_among
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.staging.control.kinds import Kind, staged_inside
from shiftreset_ad.staging.control.writing import Body, ControlWay, collecting, open_reverse_tags


class Part:
    """What one body has done: the numbers that came in and went out, and its operations."""

    __slots__ = ("outs", "pending", "xs")

    def __init__(self) -> None:
        self.xs: list[NumR] = []
        self.outs: list[NumR] = []
        self.pending: list[Operation] = []

    def made(self, tag: Tag) -> Iterator[NumR]:
        """The numbers that the body has made."""
        yield from self.xs
        yield from self.outs
        for operation in self.pending:
            yield from numbers_in(operation[1], tag)
            for part in parts_in(operation):
                yield from part.made(tag)

    def used(self, tag: Tag) -> Iterator[NumR]:
        """The numbers that the operations of the body use."""
        for operation in self.pending:
            yield from numbers_in(operation[2:], tag)
            if operation[0] is pull_call:
                yield from operation[2].free  # a visit of an activation adds to them, too
            for part in parts_in(operation):
                yield from part.used(tag)

    @property
    def calls(self) -> bool:
        """Whether a function calls itself here. Then each visit goes there, so that later visits find its values."""
        return any(op[0] is pull_call or any(part.calls for part in parts_in(op)) for op in self.pending)


class Record:
    """Control that has been carried out under a tag: what its bodies have done."""

    __slots__ = ("__weakref__", "_carried_out", "parts", "tag", "way")

    def __init__(self, way: ControlWay, tag: Tag, count: int, carried_out: Callable[..., list[Any]]) -> None:
        self.way = way
        self.tag = tag
        self.parts = [Part() for _ in range(count)]
        self._carried_out = carried_out

    def made(self) -> dict[int, NumR]:
        """The numbers that the bodies have made, by their ids."""
        return {id(x): x for part in self.parts for x in part.made(self.tag)}

    def is_inside(self, x: NumR) -> bool:
        """Whether a number belongs to a round or a branch of this control."""
        if any(self.way.has(value._trace.homes[value._place]) for value in staged_inside(x)):
            return True
        others = [record for record in self.way.records if record.tag is self.tag and record is not self]
        return any(id(x) in record.made() for record in others)

    def pull(self, ys: list[NumR], ins: list[Any]) -> None:
        """The way back, as control."""
        bars, made = [settle(y) for y in ys], self.made()
        is_idle = all(bar is ZERO for bar in bars) and all(map(is_untouched, made.values()))
        if is_idle and not any(part.calls for part in self.parts):
            return
        carried.any = True  # for what another round or branch adds to, and this one does not
        used = {id(x): x for part in self.parts for x in part.used(self.tag)}
        free = [x for x in used.values() if id(x) not in made and not self.is_inside(x)]
        before = [(x, x.adjoint) for x in free]
        carries = self.way.carries

        def backwards(part: Part) -> Body:
            own = {id(x): (x, x.adjoint) for x in (*part.made(self.tag), *part.used(self.tag))}

            def body(state: list[Any]) -> list[Any]:
                restore(own.values())  # as the body may run more than once
                arrived, contributions = (state[: len(ys)], state[len(ys) :]) if carries else (bars, [ZERO] * len(free))
                for x, adjoint in zip([*part.outs, *free], [*arrived, *contributions], strict=True):
                    x.adjoint = adjoint
                for operation in reversed(part.pending):
                    operation[0](operation)
                return [settle(x) for x in [*part.xs, *free]]

            return body

        state = [*bars, *[ZERO] * len(free)] if carries else []
        like = [y.primal for y in ys] * carries + [x.primal for x in free]
        answers = self.visited(list(map(backwards, self.parts)), state, free, like)
        restore([(x, ZERO) for x in made.values()])
        restore(before)
        for x, bar in zip([*ins, *free], answers, strict=True):
            if x is not None and bar is not ZERO:
                accumulate(x, bar)

    def visited(self, bodies: list[Body], state: list[Any], free: list[NumR], like: list[Any]) -> list[Any]:
        """The answers of the bodies of the way back. `free` are the numbers from outside that they add to."""
        return self._carried_out(self.way.back(), bodies, state, like, open_reverse_tags())


def restore(adjoints: Iterable[tuple[NumR, Any]]) -> None:
    """Give numbers adjoints that are kept, so that the kept adjoints stay as they are."""
    for x, adjoint in adjoints:
        x.adjoint, x.owns = adjoint.copied() if type(adjoint) is Held else adjoint, False


def in_reverse(
    way: ControlWay,
    bodies: Sequence[Body],
    state: list[Any],
    kinds: list[Kind],
    tag: Tag,
    at_level: Callable[..., list[Any]],
    carried_out: Callable[..., list[Any]],
) -> list[Any]:
    """Control on values of which some are numbers of this tag."""
    record = Record(way, tag, len(bodies), carried_out)
    way.records.add(record)
    active = [kind.tag is tag for kind in kinds]

    def lowered(body: Body, part: Part) -> Body:
        def body_below(values: list[Any]) -> list[Any]:
            xs = [NumR(x, ZERO, tag) if is_number else x for x, is_number in zip(values, active, strict=False)]
            with collecting(tag) as pending:
                outs = body(xs)
                outs = [handed_on(out, tag) if is_number else out for out, is_number in zip(outs, active, strict=True)]
            if writes_among(pending):
                way.trace.refuse("a loop or a branch writes to an array that is being differentiated")
            part.xs = [x for x, is_number in zip(xs, active, strict=False) if is_number]
            part.outs = [out for out, is_number in zip(outs, active, strict=True) if is_number]
            part.pending = pending
            return [out.primal if is_number else out for out, is_number in zip(outs, active, strict=True)]

        return body_below

    def below(x: Any) -> Any:
        return x.primal if type(x) is NumR and x.tag is tag else x

    kinds_below = [kind.parts[0] if is_number else kind for kind, is_number in zip(kinds, active, strict=True)]
    answers = at_level(way, list(map(lowered, bodies, record.parts)), list(map(below, state)), kinds_below)
    answers = [NumR(y, ZERO, tag) if is_number else y for y, is_number in zip(answers, active, strict=True)]
    ins = [
        x if type(x) is NumR and x.tag is tag else None
        for x, is_number in zip(state, active, strict=False)
        if is_number
    ]
    ys = [y for y, is_number in zip(answers, active, strict=True) if is_number]
    if ys or any(part.pending for part in record.parts):
        capture(tag, (pull_control, ys, record, ins))
    return answers


def handed_on(out: Any, tag: Tag) -> NumR:
    """A number of its own for a value that goes out, as the same number may go out twice, or have come in."""
    if not (type(out) is NumR and out.tag is tag):
        return NumR(out, ZERO, tag)
    y = NumR(out.primal, ZERO, tag)
    capture(tag, (pull_same, y, out))
    return y


def pull_same(operation: Operation) -> None:
    _, y, x = operation
    if (y_bar := settle(y)) is not ZERO:
        accumulate(x, y_bar)


def pull_control(operation: Operation) -> None:
    _, ys, record, ins = operation
    record.pull(ys, ins)


def pull_call(operation: Operation) -> None:
    _, ys, record, ins, frame = operation
    carried.any = True
    record.pull_call(ys, ins, frame)


def parts_in(operation: Operation) -> Iterator[Part]:
    """The parts of control, if an operation is control."""
    if operation[0] is pull_control:
        yield from operation[2].parts


def numbers_in(x: Any, tag: Tag) -> Iterator[NumR]:
    """The numbers of a tag in a part of an operation."""
    if type(x) is NumR:
        if x.tag is tag:
            yield x
    elif isinstance(x, list | tuple):
        for part in x:
            yield from numbers_in(part, tag)


def is_untouched(x: NumR) -> bool:
    """Whether nothing has been added to an adjoint."""
    return x.adjoint is ZERO or type(x.adjoint) in PLACES
