"""The elementwise operations on `Series`: by recurrences, by products, or by partial derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import count, islice
from operator import add
from typing import Any, cast

import numpy as np

from shiftreset_ad.modes.series.expansion import Expansion
from shiftreset_ad.modes.series.number import (
    FLOATS,
    Series,
    belongs,
    coefficients_of,
    identity,
    memo_of,
    series,
    unfinished,
)
from shiftreset_ad.numbers.number import newest, plain_value
from shiftreset_ad.numbers.operands import as_operand, with_parts_gathered
from shiftreset_ad.numbers.partials import ieee, times
from shiftreset_ad.numbers.tags import Tag, attended
from shiftreset_ad.rules import Elementwise
from shiftreset_ad.rules.numpy.elementwise import as_base
from shiftreset_ad.rules.numpy.recurrences import (
    RECURRENCES,
    Coefficients,
    Recurrence,
    convolution,
    exponential,
    extend_rate,
)
from shiftreset_ad.rules.numpy.recurrences import power as power_recurrence

# `(tag, y, operands)` -> y_1, y_2 and so on
Terms = Callable[[Tag, Series, Sequence[Any]], Iterator[Any]]


def by_recurrence(recurrence: Recurrence) -> Terms:
    """The terms by a recurrence in the coefficients of the operands; a constant has one coefficient."""

    def terms(tag: Tag, y: Series, operands: Sequence[Any]) -> Iterator[Any]:
        return recurrence(y.coefficients, *[x.coefficients if belongs(x, tag) else [x] for x in operands])

    return terms


def combination(partials: tuple[Any, ...]) -> Recurrence:
    """The recurrence of a function with constant partial derivatives."""
    factors = [partial and times(partial) for partial in partials]

    def recurrence(y: Coefficients, *xs: Coefficients) -> Iterator[Any]:
        for k in count(1):
            parts = [factor(x[k]) for factor, x in zip(factors, xs, strict=True) if k < len(x)]
            if not parts:
                return
            yield reduce(add, parts)

    return recurrence


def by_partials(partials: tuple[Any, ...]) -> Terms:
    """y' is dy/dx x', summed over the operands; the partial derivatives are computed on the series y and x."""

    def terms(tag: Tag, y: Series, operands: Sequence[Any]) -> Iterator[Any]:
        xs = [unfinished(x, y.memo) if belongs(x, tag) else x for x in operands]
        slopes: list[tuple[Any, Coefficients, Coefficients]] = [
            (partial(y, *xs) if callable(partial) else partial, x.coefficients, [])
            for x, partial in zip(xs, partials, strict=True)
            if belongs(x, tag)
        ]
        for k in count(1):
            parts = []
            for slope, x, x_dot in slopes:
                if belongs(slope, tag):
                    slope.reach(k - 1)
                    extend_rate(x_dot, x, k)
                    parts.append(convolution(slope.coefficients, x_dot, k - 1) / k)
                elif k < len(x):
                    parts.append(slope * x[k])
            if not parts:
                return
            yield reduce(add, parts)

    return terms


def power(partials: tuple[Any, ...]) -> Terms:
    """A power a**b. If b is a natural number, it goes by products, which are right at a_0 = 0 and close to it, too."""

    def terms(tag: Tag, y: Series, operands: Sequence[Any]) -> Iterator[Any]:
        a, b = operands
        if is_natural(b):
            if b:
                yield from coefficients_of(nth_power(unfinished(a, y.memo), int(b)))
        elif not belongs(a, tag) or not np.all(plain_value(a)):
            yield from by_partials(partials)(tag, y, operands)
        elif belongs(b, tag):
            exponent = unfinished(b, y.memo) * np.log(as_base(y.primal, unfinished(a, y.memo)))
            steps = exponential()(y.coefficients, exponent.coefficients)
            for k in count(1):
                exponent.reach(k)
                yield next(steps)
        elif np.any(natural(plain_value(b))):
            yield from by_partials(partials)(tag, y, operands)
        else:
            yield from power_recurrence(y.coefficients, a.coefficients, b)

    return terms


def nth_power(x: Any, n: int) -> Any:
    """The product of `n` times `x`."""
    if n == 1:
        return x
    half = nth_power(x, n // 2)
    return half * half * x if n % 2 else half * half


def is_natural(b: Any) -> bool:
    """Whether `b` is a natural number, and not a number that is being differentiated."""
    return isinstance(b, (int, float, np.integer, np.floating)) and bool(b >= 0) and float(b).is_integer()


def natural(b: Any) -> Any:
    """Where `b` is a natural number."""
    return (np.real(b) >= 0) & (np.real(b) % 1 == 0)


def recurrence_of(rule: Elementwise) -> Recurrence | None:
    """The recurrence of a function, if it has one."""
    return RECURRENCES.get(rule.function) or (None if any(map(callable, rule.partials)) else combination(rule.partials))


def make_operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation that computes `function`, and the further coefficients by `rule`."""
    recurrence = recurrence_of(rule)
    if recurrence is not None:
        terms = by_recurrence(recurrence)
    else:
        terms = (power if rule.function in (np.power, np.float_power) else by_partials)(rule.partials)

    def operate(*operands: Any) -> Any:
        last = newest([x for x in operands if type(x) is Series])
        tag = last.tag
        tag.require_open()
        given = []
        for x, slope in zip(operands, rule.partials, strict=True):
            if belongs(x, tag):
                given.append(x if slope is not None else x.primal)
            elif type(x) is float or type(x) is int:
                given.append(x)
            else:
                operand = as_operand(x, last, function)
                if operand is NotImplemented:
                    return with_parts_gathered(function, *operands)
                given.append(operand)
        sources = [x for x in given if belongs(x, tag)]
        memo = memo_of(sources)
        if memo is not None:
            known = memo.known.get((function, identity(given, tag)))
            if known is not None:
                return known
        y = function(*[x.primal if belongs(x, tag) else x for x in given])
        try:
            if recurrence is not None and memo is None:
                coefficients = of_floats(recurrence, y, given, tag)
                if coefficients is not None:
                    return attended(Series(coefficients, tag), tag)
            return series(tag, y, lambda y: terms(tag, y, given), sources, (function, identity(given, tag)))
        except ArithmeticError:  # Python's floats raise it where NumPy's are infinite: 0.5 / 0.0
            y_0, xs = of_numpy(tag, y, given)
            sources = [x for x in xs if belongs(x, tag)]
            answer = series(tag, y_0, lambda y: terms(tag, y, xs), sources, (function, identity(xs, tag)))
            answer.coefficients[0] = y
            return answer

    return operate


def of_floats(recurrence: Recurrence, y: Any, operands: Sequence[Any], tag: Tag) -> Coefficients | None:
    """All coefficients of y, if the coefficients of the operands are plain floats; None otherwise."""
    lists = [x.coefficients if belongs(x, tag) else [x] for x in operands]
    if type(y) not in FLOATS or not all(FLOATS.issuperset(map(type, x)) for x in lists):
        return None
    coefficients = [float(y)]
    for y_k in islice(recurrence(coefficients, *[list(map(float, x)) for x in lists]), cast(Expansion, tag).order):
        coefficients.append(float(y_k))  # noqa: PERF401 (the recurrence looks at them)
    coefficients[0] = y
    return coefficients


def of_numpy(tag: Tag, y: Any, operands: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The answer and the operands, as NumPy's floats, whose arithmetic does not raise."""
    y, *firsts = ieee(lambda *xs: xs, y, *[x.primal if belongs(x, tag) else x for x in operands])
    return y, [
        Series([first, *x.coefficients[1:]], tag) if belongs(x, tag) else first
        for x, first in zip(operands, firsts, strict=True)
    ]
