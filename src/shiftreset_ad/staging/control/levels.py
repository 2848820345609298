"""Control on numbers: the newest tag is taken off first, until plain staged values are left, and a step is written.

A body takes what comes in, and returns what goes out, as lists of numbers. At each level a body is wrapped into a body
on the level below. For forward mode, stacks and series, the wrapped body takes the parts of the numbers. Reverse mode
has a rule of its own, in `reverse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from shiftreset_ad.modes.reverse.number import ReverseTag
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.staging.control.kinds import (
    PLAIN,
    Kind,
    Kinds,
    apart,
    joined,
    kind_of_adjoint,
    newest_in,
    together,
    zeros,
)
from shiftreset_ad.staging.control.reverse import in_reverse
from shiftreset_ad.staging.control.writing import Body, ControlWay
from shiftreset_ad.staging.steps.attempts import Attempts, Path


class _Grown(BaseException):
    """What a body hands on is of greater kinds than it was thought to be."""

    def __init__(self, kinds: Kinds) -> None:
        super().__init__()
        self.kinds = kinds


def carried_out(
    way: ControlWay, bodies: Sequence[Body], state: list[Any], like: Sequence[Any] = (), tags: Sequence[Tag] = ()
) -> list[Any]:
    """Write control down for bodies on numbers, and return its answers, which are numbers.

    `state` comes in. It may have adjoints that are ZERO; `like` then has a value in the shape of each adjoint. The
    bodies may leave something for the way back of each of these `tags`, even if no number of the tag comes in or out.
    """
    attempts = way.trace.attempts
    path, given = attempts.path(), [kind_of_adjoint(x) for x in (state if way.carries else [ZERO] * len(like))]
    known = attempts.found(path, given)
    kinds, is_first = [*(known or given)], known is None
    bodies = [_numbered(attempts, path, i, body) for i, body in enumerate(bodies)]
    while True:
        mark = way.trace.mark()
        try:
            answers = _of_kinds(way, bodies, state, kinds, like, tags, is_first)
        except _Grown as grown:
            way.trace.rewind(mark)
            kinds, is_first = grown.kinds, False
            continue
        if newest_in(kinds) <= attempts.newest:
            attempts.keep(path, given, kinds)
        return answers


def _numbered(attempts: Attempts, path: Path, number: int, body: Body) -> Body:
    """A body of the control with this path. Control in it has paths of its own."""

    def within(xs: list[Any]) -> list[Any]:
        with attempts.within(path, number):
            return body(xs)

    return within


def _of_kinds(
    way: ControlWay,
    bodies: Sequence[Body],
    state: list[Any],
    kinds: Kinds,
    like: Sequence[Any],
    tags: Sequence[Tag],
    is_first: bool,
) -> list[Any]:
    # A branch tells its kinds first. If they are plain, nothing is lowered, and the branch need not run again. Branches
    # in branches would run again and again.
    asks = is_first and not way.carries and not tags

    def there() -> list[int]:
        return [i for i, kind in enumerate(kinds) if kind is not None]

    def filled(xs: list[Any]) -> list[Any]:
        """All values, given those that are there."""
        whole = [ZERO] * len(kinds)
        for i, x in zip(there(), xs, strict=True):
            whole[i] = x
        return whole

    def reduced(xs: list[Any]) -> list[Any]:
        """The values that are there."""
        return [zeros(like[i]) if xs[i] is ZERO else xs[i] for i in there()]

    def checked(body: Body) -> Body:
        def with_check(xs: list[Any]) -> list[Any]:
            nonlocal asks
            outs = body(filled(xs) if way.carries else [])
            found = [kind_of_adjoint(out) for out in outs]
            if asks and all(kind is None or kind == PLAIN for kind in found):
                kinds[:] = found
            asks = False
            grown = found if len(found) != len(kinds) else list(map(joined, kinds, found))
            if grown != kinds:
                raise _Grown(grown)
            return reduced(outs)

        return with_check

    known = [kind for kind in kinds if kind is not None]
    return filled(at_level(way, list(map(checked, bodies)), reduced(state) if way.carries else [], known, tags))


def at_level(
    way: ControlWay, bodies: Sequence[Body], state: list[Any], kinds: list[Kind], tags: Sequence[Tag]
) -> list[Any]:
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
    way: ControlWay, bodies: Sequence[Body], state: list[Any], kinds: list[Kind], tag: Tag, tags: Sequence[Tag]
) -> list[Any]:
    """Control on the parts of the numbers of this tag."""

    def lowered(body: Body) -> Body:
        def body_below(parts: list[Any]) -> list[Any]:
            return apart(body(together(parts, kinds, tag) if way.carries else []), kinds, tag)

        return body_below

    below = [part for kind in kinds for part in (kind.parts if kind.tag is tag else (kind,))]
    parts = apart(state, kinds, tag) if way.carries else []
    return together(at_level(way, list(map(lowered, bodies)), parts, below, tags), kinds, tag)
