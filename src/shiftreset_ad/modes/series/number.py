"""`Series`: a number carries its Taylor coefficients along, and each operation computes them all.

For y(t) = function(x(t)), the coefficients y_0 to y_K follow from those of x, at the cost of products of polynomials
(Griewank and Walther 2008, chapter 13; Karczmarczuk, ICFP 1998). Linear functions take each coefficient by itself, and
common functions have recurrences. Any other function uses its derivative in the tables: y' = dy/dx x', so
y_k = (dy/dx x')_(k-1) / k.

For that, the rule computes dy/dx on series. It may need y itself, or functions whose own derivatives need y again, but
one coefficient less each time. So these series are lazy, as Karczmarczuk's are: their `rest` has the coefficients still
to come, one by one as they are asked for. A `memo` keeps everything that is computed from them, y itself included, so
that it is computed once. Without the memo, cos' = -sin and sin' = cos would go round in circles, and a derivative that
needs two functions of a kind would double the cost with each order. A lazy series lives as long as its operation; a
series that the program sees is complete.

Numbers nest by their tags: coefficients may be numbers of an older tag, and ordinary operators compute with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import count
from operator import add
from typing import Any, cast

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.modes.series.expansion import Expansion, WrittenWhileUnfinished
from shiftreset_ad.modes.series.views import mark_views, mirror
from shiftreset_ad.modes.tangents import conform
from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.linear_maps import by_linear_maps, is_linear_in_list
from shiftreset_ad.numbers.memory import put_all
from shiftreset_ad.numbers.number import (
    copied_part,
    in_memory,
    is_view,
    map_numbers,
    newest,
    numbers_in,
    one_level_below,
)
from shiftreset_ad.numbers.operands import is_inexact
from shiftreset_ad.numbers.tags import Tag, attended
from shiftreset_ad.rules import LinearMap, Structured
from shiftreset_ad.rules.annotations import Primal, Tangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.numpy.recurrences import Coefficients

# The lazy series y, with its value known -> y_1, y_2 and so on; the caller appends each of them to y.
Rest = Callable[["Series"], Iterator[Any]]

FLOATS = {float, float64}
PLAIN = {float, int, bool, str, type(None)}


class Series(ArrayNumber):
    """The `coefficients` of a value along a path, from its `primal` on; coefficients left out at the end are zero.

    A lazy series has the `memo` of the operation that it is computed for, and a `rest` of coefficients to come. For
    coefficient k, the rest needs the coefficients of each of its `sources` up to k.
    """

    __slots__ = ("coefficients", "has_views", "memo", "rest", "sources", "tag")
    has_views: bool  # if it is there, the array is a view, or there are views of it

    def __init__(
        self,
        coefficients: Coefficients,
        tag: Tag,
        rest: Iterator[Any] | None = None,
        sources: Sequence[Series] = (),
        memo: Memo | None = None,
    ) -> None:
        self.coefficients = coefficients
        self.tag = tag
        self.rest = rest
        self.sources = sources
        self.memo = memo

    @property
    def primal(self) -> Primal:
        """The value."""
        return self.coefficients[0]

    def reach(self, k: int) -> None:
        """Compute the coefficients up to `k`, or fewer if all others are zero."""
        coefficients = self.coefficients
        while len(coefficients) <= k and self.rest is not None:
            for x in self.sources:
                x.reach(len(coefficients))
            y_k = next(self.rest, None)
            if y_k is None:
                return
            if type(y_k) not in FLOATS or type(coefficients[0]) not in FLOATS:
                y_k = self._own(conform(y_k, coefficients[0]))
            coefficients.append(y_k)

    def _own(self, y_k: Any) -> Any:
        """A coefficient of a new value, copied if it shares memory with a coefficient of an operand."""
        k = len(self.coefficients)
        for x in self.sources:
            if x.has(k) and type(in_memory(y_k)) is ndarray and not is_view(self.primal, x.primal):
                x_k = x.coefficients[k]
                if y_k is x_k or is_view(y_k, x_k):
                    return +y_k
        return y_k

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any = None) -> Any:
        tag = self.tag
        tag.require_open()
        if is_linear_in_list(rule, args):
            return by_parts(tag, rule, *args, **kwargs)
        if rule.linear:
            return by_linear_maps(self, rule, args, kwargs, form)
        sources: list[Any] = [x for x in numbers_in([*args, *kwargs.values()]) if x.tag is tag]
        key = rule.function, identity((args, *kwargs.items()), tag)
        memo = memo_of(sources)
        if memo is not None and key in memo.known:
            return memo.known[key]
        carry_out = by_products if rule.multilinear else by_derivative
        return carry_out(tag, rule, args, kwargs, sources, key)

    @staticmethod
    def linearized(tag: Tag, answer: Primal, active: list[tuple[Any, LinearMap]]) -> Any:
        """The answer of a linear function: its maps take each coefficient by itself."""

        def rest(y: Series, place: int | None = None) -> Iterator[Any]:
            for k in count(1):
                parts = [linear_map.pushforward(x.coefficients[k]) for x, linear_map in active if x.has(k)]
                if not parts:
                    return
                yield reduce(add, parts if place is None else [part[place] for part in parts])

        viewed = [x for x, _ in active if x.memo is None and is_view(answer, x.primal)]
        for x in viewed:
            mark_views(x)
        made = series(tag, answer, rest, [x for x, _ in active])
        if viewed:
            made.has_views = True
        return made

    def has(self, k: int) -> bool:
        """Whether there is a coefficient `k`, after `reach(k)`."""
        return k < len(self.coefficients)

    def lifted(self, constant: Primal) -> Series:
        return Series([constant], self.tag)

    def taken(self, index: Any) -> Series:
        return Series([copied_part(x_k, index) for x_k in self.coefficients], self.tag)

    def write(self, index: Any, item: Any) -> None:
        """Write to all coefficients: every view of the first coefficient has the same view of the others."""
        self.tag.require_open()
        if self.memo is not None or (belongs(item, self.tag) and item.memo is not None):
            raise WrittenWhileUnfinished(self.tag)
        items = item.coefficients if belongs(item, self.tag) else [item]
        mirror(self, items)
        zeros = [0.0] * (len(self.coefficients) - len(items))
        put_all(self.tag, self.coefficients, index, [*items, *zeros])

    def __getitem__(self, index: Any) -> Any:
        if type(self.primal) is not ndarray or self.memo is not None:
            return super().__getitem__(index)
        self.tag.require_open()
        part = self.primal[index]
        viewing = is_view(part, self.primal)
        if viewing:
            mark_views(self)
        answer = Series([part, *(x_k[index] for x_k in self.coefficients[1:])], self.tag)
        if viewing:
            answer.has_views = True
        return answer


class Memo:
    """What one operation computes: all its series, which are lazy, and results `known` by function and operands."""

    __slots__ = ("known", "made")

    def __init__(self) -> None:
        self.made: list[Series] = []
        self.known: dict[Any, Any] = {}

    def make(self, tag: Tag, y: Any, rest: Rest, sources: Sequence[Series]) -> Any:
        """The lazy series with the value `y`; an integer `y` is a constant."""
        if type(y) not in FLOATS and not is_inexact(y):
            return y
        answer = Series([y], tag, None, sources, self)
        answer.rest = rest(answer)
        self.made.append(answer)
        return answer

    def complete(self, answers: Sequence[Any], order: int) -> None:
        """Compute the coefficients of `answers`, and end the operation."""
        try:
            for y in answers:
                if isinstance(y, Series):
                    y.reach(order)
        finally:
            for x in self.made:
                x.rest, x.sources, x.memo = None, (), None


def series(
    tag: Tag, answer: Any, rest: Callable[..., Iterator[Any]], sources: Sequence[Series], key: Any = None
) -> Any:
    """The series with the value `answer`, and the coefficients `rest(y)` after it; lazy if one of the `sources` is.

    If there are several answers, in a list or a tuple, each has the coefficients `rest(y, place)`. The memo keeps the
    series under `key`.
    """
    outer = memo_of(sources)
    memo = Memo() if outer is None else outer
    several = isinstance(answer, SEQUENCES)
    if several:
        made = type(answer)([memo.make(tag, y, partial(rest, place=i), sources) for i, y in enumerate(answer)])
    else:
        made = memo.make(tag, answer, rest, sources)
    memo.known[key] = made
    if outer is None:
        without_warnings(memo.complete, made if several else [made], cast(Expansion, tag).order)
        attended(made, tag)
    return made


def belongs(x: Any, tag: Tag) -> bool:
    """Whether `x` is a series of this call."""
    return type(x) is Series and x.tag is tag


# Lazy series


def unfinished(x: Series, memo: Memo | None = None) -> Series:
    """The same series, made lazy: everything computed from it is lazy, too."""
    return x if x.memo is not None else Series(x.coefficients, x.tag, None, (), memo or Memo())


def memo_of(sources: Sequence[Series]) -> Memo | None:
    """The memo of a lazy series among the `sources`, if there is one."""
    return next((x.memo for x in sources if x.memo is not None), None)


def identity(x: Any, tag: Tag) -> Any:
    """What tells an operand of an operation from others; anything that it does not know counts as different."""
    if belongs(x, tag):
        return id(x.coefficients)
    if type(x) is tuple or type(x) is list:
        return tuple(identity(part, tag) for part in x)
    return (type(x), repr(x)) if type(x) in PLAIN else object()


def rate(x: Series) -> Series:
    """The series of x', when x_1 is known; it is lazy, and every call returns the same series."""
    memo = x.memo or Memo()
    key = rate, identity(x, x.tag)
    if key not in memo.known:

        def rest() -> Iterator[Any]:
            for k in count(2):
                x.reach(k)
                if not x.has(k):
                    return
                yield k * x.coefficients[k]

        first = x.coefficients[1] if x.has(1) else conform(0.0, x.primal)
        memo.known[key] = Series([first], x.tag, rest(), (), memo)
        memo.made.append(memo.known[key])
    return cast(Series, memo.known[key])


