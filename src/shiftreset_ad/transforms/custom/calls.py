"""A call of a function with derivative rules of its own: how reverse mode, forward mode and Taylor series use them.

The call belongs to the newest tag among its differentiable arguments. The rules get the arguments one level below, so
all older tags differentiate their code: a rule has the derivatives of any order that its code has. A mode without a
rule uses the transpose of the other mode's rule. `levels` has the numbers that are not arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.closed_over import is_holder
from shiftreset_ad.boundary.notes import CallSite, call_site
from shiftreset_ad.boundary.results import own
from shiftreset_ad.modes.forward.number import NumF, number
from shiftreset_ad.modes.reverse.answers import jointly
from shiftreset_ad.modes.reverse.kept import frozen
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.modes.series.expansion import WrittenWhileUnfinished
from shiftreset_ad.modes.series.number import Series, identity, memo_of, series
from shiftreset_ad.numbers.memory import block_of, protect, protect_shared
from shiftreset_ad.numbers.number import Number, levels_of, newest, plain_value
from shiftreset_ad.numbers.plain_arrays import read_only
from shiftreset_ad.numbers.tags import Tag, attended
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.rules.stand_ins import recorder
from shiftreset_ad.transforms.custom.closures import Closure, Use, functions_with
from shiftreset_ad.transforms.custom.levels import Level, lowered, protecting, with_constants
from shiftreset_ad.transforms.custom.paths import Path, not_found
from shiftreset_ad.transforms.custom.rules import Application, Residuals, copied, name_of
from shiftreset_ad.transforms.custom.transposition import NoValue, UnknownDirection, transpose
from shiftreset_ad.transforms.directions import Linear


def call(application: Application) -> Any:
    """The value of the function of an application, with the derivative that its rules give."""
    recorder.note(application.rules.name)
    numbers = [x for x in application.numbers if isinstance(x, Number)]
    mode = MODES.get(type(newest(numbers))) if numbers else None
    if mode is None:
        return application.function.code(*application.args)
    application.rules.require()
    return mode(RuledCall(application, newest(numbers).tag))


class RuledCall:
    """One call, at the level that it belongs to."""

    __slots__ = ("application", "closure", "level", "name", "numbers", "site", "tag")

    def __init__(self, application: Application, tag: Any) -> None:
        self.application = application
        self.name = application.rules.name
        self.numbers = application.numbers
        self.tag = tag
        self.site: CallSite | None = None
        self.level = Level(tag)
        self.closure = Closure(application)

    # The modes

    def in_reverse(self) -> Any:
        """One operation, with an answer for each number in the value, and an operand for each active argument."""
        application = self.application
        self.site = call_site(self.name, sys._getframe(1))
        application.constants = [self.kept(constant) for constant in application.constants]
        places = [i for i, x in enumerate(self.numbers) if self.level.has(x)]
        answers, pull, push = (self.by_bwd if application.rules.bwd is not None else self.by_transposed_jvp)(places)
        if not answers.numbers:
            return answers.with_numbers([])

        def pullback(y_bars: list[Any]) -> list[Any]:
            recording = recording_of(y_bars, self.tag)
            return pull(y_bars) if recording is None else self.recorded(recording, push, y_bars, places)

        operands = [self.numbers[i] for i in places]
        self.settle(answers)
        ys = jointly(self.tag, list(map(self.level.below, answers.numbers)), operands, pullback, self.site)
        return self.with_closure(answers, ys)

    def in_forward(self) -> Any:
        """The value and its tangent."""
        self.tag.require_open()
        x_dots = [copied(x.tangent) if self.level.has(x) else None for x in self.numbers]
        x_dots = self.as_given()(x_dots)
        answers, y_dots = self.now(self.push, list(map(self.level.below, self.numbers)), x_dots)
        if carried.any:
            carried.after_rule(x_dots, y_dots)
        constants = self.level.tags_in_use(y_dots)
        self.settle(answers)
        ys = []
        for y, y_dot in zip(map(self.level.below, answers.numbers), y_dots, strict=True):
            ys.append(y if y_dot is None else number(y, lowered(y_dot, constants), self.tag))
        return self.with_closure(answers, attended(ys, self.tag))

    def in_series(self) -> Any:
        """The value, and then the coefficients of y' = rule(x, x'), one by one (Griewank and Walther 2008, ch. 13)."""
        self.tag.require_open()
        answers = self.now(Application.value, list(map(self.level.below, self.numbers)))
        if any(self.level.below(y) is not y for y in answers.numbers):
            raise not_found(self.name)
        leaves = list(map(self.level.at, self.closure.leaves))
        self.settle(answers)
        sources: list[Any] = list(filter(self.level.has, [*self.numbers, *leaves]))
        operands, structure = trees.flatten(list(self.application.args))
        key = self.application.function.identity, structure, identity([*operands, *leaves], self.tag)
        memo = memo_of(sources)
        known = None if memo is None else memo.known.get(key)
        if known is not None:
            return self.with_closure(answers, known, of_this_level=False)
        path = Path(self.name, self.level, self.closure, self.push, Application.by_code, self.numbers, leaves)
        try:
            ys = series(self.tag, answers.numbers, path.lazy_rest(), sources, key)
        except WrittenWhileUnfinished as error:
            if memo is not None or error.tag is not self.tag:
                raise
            ys = series(self.tag, answers.numbers, path.complete_rest(), sources, key)
        return self.with_closure(answers, ys, of_this_level=False)

    # The uses of the rules

    def now(self, use: Use, numbers: list[Any], *args: Any) -> Any:
        """Use the rules in the call, with these numbers from below its level."""
        leaves = self.closure.below(self.level)
        return self.level.run([*numbers, *leaves], self.closure.call, leaves, use, numbers, *args)

    def later(self, given: list[Any]) -> Use:
        """The function that uses the rules after the call, with what they close over as it is now. They must not write
        to what they are `given` then.
        """
        leaves = self.closure.later(self.level)

        def used_later(use: Use, *args: Any) -> Any:
            now = leaves()
            return protecting([*given, *now], self.closure.call, now, use, *args)

        return used_later

    def as_given(self) -> Linear:
        """The function that makes directions numbers of the levels of what the rules are given."""
        return self.level.like([*self.numbers, *self.closure.leaves])

    def settle(self, answers: trees.Parts) -> None:
        """Forbid to write to answers that share memory with what the function was given. Copy arrays that the rule may
        write to later, as a rule may use one array for all its answers.
        """
        given = [*self.numbers, *(x for x in self.closure.leaves if isinstance(x, Number))]
        protect_shared(self.tag, answers.numbers, given)
        if any(type(y) is ndarray for y in answers.numbers):
            known = {id(x) for x in map(self.level.below, given)}
            answers.numbers = [y if id(y) in known else self.own_copy(y) for y in answers.numbers]

    def own_copy(self, y: Any) -> Any:
        """A copy of an array. If nobody may write to `y`, nobody may write to the copy."""
        if type(y) is not ndarray:
            return y
        copy = y.copy("K")
        if (known := self.tag.protected.get(id(block_of(y)))) is not None:
            protect(self.tag, copy, known[1])
        return copy

    # The rules of the mode, or the transposed rules of the other mode

    def push(self, application: Application, numbers: list[Any], x_dots: list[Any]) -> tuple[trees.Parts, list[Any]]:
        """The value for these numbers, and the tangents of the numbers in it, None for zero."""
        if application.rules.jvp is not None:
            return application.jvp(numbers, x_dots)
        answers, residuals = application.fwd(numbers)
        if not answers.numbers:
            return answers, []
        residuals.leaves = list(map(read_only, residuals.leaves))
        return answers, self.transposed(partial(application.bwd, answers, residuals), answers)(x_dots)

    def by_bwd(self, places: list[int]) -> tuple[trees.Parts, Linear, Linear]:
        """The value; the function from its cotangents to the cotangents of the numbers at these places; and the
        function from the tangents of all numbers to the tangents of the value.
        """
        numbers = list(map(self.level.below, self.numbers))
        answers, residuals = self.now(Application.fwd, numbers)
        finished = self.level.tags_in_use(answers.numbers)
        outline = answers.outline()
        self.keep(residuals)
        kept = list(map(self.kept, numbers)) if self.application.rules.jvp is not None else []
        later = self.later([*residuals.leaves, *kept])
        bwd = with_constants(finished, partial(later, Application.bwd, outline, residuals))

        as_given = self.as_given()

        def pull(y_bars: list[Any]) -> list[Any]:
            if carried.any:
                carried.before_rule(y_bars)
            x_bars = bwd(as_given(y_bars))
            if carried.any:
                carried.after_rule(y_bars, x_bars)
            return [x_bars[i] for i in places]

        if self.application.rules.jvp is not None:
            return answers, pull, with_constants(finished, partial(self.pushed, later, kept))
        transposed: list[Linear] = []  # made when it is first asked for

        def push(x_dots: list[Any]) -> list[Any]:
            if not transposed:
                transposed.append(self.transposed(bwd, outline))
            return transposed[0](x_dots)

        return answers, pull, with_constants(finished, push)

    def pushed(self, later: Use, numbers: list[Any], x_dots: list[Any]) -> list[Any]:
        """The tangents alone."""
        y_dots: list[Any] = later(self.push, numbers, x_dots)[1]
        return y_dots

    def transposed(self, bwd: Linear, answers: trees.Parts) -> Linear:
        """The function from tangents to tangents of the value."""
        name = name_of(self.application.rules.bwd)
        return transpose(
            f"{self.name}: {name}",
            bwd,
            answers.numbers,
            f"Forward mode of {self.name} is derived from {name}, as a linear function of the cotangent; if it is "
            f"not linear, give the rule for forward mode too, by {self.name}.defjvp(rule)",
        )

    def by_transposed_jvp(self, places: list[int]) -> tuple[trees.Parts, Linear, Linear]:
        """As `by_bwd`, but from the rule for forward mode."""
        numbers = list(map(self.level.below, self.numbers))
        self.level.look_around()
        jvp = name_of(self.application.rules.jvp)
        answers: Any = None

        def along(directions: list[Any]) -> list[Any]:
            nonlocal answers
            recording = directions[0].tag
            recording.copies_all = True  # the rule may write to arrays that it has made, though this recording runs
            y_dots: list[Any]
            answers, y_dots = self.now(Application.jvp, numbers, spread(directions, places, len(numbers)))
            if any(type(level) is UnknownDirection for y in answers.numbers for level in levels_of(y)):
                raise TypeError(f"{self.name}: the value that {jvp} returned depends on the tangents")
            # What `zeros` has made is a number of the transposition, and does not depend on the tangents.
            values = [np.positive(y.primal) if is_of(y, recording) else y for y in answers.numbers]
            answers = trees.Parts(answers.with_numbers(values))
            return y_dots

        pull = transpose(
            f"{self.name}: {jvp}",
            along,
            [numbers[i] for i in places],
            f"Reverse mode of {self.name} is derived from {jvp}, as a linear function of the tangents; if it is "
            f"not linear, give the rule for reverse mode too, by {self.name}.defvjp(fwd, bwd)",
        )
        finished = self.level.tags_in_use(answers.numbers)
        kept = list(map(self.kept, numbers))
        push = partial(self.pushed, self.later(kept), kept)
        return answers, with_constants(finished, pull), with_constants(finished, push)

    def recorded(self, recording: Tag, push: Linear, y_bars: list[Any], places: list[int]) -> list[Any]:
        """The cotangents at these places, on a way back that is recorded in order to be transposed: its transpose is
        `push`, the derivative along a direction.
        """
        operands = [j for j, y_bar in enumerate(y_bars) if type(y_bar) is NumR and y_bar.tag is recording]

        def push_at_places(directions: list[Any]) -> list[Any]:
            y_dots = push(spread(directions, places, len(self.numbers)))
            return [y_dots[j] for j in operands]

        zeros = [own(None, self.level.below(self.numbers[i])) for i in places]
        return jointly(recording, zeros, [y_bars[j] for j in operands], push_at_places, self.site)

    def kept(self, x: Any) -> Any:
        """`x` as `bwd` needs it: an array as it is now, and read-only, as it may be needed again."""
        return read_only(frozen(x, self.tag)) if type(x) is ndarray or isinstance(x, Number) else x

    def keep(self, residuals: Residuals) -> None:
        """Make the residuals what `bwd` needs."""
        residuals.leaves = [
            functions_with(leaf, self.kept_below) if is_holder(leaf) else self.kept_below(leaf)
            for leaf in residuals.leaves
        ]
        self.closure.add_residuals(residuals.leaves)

    def kept_below(self, x: Any) -> Any:
        """`x` as `bwd` needs it, one level below."""
        return self.kept(self.level.below(x))

    def with_closure(self, answers: trees.Parts, ys: list[Any], of_this_level: bool = True) -> Any:
        """The value, with the numbers `ys` of the rules, and the derivatives in what the function closes over."""
        tags = self.level.tags_from_here([*self.closure.leaves, *answers.numbers])
        if of_this_level and self.tag in tags:
            by_code = self.numbers_by_code(map(self.level.constant, self.numbers), len(ys))
            ys = list(map(self.level.joined, ys, by_code))
        if tags - {self.tag}:
            ys = list(map(self.level.over, ys, self.numbers_by_code(self.numbers, len(ys))))
        return answers.with_numbers(ys)

    def numbers_by_code(self, numbers: Iterable[Any], count: int) -> list[Any]:
        """The numbers in the value that the function's own code gives for these `numbers`."""
        found = trees.Parts(self.application.by_code(list(numbers))).numbers
        if len(found) != count:
            raise TypeError(f"{self.name} returned {len(found)} floating-point numbers, and its rule {count}")
        return found


