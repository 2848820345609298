"""Forward mode: a number carries its tangent along, and each operation computes both. No control is needed.

For y = f(a, b), y_dot = df/da a_dot + df/db b_dot (Wang et al. 2019, section 2; Krawiec et al. 2022, section 4). The
partial derivatives and linear maps come from the same tables as in reverse mode. Numbers nest by their tags, in any mix
with reverse mode: primal and tangent may be numbers of an older tag, and ordinary operators compute with them.
"""

from __future__ import annotations

from functools import reduce
from operator import add, itemgetter
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.modes.tangents import conform, is_settled, lies_alike, mirrored, unshared
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.linear_maps import by_linear_maps, by_one, is_linear_in_list
from shiftreset_ad.numbers.memory import is_argument, protect, put_all
from shiftreset_ad.numbers.number import (
    DOUBLES,
    STACKS,
    Number,
    copied_part,
    in_memory,
    is_view,
    rows_of,
    with_levels_of,
    zeros_alike,
)
from shiftreset_ad.numbers.operands import is_inexact
from shiftreset_ad.numbers.tags import Tag, attended, nothing_to_capture
from shiftreset_ad.rules import LinearMap, Structured
from shiftreset_ad.rules.annotations import Primal, Pushforward, Tangent
from shiftreset_ad.rules.broadcasting import FLOAT64, shape_of
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.indexing import At, read
from shiftreset_ad.rules.masked import Masked
from shiftreset_ad.rules.stand_ins import StagedValue

new = object.__new__


class NumF(ArrayNumber):
    """A value in forward mode: its `primal`, its `tangent` of the same shape, and the `tag` of its derivative.

    Tangents share memory just as their values do, so that a program may write to arrays.
    """

    __slots__ = ("has_views", "primal", "tag", "tangent")
    has_views: bool  # the array is a view, or has views
    takes_maps = True

    def __init__(self, primal: Primal, tangent: Tangent, tag: Tag) -> None:
        self.primal = primal
        self.tangent = tangent
        self.tag = tag
        self.has_views = False

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any = None) -> Any:
        if form is not None and form.only:  # the usual case, for speed
            return by_one(self, rule, args, kwargs, form)
        if (form is not None and not form.has_list) or not is_linear_in_list(rule, args):
            return by_linear_maps(self, rule, args, kwargs, form)
        tag, xs, rest = self.tag, args[0], args[1:]
        x_dots = [x.tangent if type(x) is NumF and x.tag is tag else np.zeros(shape_of(x)) for x in xs]
        values = [x.primal if type(x) is NumF and x.tag is tag else x for x in xs]
        y = rule.function(values, *rest, **kwargs)
        return attended(number(y, rule.function(x_dots, *rest, **kwargs), tag), tag)

    def carried(self, answer: Primal, linear_map: LinearMap) -> Any:
        kind, tag = type(answer), self.tag
        is_new = answer.base is None if kind is ndarray else kind is float64
        if is_new or not (issubclass(kind, SEQUENCES) or is_view(answer, self.primal)):
            y_dot = linear_map.pushforward(x_dot := self.tangent)
            if (
                answer.dtype is y_dot.dtype is FLOAT64 and y_dot.base is None and answer.shape == y_dot.shape
                if kind is type(y_dot) is ndarray
                else kind is type(y_dot) is float64
            ):  # the steps of `number` for the usual cases, for speed
                y = new(NumF)
                y.primal, y.tangent = answer, y_dot if y_dot is not x_dot else y_dot.copy("K")
                y.tag, y.has_views = tag, False
            else:
                y = number(answer, y_dot, tag, x_dot)
        elif issubclass(kind, SEQUENCES):
            return self.linearized(tag, answer, [(self, linear_map)])
        else:
            y = view(self, answer, linear_map.pushforward)
        return y if tag.capture is nothing_to_capture else attended(y, tag)

    @staticmethod
    def linearized(tag: Tag, answer: Primal, active: list[tuple[Any, LinearMap]]) -> Any:
        if len(active) == 1 and (type(answer) is ndarray or not issubclass(type(answer), SEQUENCES)):
            ((x, linear_map),) = active
            return x.carried(answer, linear_map)
        y_dots = [linear_map.pushforward(x.tangent) for x, linear_map in active]
        if issubclass(type(answer), SEQUENCES):
            numbers = [number(y, reduce(add, terms), tag) for y, *terms in zip(answer, *y_dots, strict=True)]
            return attended(type(answer)(numbers), tag)
        return attended(number(answer, reduce(add, y_dots), tag), tag)

    def mapped(self, function: Pushforward) -> Any:
        primal = self.primal
        y = primal.mapped(function) if issubclass(type(primal), Number) else function(primal)
        if y is primal:
            return self
        if type(y) is At:
            return function(self)
        kind = type(y)
        if kind is float64 or (kind is ndarray and y.base is None):  # the usual cases: no view, and nothing masked
            answer = number(y, function(self.tangent), self.tag, self.tangent)
            return answer if self.tag.capture is nothing_to_capture else attended(answer, self.tag)
        if kind is not Masked:
            return self.carried(y, LinearMap(function, function))
        values = LinearMap(lambda x_dot: function(x_dot).values, function)
        return Masked(self.carried(y.values, values), y.mask)

    def lifted(self, constant: Primal) -> NumF:
        tangent = with_levels_of(zeros_alike(constant), self.tangent, constant)
        return NumF(constant, tangent if type(in_memory(constant)) is ndarray else tangent[()], self.tag)

    def taken(self, index: Any) -> NumF:
        return NumF(copied_part(self.primal, index), copied_part(self.tangent, index), self.tag)

    def write(self, index: Any, item: Any) -> None:
        """Write to the value and to the tangent: a view of the value has the same view of the tangent."""
        self.tag.require_open()
        active = type(item) is NumF and item.tag is self.tag
        y, y_dot = (item.primal, item.tangent) if active else (item, 0.0)
        self.primal, self.tangent = mirrored(self, (self.primal, self.tangent), (y, y_dot))
        put_all(self.tag, (self.primal, self.tangent), index, (y, y_dot))

    def __getitem__(self, index: Any) -> Any:
        if type(self.primal) is not ndarray and not shape_of(self.primal):
            return super().__getitem__(index)
        tag, primal = self.tag, self.primal
        if tag.capture is tag.closed:
            tag.require_open()
        may_be_rows = type(index) is ndarray and type(primal) is ndarray and primal.ndim > 1
        part = read(primal, index) if may_be_rows else primal[index]
        if type(part) is float64:
            return NumF(part, self.tangent[index], tag)
        if (type(part) is ndarray and part.base is primal) or is_view(part, primal):
            return view(self, part, itemgetter(index))
        return NumF(part, read(self.tangent, index), self.tag)


