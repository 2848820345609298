"""Numbers that a function with rules of its own closes over, or that are in arguments without derivative.

The rules tell the derivative in the arguments, and the code of the function that in those numbers. Where they are of
the tag that the call belongs to, the two are added up. Where they are of a newer one, the rules have the call first,
without that tag, and what they make of it becomes the primal of what the code makes of it. Older ones are ordinary
values.

Numbers in globals and in attributes of objects are not found before they turn up in the value that a rule returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.memory import block_of, protect, require_last_value
from shiftreset_ad.numbers.number import Number, is_open, levels_of, newest, with_levels_of
from shiftreset_ad.numbers.tags import Tag, copying, open_tags
from shiftreset_ad.rules import LinearMap
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.transforms.directions import Linear

GIVEN = "is that of an argument of a function with a rule of its own, or of an array that it closes over"
IDENTITY = LinearMap(lambda x_dot: x_dot, lambda y_bar: y_bar)


class Level:
    """The level of a call, which has this tag."""

    __slots__ = ("_tags", "tag")

    def __init__(self, tag: Tag) -> None:
        self.tag = tag
        self._tags: list[Tag] | None = None

    def look_around(self) -> list[Tag]:
        """The tags of this level and those above that are open, when this is asked for first."""
        if self._tags is None:
            self._tags = [tag for tag in open_tags() if tag.serial >= self.tag.serial]
        return self._tags

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

    def constant(self, x: Any) -> Any:
        """`x` without its derivative, and those above, but a number of this level, which others can be written to."""
        x = self.at(x)
        return x.lifted(x.primal) if self.has(x) else x

    def like(self, given: Iterable[Any]) -> Linear:
        """What makes directions numbers of the open older levels of what a rule is `given`: it may write that to arrays
        that it makes of them.
        """
        older = [y for x in given if isinstance(x, Number) and isinstance(y := self.below(x), Number) and is_open(y)]
        if not older:
            return list
        last = newest(older).tag.serial

        def with_levels(direction: Any) -> Any:
            if direction is None or (isinstance(direction, Number) and direction.tag.serial >= last):
                return direction
            return with_levels_of(direction, *older)

        return lambda directions: list(map(with_levels, directions))

    def tags_from_here(self, leaves: Iterable[Any]) -> set[Tag]:
        """The tags of this level and those above, of all levels of these."""
        return {number.tag for x in leaves for number in levels_of(x) if number.tag.serial >= self.tag.serial}

    def run(self, given: list[Any], use: Callable[..., Any], *args: Any) -> Any:
        """Have rules run below this level, which is hidden from them. What they are `given` is not to be written to."""
        numbers = [x for x in given if isinstance(x, Number)]
        tag = self.tag
        if not numbers and not (tag.is_hidden or tag.copies_all):  # the usual case, for speed
            try:
                tag.is_hidden = tag.copies_all = True
                return use(*args)
            finally:
                tag.is_hidden = tag.copies_all = False
        hidden = [tag for tag in (self.look_around() if numbers else (tag,)) if not tag.is_hidden]
        protected = [x for x in numbers if id(block_of(x)) not in x.tag.protected]
        try:
            for tag in hidden:
                tag.is_hidden = True
            for x in protected:
                protect(x.tag, x, GIVEN)
            return copying(use, *args)
        finally:
            for tag in hidden:
                tag.is_hidden = False
            for x in protected:
                x.tag.protected.pop(id(block_of(x)), None)

    def tags_in_use(self, leaves: list[Any]) -> set[Tag]:
        """The tags of the numbers that a rule which returned these uses as constants, or may use on the way back."""
        return {self.tag, *self.tags_from_here(leaves)}

    def joined(self, y: Any, by_code: Any) -> Any:
        """`y`, by the rules, with the derivative at this level that the code gives in what it closes over, too."""
        by_code = self.at(by_code)
        if not self.has(by_code):
            return y
        answer = self.below(y)
        terms = [(term, IDENTITY) for term in (y, by_code) if self.has(term)]
        return by_code.linearized(self.tag, np.positive(answer) if shape_of(answer) else answer, terms)

    def over(self, y: Any, by_code: Any) -> Any:
        """`y` with the derivatives above this level, which are those of the number that the code makes."""
        if not (isinstance(by_code, Number) and by_code.tag.serial > self.tag.serial):
            return y
        return by_code.linearized(by_code.tag, self.over(y, by_code.primal), [(by_code, IDENTITY)])


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
            return [lowered(answer, tags) for answer in copying(linear, directions)]
        finally:
            for tag, capture in before:
                tag.capture = capture

    return with_those


def _not_kept(source: Any, operation: Any) -> None:
    """Capture an operation and forget it; EscapedNumberError if an operand has another value than it had."""
    for part in operation:
        for x in part if type(part) is list else (part,):
            operand = x[0] if type(x) is tuple else x
            if isinstance(operand, Number):
                require_last_value(operand)
