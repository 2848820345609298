"""Elementwise operations of forward mode: tangents times partial derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from shiftreset_ad.modes.forward.number import NumF, number
from shiftreset_ad.numbers.number import DOUBLES, STACKS, TANGENTS_OF_SCALARS, is_double, is_stack_of_doubles
from shiftreset_ad.numbers.operands import as_operand, with_parts_gathered
from shiftreset_ad.numbers.partials import factor, times
from shiftreset_ad.numbers.tags import attended, nothing_to_capture
from shiftreset_ad.rules import Elementwise
from shiftreset_ad.rules.broadcasting import FLOAT64
from shiftreset_ad.rules.building import OBJECT
from shiftreset_ad.rules.numpy.elementwise import other_of_a, other_of_b

new = object.__new__


def unary(function: Callable[[Any], Any], partials: tuple[Any]) -> Callable[[Any], Any]:
    """The operation for y = function(x) of a `NumF`."""
    (times_partial,) = map(times, partials)

    def operate(x: Any) -> Any:
        tag, primal = x.tag, x.primal
        y = function(primal)
        y_dot = times_partial(x.tangent, y, primal)
        # The operand decides: the absolute value of a complex number is a float, and its tangent must become one too.
        if type(primal) in DOUBLES or (type(primal) is not ndarray and is_double(primal)):
            answer = new(NumF)
            answer.primal, answer.tangent, answer.tag, answer.has_views = y, y_dot, tag, False
        else:
            answer = number(y, y_dot, tag, x.tangent)
        if tag.capture is not nothing_to_capture:
            tag.capture(None, answer)  # looks at it, or raises, as the call is over
        return answer

    return operate


def binary(function: Callable[[Any, Any], Any], partials: tuple[Any, Any]) -> Callable[[Any, Any], Any]:
    """The operation for y = function(a, b), where at least one operand is a `NumF`."""
    times_a, times_b = (partial and times(partial) for partial in partials)
    sums_a, sums_b, subtracts_b = partials[0] == 1.0, partials[1] == 1.0, partials[1] == -1.0
    has_factor_b, lacks_one = callable(partials[1]), None in partials
    takes_b, takes_a = partials[0] is other_of_a, partials[1] is other_of_b  # of a product, without a call

    def operate(a: Any, b: Any) -> Any:
        if type(b) is not NumF:
            tag, p, q, a_dot, b_dot = a.tag, a.primal, b, a.tangent, None
            if type(b) is not float and type(b) is not int and (type(b) is not ndarray or b.dtype is OBJECT):
                q = as_operand(b, a, function)
                if q is NotImplemented:
                    return with_parts_gathered(function, a, b)
        elif type(a) is not NumF:
            tag, p, q, a_dot, b_dot = b.tag, a, b.primal, None, b.tangent
            if type(a) is not float and type(a) is not int and (type(a) is not ndarray or a.dtype is OBJECT):
                p = as_operand(a, b, function)
                if p is NotImplemented:
                    return with_parts_gathered(function, a, b)
        elif a.tag is b.tag:
            tag, p, q, a_dot, b_dot = a.tag, a.primal, b.primal, a.tangent, b.tangent
        elif a.tag.serial > b.tag.serial:
            tag, p, q, a_dot, b_dot = a.tag, a.primal, b, a.tangent, None
        else:
            tag, p, q, a_dot, b_dot = b.tag, a, b.primal, None, b.tangent
        if lacks_one:
            a_dot, b_dot = a_dot if times_a else None, b_dot if times_b else None
        y = function(p, q)
        if a_dot is not None:
            y_dot = q * a_dot if takes_b else a_dot if sums_a else times_a(a_dot, y, p, q)
            if b_dot is not None:
                if sums_a:
                    y_dot = y_dot - b_dot if subtracts_b else y_dot + (b_dot if sums_b else times_b(b_dot, y, p, q))
                elif type(y_dot) in STACKS and has_factor_b:  # a product is new memory
                    y_dot = y_dot.plus_product(factor(partials[1], y, p, q), b_dot)
                else:
                    y_dot = y_dot + (p * b_dot if takes_a else times_b(b_dot, y, p, q))
        elif b_dot is not None:
            y_dot = p * b_dot if takes_a else b_dot if sums_b else times_b(b_dot, y, p, q)
        else:
            return attended(y, tag)
        kind = type(y)
        x_dot = b_dot if a_dot is None else a_dot
        if (
            y.dtype is y_dot.dtype is FLOAT64 and y.shape == y_dot.shape and y_dot.base is None and y_dot is not x_dot
            if kind is type(y_dot) is ndarray
            else kind in DOUBLES
            and (type(y_dot) in TANGENTS_OF_SCALARS or (y_dot is not x_dot and is_stack_of_doubles(y_dot)))
        ):  # the steps of `number` for the usual cases, for speed
            answer = new(NumF)  # and not NumF(y, y_dot, tag), to spare the call of __init__
            answer.primal, answer.tangent, answer.tag, answer.has_views = y, y_dot, tag, False
        elif kind is not ndarray and is_double(y) and is_double(y_dot):
            answer = NumF(y, y_dot, tag)
        else:
            answer = number(y, y_dot, tag, x_dot)  # an element `x[..., 0]` shares its tangent with the array
        if tag.capture is not nothing_to_capture:
            tag.capture(None, answer)  # looks at it, or raises, as the call is over
        return answer

    return operate


def make_operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation that computes `function`, and its tangent by the partial derivatives of `rule`."""
    make: Any = unary if len(rule.partials) == 1 else binary
    return make(function, rule.partials)  # type: ignore[no-any-return]
