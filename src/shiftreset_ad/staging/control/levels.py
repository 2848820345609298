"""Control on numbers: the newest tag is taken off first, until plain staged values are left, and a step is written.

A body takes what comes in, and returns what goes out, as lists of numbers. At each level a body is wrapped into a body
on the level below. For forward mode, stacks and series, the wrapped body takes the parts of the numbers. Reverse mode
has a rule of its own, in `reverse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from shiftreset_ad.modes.reverse.number import ReverseTag
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.staging.control.kinds import Kind, join, kind_of, parts_as, with_parts, zeros
from shiftreset_ad.staging.control.reverse import in_reverse
from shiftreset_ad.staging.control.writing import Body, Way

Kinds = list[Kind | None]  # None is the kind of an adjoint that nothing has been added to


class _Grown(BaseException):
    """What a body hands on is of greater kinds than it was thought to be."""

    def __init__(self, kinds: Kinds) -> None:
        super().__init__()
        self.kinds = kinds


def carried_out(
    way: Way, bodies: Sequence[Body], state: list[Any], like: Sequence[Any] = (), tags: Sequence[Tag] = ()
) -> list[Any]:
    """Write control down for bodies on numbers, and return its answers, which are numbers.

    `state` comes in. It may have adjoints that are ZERO; `like` then has a value in the shape of each adjoint. The
    bodies may leave something for the way back of each of these `tags`, even if no number of the tag comes in or out.
    """
    kinds = [_kind(x) for x in (state if way.carries else [ZERO] * len(like))]
    while True:
        mark = way.trace.mark()
        try:
            return _of_kinds(way, bodies, state, kinds, like, tags)
        except _Grown as grown:
            way.trace.rewind(mark)
            kinds = grown.kinds


def _of_kinds(
    way: Way, bodies: Sequence[Body], state: list[Any], kinds: Kinds, like: Sequence[Any], tags: Sequence[Tag]
) -> list[Any]:
    there = [i for i, kind in enumerate(kinds) if kind is not None]

    def filled(xs: list[Any]) -> list[Any]:
        """All values, given those that are there."""
        whole = [ZERO] * len(kinds)
        for i, x in zip(there, xs, strict=True):
            whole[i] = x
        return whole

    def reduced(xs: list[Any]) -> list[Any]:
        """The values that are there."""
        return [zeros(like[i]) if xs[i] is ZERO else xs[i] for i in there]

    def checked(body: Body) -> Body:
        def with_check(xs: list[Any]) -> list[Any]:
            outs = body(filled(xs) if way.carries else [])
            found = [_kind(out) for out in outs]
            grown = found if len(found) != len(kinds) else list(map(_joined, kinds, found))
            if grown != kinds:
                raise _Grown(grown)
            return reduced(outs)

        return with_check

    known = [kind for kind in kinds if kind is not None]
    return filled(at_level(way, list(map(checked, bodies)), reduced(state) if way.carries else [], known, tags))


def _kind(x: Any) -> Kind | None:
    return None if x is ZERO else kind_of(x)


def _joined(a: Kind | None, b: Kind | None) -> Kind | None:
    return join(a, b) if a is not None and b is not None else a if b is None else b


def at_level(way: Way, bodies: Sequence[Body], state: list[Any], kinds: list[Kind], tags: Sequence[Tag]) -> list[Any]:
    """Control on values of these kinds, and on operations of these tags. What goes out can be lifted to the kinds."""
    levels = [*tags, *[kind.tag for kind in kinds if kind.tag is not None]]
    if not levels:
        return way.write(bodies, state)
    tag = max(levels, key=lambda tag: tag.serial)
    below = [other for other in tags if other is not tag]
    if type(tag) is ReverseTag:
        return in_reverse(way, bodies, state, kinds, tag, partial(at_level, tags=below), carried_out)
    return _by_parts(way, bodies, state, kinds, tag, below)


def _by_parts(
    way: Way, bodies: Sequence[Body], state: list[Any], kinds: list[Kind], tag: Tag, tags: Sequence[Tag]
) -> list[Any]:
    """Control on the parts of the numbers of this tag."""

    def apart(xs: list[Any]) -> list[Any]:
        return [part for x, kind in zip(xs, kinds, strict=True) for part in _parts(x, kind, tag)]

    ends = list(accumulate(len(kind.parts) if kind.tag is tag else 1 for kind in kinds))

    def together(parts: list[Any]) -> list[Any]:
        pieces = [parts[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        return [
            with_parts(kind, piece) if kind.tag is tag else piece[0] for kind, piece in zip(kinds, pieces, strict=True)
        ]

    def lowered(body: Body) -> Body:
        return lambda parts: apart(body(together(parts) if way.carries else []))

    below = [part for kind in kinds for part in (kind.parts if kind.tag is tag else (kind,))]
    return together(at_level(way, list(map(lowered, bodies)), apart(state) if way.carries else [], below, tags))


def _parts(x: Any, kind: Kind, tag: Tag) -> list[Any]:
    return parts_as(x, kind) if kind.tag is tag else [x]