def integrated(y_dot: Tangent, tag: Tag) -> Iterator[Any]:
    """The coefficients of y after the first, from y', which is a series of this call or a constant."""
    if not belongs(y_dot, tag):
        yield y_dot
        return
    for k in count(1):
        y_dot.reach(k - 1)
        if not y_dot.has(k - 1):
            return
        yield y_dot.coefficients[k - 1] / k


def coefficients_of(x: Series) -> Iterator[Any]:
    """The coefficients after the first, one after the other."""
    for k in count(1):
        x.reach(k)
        if not x.has(k):
            return
        yield x.coefficients[k]


def replaced(arg: Any, tag: Tag, function: Callable[[Any], Any]) -> Any:
    """An argument with `function` applied to each number of this tag in it."""
    return map_numbers(lambda x: function(x) if x.tag is tag else x, arg)


# Structured operations


def by_parts(tag: Tag, rule: Structured, parts: list[Any], *rest_of_args: Any, **kwargs: Any) -> Any:
    """An operation that is linear in a list: it takes the coefficients of each order by themselves, all together."""
    sources: list[Any] = [x for x in parts if belongs(x, tag)]

    def rest(y: Series) -> Iterator[Any]:
        for k in count(1):
            if not any(x.has(k) for x in sources):
                return
            coefficients = [x.coefficients[k] if belongs(x, tag) and x.has(k) else np.zeros(shape_of(x)) for x in parts]
            yield rule.function(coefficients, *rest_of_args, **kwargs)

    return series(tag, rule.function(one_level_below(parts, tag), *rest_of_args, **kwargs), rest, sources)