NumF.inside = NumF.primal  # type: ignore[method-assign,misc]  # as a slot, which takes no call


def constant(tangents: list[Tangent], array: Primal, tag: Tag) -> NumF:
    """A constant array as a number with a zero tangent, to which tangents like these can be written."""
    return NumF(array, with_levels_of(zeros_alike(array), array, *tangents), tag)


def view(x: NumF, y: Primal, function: Pushforward) -> NumF:
    """The view of `x` with the value `y`; `function` makes the same view of the tangent."""
    if not x.has_views:
        is_usual = type(x.primal) is ndarray and lies_alike(x.tangent, x.primal)
        if not is_usual and not is_settled(x) and not (type(x.tangent) in STACKS and _is_fixed(x)):
            x.primal, x.tangent = mirrored(x, (x.primal, x.tangent), (0.0, 0.0))
        x.has_views = True
    answer, x_dot = new(NumF), x.tangent
    answer.primal, answer.tangent, answer.tag, answer.has_views = y, (y_dot := function(x_dot)), x.tag, True
    if (type(y_dot) is not ndarray or y_dot.base is not x_dot) and not is_view(y_dot, x_dot):
        protect(x.tag, x, "has a view whose tangent is none")
    return answer


def _is_fixed(x: NumF) -> bool:
    """Whether `x` is an argument, to which nobody may write, and has a stack of tangents that lie as it does.

    Then views are views, even if nobody can write to the stack.
    """
    rows = rows_of(x.tangent)
    return rows is not None and lies_alike(rows, in_memory(x.primal), is_fixed=True) and is_argument(x.tag, x)


def _are_alike(value: Any, tangent: Any) -> bool:
    """Whether these are two doubles, or two arrays of doubles of one shape, and the tangent is no view."""
    if type(value) is type(tangent) is ndarray:
        return value.dtype is tangent.dtype is FLOAT64 and value.shape == tangent.shape and tangent.base is None
    return type(value) in DOUBLES and type(tangent) in DOUBLES


def number(y: Primal, y_dot: Tangent, tag: Tag, x_dot: Tangent = None) -> Any:
    """The answer `y` of an operation with its tangent; `y` itself if it is a constant, such as an integer.

    A tangent that shares memory with `x_dot`, the tangent of an operand, is copied.
    """
    kind = type(y)
    if kind is type(y_dot) and (  # the usual cases, for speed
        y.dtype is y_dot.dtype is FLOAT64 and y.shape == y_dot.shape if kind is ndarray else kind is float64
    ):
        if kind is ndarray and (y_dot is x_dot or y_dot.base is not None):
            y_dot = y_dot.copy("K") if y_dot is x_dot else unshared(y_dot, x_dot)
        answer = new(NumF)  # and not NumF(y, y_dot, tag), to spare the call of __init__
        answer.primal, answer.tangent, answer.tag, answer.has_views = y, y_dot, tag, False
        return answer
    array, shape, kind_of_dot = y_dot, None, type(y_dot)
    if kind_of_dot is ndarray:
        shape = y_dot.shape
    elif issubclass(kind_of_dot, Number):
        if (rows := rows_of(y_dot)) is not None and rows is not rows_of(x_dot):
            array, shape = rows, rows.shape[1:]
    elif issubclass(kind_of_dot, StagedValue) and kind is kind_of_dot and _are_alike(y.inside, y_dot.inside):
        return NumF(y, y_dot if y_dot is not x_dot else unshared(y_dot, x_dot), tag)
    is_usual = shape is not None and array.dtype is FLOAT64
    if kind is ndarray:
        is_usual = is_usual and y.dtype is FLOAT64 and y.shape == shape
    else:
        is_usual = shape == () and is_usual and (kind is float or kind is float64)
    if x_dot is not None and (not is_usual or y_dot is x_dot or array.base is not None):
        y_dot = unshared(y_dot, x_dot)
    if not is_usual:
        if not is_inexact(y):
            return y
        y_dot = conform(y_dot, y)
    return NumF(y, y_dot, tag)
