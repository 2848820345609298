"""Forward mode: a number carries its tangent along, and each operation computes both. No control is needed.

For y = f(a, b), y_dot = df/da a_dot + df/db b_dot (Wang et al. 2019, section 2; Krawiec et al. 2022, section 4). The
partial derivatives and linear maps are those of reverse mode, from the same tables. Numbers nest by their tags, in any
mix with those of reverse mode: primal and tangent may be numbers of an older tag, and the arithmetic on them is by
ordinary operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad import trees
from shiftreset_ad.arguments import Arguments
from shiftreset_ad.checks import is_inexact, require_all_usable, value_and_aux, without_level
from shiftreset_ad.dispatch import Number, by_linear_maps, is_double, is_linear_in_list, one_level_below, value
from shiftreset_ad.interface import ArrayNumber, install_operators
from shiftreset_ad.operands import as_operand
from shiftreset_ad.partials import times
from shiftreset_ad.rules import Elementwise, LinearMap, Structured
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.shapes import in_precision
from shiftreset_ad.tags import Tag

FLOAT64 = np.dtype(float64)


class NumF(ArrayNumber):
    """A value in forward mode: its `primal`, its `tangent` of the same shape, and the `tag` of its derivative."""

    __slots__ = ("primal", "tag", "tangent")

    def __init__(self, primal: Any, tangent: Any, tag: Tag) -> None:
        self.primal = primal
        self.tangent = tangent
        self.tag = tag

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not is_linear_in_list(rule, args):
            return by_linear_maps(self, rule, args, kwargs)
        tag, parts, rest = self.tag, args[0], args[1:]
        tag.require_open()
        x_dots = [x.tangent if type(x) is NumF and x.tag is tag else np.zeros_like(x) for x in parts]
        y = rule.function(one_level_below(parts, tag), *rest, **kwargs)
        return number(y, rule.function(x_dots, *rest, **kwargs), tag)

    @staticmethod
    def linearized(tag: Tag, answer: Any, active: list[tuple[Any, LinearMap]]) -> Any:
        tag.require_open()
        if len(active) == 1 and not isinstance(answer, (tuple, list)):
            ((x, linear_map),) = active
            return number(answer, linear_map.pushforward(x.tangent), tag)
        y_dots = [linear_map.pushforward(x.tangent) for x, linear_map in active]
        if isinstance(answer, (tuple, list)):
            return type(answer)(number(y, reduce(add, parts), tag) for y, *parts in zip(answer, *y_dots, strict=True))
        return number(answer, reduce(add, y_dots), tag)

    def lifted(self, constant: Any) -> NumF:
        return NumF(constant, np.zeros(shape_of(constant), dtype_of(constant))[()], self.tag)

    def take_over(self, y: Any) -> None:
        """Have the value and the tangent of `y` from here on."""
        self.primal, self.tangent = y.primal, y.tangent

    def __getitem__(self, index: Any) -> Any:
        if type(self.primal) is not ndarray and not shape_of(self.primal):
            return super().__getitem__(index)
        self.tag.require_open()
        return NumF(self.primal[index], self.tangent[index], self.tag)


def number(y: Any, y_dot: Any, tag: Tag) -> Any:
    """The answer `y` of an operation with its tangent; `y` itself if it is an integer, say, and so constant."""
    usual = type(y) is ndarray and type(y_dot) is ndarray and y.dtype is y_dot.dtype is FLOAT64
    if not usual or y.shape != y_dot.shape:
        if not is_inexact(y):
            return y
        y_dot = conform(y_dot, y)
    return NumF(y, y_dot, tag)


def conform(y_dot: Any, y: Any) -> Any:
    """A tangent in the shape and precision of its value: partial derivatives broadcast, and may be more precise."""
    shape, dtype = shape_of(y), dtype_of(y)
    if shape_of(y_dot) != shape:
        y_dot = np.broadcast_to(y_dot, shape)
    return y_dot if dtype_of(y_dot) == dtype else in_precision(y_dot, dtype)


def unary(function: Callable[[Any], Any], partials: tuple[Any]) -> Callable[[Any], Any]:
    """The operation for y = function(x) of a `NumF`."""
    (times_partial,) = map(times, partials)

    def operate(x: Any) -> Any:
        tag, primal = x.tag, x.primal
        if tag.capture is tag.closed:
            tag.require_open()
        y = function(primal)
        y_dot = times_partial(x.tangent, y, primal)
        # Of the operand, as the absolute value of a complex number is a float, and its tangent must become one.
        return NumF(y, y_dot, tag) if is_double(primal) else number(y, y_dot, tag)

    return operate


def binary(function: Callable[[Any, Any], Any], partials: tuple[Any, Any]) -> Callable[[Any, Any], Any]:
    """The operation for y = function(a, b), of which one operand at least is a `NumF`."""
    times_a, times_b = (partial and times(partial) for partial in partials)

    def operate(a: Any, b: Any) -> Any:
        newest = a
        if type(a) is not NumF or (type(b) is NumF and b.tag.serial > a.tag.serial):
            newest = b
        tag = newest.tag
        if tag.capture is tag.closed:
            tag.require_open()
        a_dot = b_dot = None
        if type(a) is NumF and a.tag is tag:
            a, a_dot = a.primal, a.tangent if times_a else None
        elif type(a) is not float and type(a) is not int:
            a = as_operand(a, newest, function)
        if type(b) is NumF and b.tag is tag:
            b, b_dot = b.primal, b.tangent if times_b else None
        elif type(b) is not float and type(b) is not int:
            b = as_operand(b, newest, function)
        if a is NotImplemented or b is NotImplemented:
            return NotImplemented
        y = function(a, b)
        if b_dot is None:
            if a_dot is None:
                return y
            y_dot = times_a(a_dot, y, a, b)
        elif a_dot is None:
            y_dot = times_b(b_dot, y, a, b)
        else:
            y_dot = times_a(a_dot, y, a, b) + times_b(b_dot, y, a, b)
        return NumF(y, y_dot, tag) if is_double(y) and is_double(y_dot) else number(y, y_dot, tag)

    return operate


def operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation that computes `function`, and its tangent by the partial derivatives of `rule`."""
    make: Any = unary if len(rule.partials) == 1 else binary
    return make(function, rule.partials)  # type: ignore[no-any-return]