def by_products(
    tag: Tag, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], sources: Sequence[Series], key: Any
) -> Any:
    """A multilinear operation: y_k is the sum over all combinations of coefficients with indices that sum up to k."""

    def term(indices: Iterable[int]) -> Any:
        remaining = iter(indices)

        def coefficient(x: Series) -> Any:
            return x.coefficients[next(remaining)]

        return rule.function(
            *[replaced(arg, tag, coefficient) for arg in args],
            **{name: replaced(arg, tag, coefficient) for name, arg in kwargs.items()},
        )

    def rest(y: Series) -> Iterator[Any]:
        for k in count(1):
            terms = map(term, indices_with_sum(k, [len(x.coefficients) for x in sources]))
            y_k = next(terms, None)
            if y_k is None:
                return
            yield reduce(add, terms, y_k)

    return series(tag, term([0] * len(sources)), rest, sources, key)


def indices_with_sum(total: int, sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All tuples of indices, each below its size, with this sum."""
    if len(sizes) == 1:
        if total < sizes[0]:
            yield (total,)
        return
    for i in range(min(total + 1, sizes[0])):
        for others in indices_with_sum(total - i, sizes[1:]):
            yield (i, *others)


def by_derivative(
    tag: Tag, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], sources: Sequence[Series], key: Any
) -> Any:
    """Any operation, by its derivative y' along the path, which forward mode computes of x and x'."""
    answer, _ = rule.differentiate(
        *[one_level_below(arg, tag) for arg in args],
        **{name: one_level_below(arg, tag) for name, arg in kwargs.items()},
    )

    def derivative(memo: Memo | None) -> Any:
        inner = Tag.around([tag.level])

        def moving(x: Series) -> NumF:
            x = unfinished(x, memo)
            return NumF(x, rate(x), inner)

        moved = tuple(replaced(arg, tag, moving) for arg in args)
        moved_kwargs = {name: replaced(arg, tag, moving) for name, arg in kwargs.items()}
        return by_linear_maps(newest(numbers_in([*moved, *moved_kwargs.values()])), rule, moved, moved_kwargs)

    def rest(y: Series, place: int | None = None) -> Iterator[Any]:
        moving = derivative(y.memo)
        yield from integrated((moving if place is None else moving[place]).tangent, tag)

    return series(tag, answer, rest, sources, key)