MODES: dict[type, Callable[[RuledCall], Any]] = {
    NumR: RuledCall.in_reverse,
    NumF: RuledCall.in_forward,
    Series: RuledCall.in_series,
}


def recording_of(y_bars: list[Any], tag: Tag) -> Tag | None:
    """The tag of these cotangents, if they are zeros of a recording newer than this `tag`.

    Such zeros stand for any cotangents: a way back is linear, so it is recorded at zero, and then transposed. `bwd`
    must not run at zero, where it may do something else, such as ending an iteration before its first step.
    """
    tags = [y_bar.tag for y_bar in y_bars if type(y_bar) is NumR and y_bar.tag.serial > tag.serial]
    last = max(tags, key=lambda tag: tag.serial, default=None)
    return last if last is not None and last.recorded and all(map(is_known_zero, y_bars)) else None


def is_of(x: Any, tag: Tag) -> bool:
    """Whether `x` is a number with this tag."""
    return isinstance(x, Number) and x.tag is tag


def is_known_zero(y_bar: Any) -> bool:
    """Whether a cotangent has a value, and the value is zero."""
    found = plain_value(y_bar)
    return type(found) is not NoValue and not np.any(found)


def spread(directions: list[Any], places: list[int], total: int) -> list[Any]:
    """A list with the directions at these places, and None, for zero, elsewhere."""
    found: list[Any] = [None] * total
    for place, direction in zip(places, directions, strict=True):
        found[place] = direction
    return found
