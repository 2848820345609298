"""The Taylor coefficients of a call with derivative rules of its own, from y' = rule(x, x') along the path.

The rules run once, on lazy series, which may need y itself (Griewank and Walther 2008, ch. 13). But memory has no place
for coefficients that are still to come. So if a rule writes to an array of them, it runs again, on complete series: of
y', one coefficient less is needed than of y; of a call inside, of the same function for example, one less again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from shiftreset_ad.boundary.arguments import all_of
from shiftreset_ad.boundary.results import own
from shiftreset_ad.modes.forward.push import push
from shiftreset_ad.modes.series.expansion import Expansion
from shiftreset_ad.modes.series.number import Series, integrated, rate, unfinished
from shiftreset_ad.numbers.number import Number, tags_of
from shiftreset_ad.rules.annotations import Primal, Tangent
from shiftreset_ad.transforms.custom.closures import Closure, Use
from shiftreset_ad.transforms.custom.levels import Level

Rest = Callable[[Series, int], Iterator[Any]]  # the coefficients of the answer at a place, from the second on


@dataclass(slots=True)
class Path:
    """The `numbers` in the arguments of a call, and the `leaves` of what it closes over, as series.

    `by_rules` gives the value and the tangents, and `by_code` the value by the function's own code.
    """

    name: str
    level: Level
    closure: Closure
    by_rules: Use
    by_code: Use
    numbers: list[Primal]
    leaves: list[Any]

    def lazy_rest(self) -> Rest:
        """The coefficients by one run on lazy series; WrittenWhileUnfinished if the run writes to a lazy series."""
        has, tag = self.level.has, self.level.tag

        @cache
        def rates(memo: Any) -> list[Tangent]:
            xs = [unfinished(x, memo) if has(x) else x for x in self.numbers]
            held = [unfinished(x, memo) if has(x) else x for x in self.leaves]
            held_dots = {i: rate(x) for i, x in enumerate(held) if has(x)}
            return self.rates(xs, [rate(x) if has(x) else None for x in xs], held, held_dots)

        def rest(y: Series, place: int) -> Iterator[Any]:
            y_dot = rates(y.memo)[place]
            if y_dot is not None:
                yield from integrated(y_dot, tag)

        return rest

    def complete_rest(self) -> Rest:
        """The coefficients by a run on complete series of one order less."""
        has = self.level.has
        self.level.look_around()  # before the tag of the shorter series is open
        tag = cast(Expansion, self.level.tag).shorter()

        def shorter(x: Any) -> Any:
            return Series(x.coefficients[: tag.order + 1], tag) if has(x) else x

        def rate_of(x: Any) -> Any:
            moves = has(x) and len(x.coefficients) > 1
            return Series([k * x_k for k, x_k in enumerate(x.coefficients) if k], tag) if moves else None

        xs, held = list(map(shorter, self.numbers)), list(map(shorter, self.leaves))
        held_dots = {i: x_dot for i, x in enumerate(self.leaves) if (x_dot := rate_of(x)) is not None}
        try:
            y_dots = self.level.run([*xs, *held], self.rates, xs, list(map(rate_of, self.numbers)), held, held_dots)
        finally:
            tag.finish()
        if any(self.level.tag in tags_of(y_dot) for y_dot in y_dots):
            raise not_found(self.name)

        def rest(y: Series, place: int) -> Iterator[Any]:
            if y_dots[place] is not None:
                yield from integrated(y_dots[place], tag)

        return rest

    def rates(
        self, xs: list[Primal], x_dots: list[Tangent], held: list[Any], held_dots: dict[int, Tangent]
    ) -> list[Tangent]:
        """The series of y': by the rules in the arguments, and by the code in `held`, which the function closes over.

        The leaves of `held` at the places of `held_dots` vary.
        """
        y_dots: list[Tangent] = self.closure.call(held, self.by_rules, xs, x_dots)[1]
        if not held_dots:
            return y_dots

        def code(*operands: Any) -> Any:
            leaves = list(held)
            for i, operand in zip(held_dots, operands[len(xs) :], strict=True):
                leaves[i] = operand
            return self.closure.call(leaves, self.by_code, list(operands[: len(xs)]))

        still = [own(None, x) if isinstance(x, Number) else None for x in xs]  # numbers: others are written to them
        operands = [*xs, *(held[i] for i in held_dots)]
        _, by_code, _ = push(self.name, code, all_of(self.name, operands), [*still, *held_dots.values()])
        return [b if a is None else a if b is None else a + b for a, b in zip(y_dots, by_code, strict=True)]


def not_found(name: str) -> TypeError:
    """The error for a number of a series that the rules use, but that was not found."""
    return TypeError(
        f"{name} uses a number of a Taylor series, or of a derivative inside the series, that was found neither in its "
        f"arguments nor in what it closes over: the number is in a global, for example, or in an attribute of an "
        f"object. Make it an argument of {name}"
    )
