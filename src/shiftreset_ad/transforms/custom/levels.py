"""Numbers that a function with rules of its own closes over, or that are in arguments without derivative.

They turn up in the value that a rule returns. The rules tell the derivative in the arguments, and the code of the
function that in those numbers. Where they are of the tag that the call belongs to, the two are added up. Where they are
of a newer one, the rules have the call first, without that tag, and what they make of it becomes the primal of what the
code makes of it. Older ones are ordinary values.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.number import Number, levels_of
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import LinearMap
from shiftreset_ad.transforms.directions import Linear

IDENTITY = LinearMap(lambda x_dot: x_dot, lambda y_bar: y_bar)


class Level:
    """The level of a call, which has this tag."""

    __slots__ = ("tag",)

    def __init__(self, tag: Tag) -> None:
        self.tag = tag

    def has(self, x: Any) -> bool:
        """Whether `x` is a number of this level."""
        return isinstance(x, Number) and x.tag is self.tag

    def at(self, x: Any) -> Any:
        """`x` without the levels above this one."""
        while isinstance(x, Number) and x.tag.serial > self.tag.serial:
            x = x.primal
        return x

    def below(self, x: Any) -> Any:
        """`x` without this level and those above, as the rules get it."""
        x = self.at(x)
        return x.primal if self.has(x) else x

    def newer_tags(self, leaves: list[Any]) -> set[Tag]:
        """The tags above this level, of all levels of these."""
        return {number.tag for x in leaves for number in levels_of(x) if number.tag.serial > self.tag.serial}

    def tags_in_use(self, leaves: list[Any]) -> set[Tag]:
        """The tags of the numbers that a rule which returned these uses as constants, or may use on the way back."""
        return {self.tag, *self.newer_tags(leaves)}

    def joined(self, y: Any, in_value: Any, by_code: Any) -> Any:
        """`y`, by the rules, with the derivatives of what is closed over: at this level those of the number that is
        `in_value`, above it those of the number that the code makes.
        """
        closed_over = self.at(in_value)
        if self.has(closed_over):
            terms = [(term, IDENTITY) for term in (y, closed_over) if self.has(term)]
            y = closed_over.linearized(self.tag, closed_over.primal, terms)
        return self._over(y, by_code)

    def _over(self, y: Any, by_code: Any) -> Any:
        if not (isinstance(by_code, Number) and by_code.tag.serial > self.tag.serial):
            return y
        return by_code.linearized(by_code.tag, self._over(y, by_code.primal), [(by_code, IDENTITY)])


def lowered(derivative: Any, tags: Collection[Tag]) -> Any:
    """A tangent or cotangent without the levels of these tags, of which numbers went into it as constants."""
    if type(derivative) is Stack:
        return Stack(lowered(derivative.rows, tags), derivative.tag)
    return lowered(derivative.primal, tags) if isinstance(derivative, Number) and derivative.tag in tags else derivative


def with_constants(tags: Collection[Tag], linear: Linear) -> Linear:
    """`linear`, to which numbers of these tags are constants, although their derivatives have finished.

    On the way back from a call, the numbers that its rules close over have the values that they had there.
    """

    def with_those(directions: list[Any]) -> list[Any]:
        before = [(tag, tag.capture) for tag in tags]
        try:
            for tag in tags:
                tag.capture = _not_kept
            return [lowered(answer, tags) for answer in linear(directions)]
        finally:
            for tag, capture in before:
                tag.capture = capture

    return with_those


def _not_kept(source: Any, operation: Any) -> None:
    """Capture an operation and forget it."""
