"""Forward mode: a number carries its tangent along, and each operation computes both. No control is needed.

For y = f(a, b), y_dot = df/da a_dot + df/db b_dot (Wang et al. 2019, section 2; Krawiec et al. 2022, section 4). The
partial derivatives and linear maps are those of reverse mode, from the same tables. Numbers nest by their tags, in any
mix with those of reverse mode: primal and tangent may be numbers of an older tag, and the arithmetic on them is by
ordinary operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import add, itemgetter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.array_api import MET, Wrapped
from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import is_inexact, require_all_usable, value_and_aux, without_level
from shiftreset_ad.boundary.libraries import in_library_of
from shiftreset_ad.modes.reverse.memory import lacks_level, protect, put_all
from shiftreset_ad.numbers.dispatch import (
    SEQUENCES,
    Number,
    by_linear_maps,
    in_memory,
    innermost,
    is_double,
    is_linear_in_list,
    is_view,
    one_level_below,
    put,
    tags_of,
    taken,
    value,
    with_levels_of,
    zeros_alike,
)
from shiftreset_ad.numbers.interface import ArrayNumber, install_operators
from shiftreset_ad.numbers.operands import as_operand, with_parts_gathered
from shiftreset_ad.numbers.partials import times
from shiftreset_ad.numbers.tags import Tag, attended, nothing_to_capture
from shiftreset_ad.rules import Elementwise, LinearMap, Structured
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.indexing import read
from shiftreset_ad.rules.numpy.shapes import in_precision
from shiftreset_ad.rules.table import is_staged

FLOAT64 = np.dtype(float64)


class NumF(ArrayNumber):
    """A value in forward mode: its `primal`, its `tangent` of the same shape, and the `tag` of its derivative.

    So that a program may write to arrays, tangents share memory just as their values do.
    """

    __slots__ = ("has_views", "primal", "tag", "tangent")
    has_views: bool  # if it is there, the array is a view, or there are views of it

    def __init__(self, primal: Any, tangent: Any, tag: Tag) -> None:
        self.primal = primal
        self.tangent = tangent
        self.tag = tag

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not is_linear_in_list(rule, args):
            return by_linear_maps(self, rule, args, kwargs)
        tag, parts, rest = self.tag, args[0], args[1:]
        x_dots = [x.tangent if type(x) is NumF and x.tag is tag else np.zeros(shape_of(x)) for x in parts]
        y = rule.function(one_level_below(parts, tag), *rest, **kwargs)
        return attended(number(y, rule.function(x_dots, *rest, **kwargs), tag), tag)

    @staticmethod
    def linearized(tag: Tag, answer: Any, active: list[tuple[Any, LinearMap]]) -> Any:
        if len(active) == 1 and not issubclass(type(answer), SEQUENCES):
            ((x, linear_map),) = active
            if is_view(answer, x.primal):
                return attended(view(x, answer, linear_map.pushforward), tag)
            return attended(number(answer, linear_map.pushforward(x.tangent), tag, x.tangent), tag)
        y_dots = [linear_map.pushforward(x.tangent) for x, linear_map in active]
        if issubclass(type(answer), SEQUENCES):
            numbers = [number(y, reduce(add, parts), tag) for y, *parts in zip(answer, *y_dots, strict=True)]
            return attended(type(answer)(numbers), tag)
        return attended(number(answer, reduce(add, y_dots), tag), tag)

    def lifted(self, constant: Any) -> NumF:
        return NumF(constant, with_levels_of(zeros_alike(constant), self.tangent, constant)[()], self.tag)

    def taken(self, index: Any) -> NumF:
        return NumF(taken(self.primal, index), taken(self.tangent, index), self.tag)

    def write(self, index: Any, item: Any) -> None:
        """Write to the value and to the tangent, of which every view of the one has the same view of the other."""
        self.tag.require_open()
        active = type(item) is NumF and item.tag is self.tag
        y, y_dot = (item.primal, item.tangent) if active else (item, 0.0)
        mirror(self, y, y_dot)
        put_all(self.tag, (self.primal, self.tangent), index, (y, y_dot))

    def __getitem__(self, index: Any) -> Any:
        if type(self.primal) is not ndarray and not shape_of(self.primal):
            return super().__getitem__(index)
        self.tag.require_open()
        part = self.primal[index]
        if type(part) is float64:
            return NumF(part, self.tangent[index], self.tag)
        if is_view(part, self.primal):
            return view(self, part, itemgetter(index))
        return NumF(part, read(self.tangent, index), self.tag)


NumF.inside = NumF.primal  # type: ignore[method-assign,misc]  # as a slot, which takes no call


def constant(tangents: list[Any], array: Any, tag: Tag) -> NumF:
    """A constant array as a number, with a tangent of zero to which tangents like these can be written."""
    return NumF(array, with_levels_of(zeros_alike(array), array, *tangents), tag)


def view(x: NumF, y: Any, function: Callable[[Any], Any]) -> NumF:
    """The view of `x` that has the value `y`, by a function that makes such a view of the tangent, too."""
    if not hasattr(x, "has_views"):
        if type(x.primal) is not ndarray or not lies_alike(x.tangent, x.primal):
            mirror(x)
        x.has_views = True
    answer = NumF(y, function(x.tangent), x.tag)
    answer.has_views = True
    if not is_view(answer.tangent, x.tangent):
        protect(x.tag, x, "has a view whose tangent is none")
    return answer


def mirror(x: NumF, y: Any = 0.0, y_dot: Any = 0.0) -> None:
    """Have the tangent of `x` lie in memory as its value does, so that what is a view there is one here, too, and that
    `y` can be written to the value, and `y_dot` to the tangent.
    """
    value, tangent = with_levels_of(x.primal, y), in_memory(x.tangent)
    has_levels = tags_of(value) | tags_of(y_dot) <= tags_of(x.tangent)
    if has_levels and value is x.primal and (hasattr(x, "has_views") or lies_alike(tangent, in_memory(value))):
        return
    if hasattr(x, "has_views"):
        raise lacks_level()
    if type(x.tangent) is ndarray and lies_alike(tangent, in_memory(value)):
        x.primal, x.tangent = value, with_levels_of(+x.tangent, value, y_dot)
        return
    whole = with_levels_of(zeros_alike(value), value, x.tangent, y_dot)
    put(whole, ..., x.tangent)
    x.primal, x.tangent = value, whole


def lies_alike(tangent: Any, value: Any) -> bool:
    """Whether an array can be written to, and lies in memory as `value` does, apart from more axes before its own."""
    if type(tangent) is not ndarray or not tangent.flags.writeable:
        return False
    return bool(tangent.strides[tangent.ndim - value.ndim :] == value.strides)


def unshared(y_dot: Any, x_dot: Any) -> Any:
    """The tangent of a new value, which does not share memory with that of another value."""
    is_shared = type(in_memory(y_dot)) is ndarray if y_dot is x_dot else is_view(y_dot, x_dot)
    return +y_dot if is_shared else y_dot


def number(y: Any, y_dot: Any, tag: Tag, x_dot: Any = None) -> Any:
    """The answer `y` of an operation with its tangent; `y` itself if it is an integer, say, and so constant.

    The tangent may share memory with `x_dot`, that of an operand, and then is copied.
    """
    is_usual = type(y) is ndarray and type(y_dot) is ndarray and y.dtype is y_dot.dtype is FLOAT64
    if x_dot is not None and (not is_usual or y_dot is x_dot or y_dot.base is not None):
        y_dot = unshared(y_dot, x_dot)
    if not is_usual or y.shape != y_dot.shape:
        if not is_inexact(y):
            return y
        y_dot = conform(y_dot, y)
    return NumF(y, y_dot, tag)


def conform(y_dot: Any, y: Any) -> Any:
    """A tangent in the shape and precision of its value: partial derivatives broadcast, and may be more precise."""
    shape, dtype = shape_of(y), dtype_of(y)
    if shape_of(y_dot) != shape:
        y_dot = np.copy(np.broadcast_to(y_dot, shape))
    return y_dot if dtype_of(y_dot) == dtype else in_precision(y_dot, dtype)


def unary(function: Callable[[Any], Any], partials: tuple[Any]) -> Callable[[Any], Any]:
    """The operation for y = function(x) of a `NumF`."""
    (times_partial,) = map(times, partials)

    def operate(x: Any) -> Any:
        tag, primal = x.tag, x.primal
        y = function(primal)
        y_dot = times_partial(x.tangent, y, primal)
        # Of the operand, as the absolute value of a complex number is a float, and its tangent must become one.
        answer = NumF(y, y_dot, tag) if is_double(primal) else number(y, y_dot, tag, x.tangent)
        if tag.capture is not nothing_to_capture:
            tag.capture(None, answer)  # looks at it, or raises, as the call is over
        return answer

    return operate


def binary(function: Callable[[Any, Any], Any], partials: tuple[Any, Any]) -> Callable[[Any, Any], Any]:
    """The operation for y = function(a, b), of which one operand at least is a `NumF`."""
    times_a, times_b = (partial and times(partial) for partial in partials)

    def operate(a: Any, b: Any) -> Any:
        newest = a
        if type(a) is not NumF or (type(b) is NumF and b.tag.serial > a.tag.serial):
            newest = b
        tag = newest.tag
        p, q = a, b
        a_dot = b_dot = None
        if type(a) is NumF and a.tag is tag:
            p, a_dot = a.primal, a.tangent if times_a else None
        elif type(a) is not float and type(a) is not int:
            p = as_operand(a, newest, function)
            if p is NotImplemented:
                return with_parts_gathered(function, a, b)
        if type(b) is NumF and b.tag is tag:
            q, b_dot = b.primal, b.tangent if times_b else None
        elif type(b) is not float and type(b) is not int:
            q = as_operand(b, newest, function)
            if q is NotImplemented:
                return with_parts_gathered(function, a, b)
        y = function(p, q)
        if b_dot is None:
            if a_dot is None:
                return attended(y, tag)
            y_dot = times_a(a_dot, y, p, q)
        elif a_dot is None:
            y_dot = times_b(b_dot, y, p, q)
        else:
            y_dot = times_a(a_dot, y, p, q) + times_b(b_dot, y, p, q)
        if type(y) is not ndarray and is_double(y) and is_double(y_dot):
            answer = NumF(y, y_dot, tag)
        else:
            answer = number(y, y_dot, tag, b_dot if a_dot is None else a_dot)
        if tag.capture is not nothing_to_capture:
            tag.capture(None, answer)  # looks at it, or raises, as the call is over
        return answer

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
    levels = (x.tag.level for x in (*arguments.numbers, *tangents) if isinstance(x, Number))
    tag = Tag.around(levels, partial(constant, tangents))
    for x in arguments.numbers:
        protect(tag, x, "is an argument")
    xs = [x if x_dot is None else NumF(x, x_dot, tag) for x, x_dot in zip(arguments.numbers, tangents, strict=True)]
    program = partial(f, *arguments.with_numbers(xs), **kwargs)
    try:
        value, aux = value_and_aux(operator, trees.returned(program), has_aux)
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
    if isinstance(plain := innermost(y), Wrapped):
        return plain.own(y_dot)
    if MET:
        y_dot = in_library_of(y, y_dot)
    if isinstance(y_dot, ArrayNumber):
        return np.positive(y_dot) if shape else y_dot
    if is_staged(y_dot):
        return y_dot.of_type_of(value(y))
    if isinstance(value(y), ndarray):
        return np.zeros(shape, dtype_of(y)) if y_dot is None else np.array(y_dot)
    kind: Any = type(value(y))
    return kind(0.0 if y_dot is None else y_dot)