install_operators(NumF, operation)


def push(
    operator: str,
    f: Callable[..., Any],
    arguments: Arguments,
    tangents: list[Any],
    has_aux: bool = False,
    kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Any, list[Any], Any]:
    """The value of `f`, the tangents of the numbers in it, and what `f` returned beside it.

    `tangents` belong to the numbers in the arguments; here and in the answer, None stands for zero.
    """
    tag = Tag.around(x.tag.level for x in (*arguments.numbers, *tangents) if isinstance(x, Number))
    xs = [x if x_dot is None else NumF(x, x_dot, tag) for x, x_dot in zip(arguments.numbers, tangents, strict=True)]
    try:
        value, aux = value_and_aux(operator, f(*arguments.with_numbers(xs), **kwargs), has_aux)
        trees.require_known(value, operator)
        ys = trees.Parts(value).numbers
        require_all_usable(operator, ys, tag)
    finally:
        tag.finish()
    y_dots = [y.tangent if type(y) is NumF and y.tag is tag else None for y in ys]
    return without_level(value, tag), y_dots, without_level(aux, tag) if has_aux else None


def own(y_dot: Any, y: Any) -> Any:
    """A tangent as the user gets it: of the type of its value, and the user's to keep."""
    shape = shape_of(y)
    if isinstance(y_dot, ArrayNumber):
        return np.positive(y_dot) if shape else y_dot
    if isinstance(value(y), ndarray):
        return np.zeros(shape, dtype_of(y)) if y_dot is None else np.array(y_dot)
    kind: Any = type(value(y))
    return kind(0.0 if y_dot is None else y_dot)
