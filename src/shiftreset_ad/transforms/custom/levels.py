"""Numbers that a function with rules of its own closes over, or that are in arguments without derivative.

The rules give the derivative in the arguments; the code of the function gives the derivative in these numbers. If the
numbers have the tag that the call belongs to, the two derivatives are added up. If their tag is newer, the rules are
called first, one level down; their answer becomes the primal of the code's answer. Numbers of older tags are ordinary
values.

Numbers in globals and in attributes of objects are found only when they turn up in the value that a rule returns.
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
from shiftreset_ad.rules.annotations import Direction, Primal
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.transforms.directions import Linear

GIVEN = "belongs to an argument of a function with a rule of its own, or to an array that the function closes over"
IDENTITY = LinearMap(lambda x_dot: x_dot, lambda y_bar: y_bar)


class Level:
    """The level of a call, that of its tag."""

    __slots__ = ("_tags", "tag")

    def __init__(self, tag: Tag) -> None:
        self.tag = tag
        self._tags: list[Tag] | None = None

    def look_around(self) -> list[Tag]:
        """The open tags of this level and of the levels above, as they were at the first call."""
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
        """`x` without this level and the levels above, as the rules get it."""
        if not isinstance(x, Number):  # the usual case for what rules return, for speed
            return x
        x = self.at(x)
        return x.primal if self.has(x) else x

    def constant(self, x: Any) -> Any:
        """`x` with the derivative zero at this level, and none above: numbers of this level can be written to it."""
        x = self.at(x)
        return x.lifted(x.primal) if self.has(x) else x

    def like(self, given: Iterable[Any]) -> Linear:
        """The function that makes directions numbers of the open older levels of what a rule is `given`: the rule may
        write what it is given to arrays that it makes of the directions.
        """
        older = [y for x in given if isinstance(x, Number) and isinstance(y := self.below(x), Number) and is_open(y)]
        if not older:
            return list
        last = newest(older).tag.serial

        def with_levels(direction: Direction) -> Direction:
            if direction is None or (isinstance(direction, Number) and direction.tag.serial >= last):
                return direction
            return with_levels_of(direction, *older)

        return lambda directions: list(map(with_levels, directions))

    def tags_from_here(self, leaves: Iterable[Any]) -> set[Tag]:
        """The tags in these leaves that are of this level or of levels above."""
        numbers = [x for x in leaves if isinstance(x, Number)]
        if not numbers:
            return set()
        return {number.tag for x in numbers for number in levels_of(x) if number.tag.serial >= self.tag.serial}

    def run(self, given: list[Any], use: Callable[..., Any], *args: Any) -> Any:
        """Run rules below this level, which is hidden from them. They may not write to what they are `given`."""
        numbers = [x for x in given if isinstance(x, Number)]
        tag = self.tag
        if not numbers and not (tag.is_hidden or tag.copies_all):  # the usual case, for speed
            try:
                tag.is_hidden = tag.copies_all = True
                return use(*args)
            finally:
                tag.is_hidden = tag.copies_all = False
        hidden = [tag for tag in (self.look_around() if numbers else (tag,)) if not tag.is_hidden]
        try:
            for tag in hidden:
                tag.is_hidden = True
            return copying(protecting, numbers, use, *args)
        finally:
            for tag in hidden:
                tag.is_hidden = False

    def tags_in_use(self, leaves: list[Any]) -> set[Tag]:
        """The tags of numbers that a rule uses as constants, or may use on the way back; it returned these leaves."""
        return {self.tag, *self.tags_from_here(leaves)}

    def joined(self, y: Primal, by_code: Primal) -> Primal:
        """`y` of the rules, plus the derivative at this level that the code gives in what it closes over."""
        by_code = self.at(by_code)
        if not self.has(by_code):
            return y
        answer = self.below(y)
        terms = [(term, IDENTITY) for term in (y, by_code) if self.has(term)]
        return by_code.linearized(self.tag, np.positive(answer) if shape_of(answer) else answer, terms)

    def over(self, y: Primal, by_code: Primal) -> Primal:
        """`y` with derivatives above this level: those of the number that the code makes."""
        if not (isinstance(by_code, Number) and by_code.tag.serial > self.tag.serial):
            return y
        return by_code.linearized(by_code.tag, self.over(y, by_code.primal), [(by_code, IDENTITY)])


def protecting(given: Iterable[Any], use: Callable[..., Any], *args: Any) -> Any:
    """Run rules that must not write to the numbers that they are `given`."""
    protected = [x for x in given if isinstance(x, Number) and id(block_of(x)) not in x.tag.protected]
    try:
        for x in protected:
            protect(x.tag, x, GIVEN)
        return use(*args)
    finally:
        for x in protected:
            x.tag.protected.pop(id(block_of(x)), None)


def lowered(derivative: Direction, tags: Collection[Tag]) -> Direction:
    """A tangent or cotangent without the levels of these tags, whose numbers went into it as constants."""
    if isinstance(derivative, Stack):
        return Stack(lowered(derivative.rows, tags), derivative.tag)
    return lowered(derivative.primal, tags) if isinstance(derivative, Number) and derivative.tag in tags else derivative


def with_constants(tags: Collection[Tag], linear: Linear) -> Linear:
    """`linear`, with the numbers of these tags as constants, although their derivatives have finished.

    On the way back from a call, the numbers that its rules close over have the values that they had in the call.
    """
    for tag in tags:
        tag.is_read_later = True

    def with_those(directions: list[Direction]) -> list[Direction]:
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
