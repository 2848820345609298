"""The operations on `NumR` that decide the speed: the elementwise ones, made from their partial derivatives, and x[i].

The steps are those of `backpropagation`: compute the value, capture, come back, accumulate. There are three kinds
of pullbacks, each for both operands active, for `a` alone, and for `b` alone:

*   `pull_both`, `pull_a`, `pull_b`, for a scalar of the outermost level, call nothing but the partials;
*   `pull_both_nested` and so on, for a scalar that is a number itself, spare products by 1, as a product costs more
    than a call;
*   those of `arrays`, for everything else, call `accumulate`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy import float64, ndarray

from shiftreset_ad.array_api import Wrapped
from shiftreset_ad.boundary.notes import FUNCTION_OF
from shiftreset_ad.control import GreenletError, Operation, here
from shiftreset_ad.modes.reverse import sparing
from shiftreset_ad.modes.reverse.adjoints import accumulate_at, summed
from shiftreset_ad.modes.reverse.arrays import Pull, pull_of_large, pull_of_large_both, pull_of_unary, pulls_of_binary
from shiftreset_ad.modes.reverse.choices import operation_by_choice, pulls_of_choice
from shiftreset_ad.modes.reverse.kept import TINY, frozen
from shiftreset_ad.modes.reverse.memory import waiting, window
from shiftreset_ad.modes.reverse.number import NumR, capture
from shiftreset_ad.modes.reverse.shells import SMALL, Shell, with_shell
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.number import DOUBLES, ZERO, Number, copied_part, is_double, plain_value
from shiftreset_ad.numbers.operands import as_operand, is_inexact, with_parts_gathered
from shiftreset_ad.numbers.partials import as_function, ieee, share
from shiftreset_ad.rules import Elementwise
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.building import OBJECT
from shiftreset_ad.rules.indexing import BOUNDS, frozen_index, read
from shiftreset_ad.rules.masked import Masked
from shiftreset_ad.rules.numpy.elementwise import CHOICES
from shiftreset_ad.rules.reads import values_read
from shiftreset_ad.rules.table import require_order

FLOAT64 = np.dtype(float64)
new = object.__new__

# For scalars, for scalars that are numbers, for small and for large arrays; and whether these read the answer, and each
# operand.
Pulls: TypeAlias = tuple[Pull, Pull, Pull, Pull, tuple[bool, ...]]


def binary(function: Callable[[Any, Any], Any], partials: tuple[Any, Any]) -> Callable[[Any, Any], Any]:
    """The operation for y = function(a, b), where at least one operand is a `NumR`."""
    partial_a, partial_b = as_function(partials[0]), as_function(partials[1])
    share_of_a, share_of_b = share(partials[0]), share(partials[1])
    sums_a, sums_b = partials[0] == 1.0, partials[1] == 1.0

    def pull_both(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            p, q, r = a.primal, b.primal, y.primal
            try:
                a_bar = partial_a(r, p, q) * y_bar
                b_bar = partial_b(r, p, q) * y_bar
            except ArithmeticError:
                a_bar = ieee(partial_a, r, p, q) * y_bar
                b_bar = ieee(partial_b, r, p, q) * y_bar
            a.adjoint = a.adjoint + a_bar
            b.adjoint = b.adjoint + b_bar

    def pull_a(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            try:
                a_bar = partial_a(y.primal, a.primal, b) * y_bar
            except ArithmeticError:
                a_bar = ieee(partial_a, y.primal, a.primal, b) * y_bar
            a.adjoint = a.adjoint + a_bar

    def pull_b(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            try:
                b_bar = partial_b(y.primal, a, b.primal) * y_bar
            except ArithmeticError:
                b_bar = ieee(partial_b, y.primal, a, b.primal) * y_bar
            b.adjoint = b.adjoint + b_bar

    def pull_both_nested(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            p, q, r = a.primal, b.primal, y.primal
            a_bar = y_bar if sums_a else share_of_a(y_bar, r, p, q)
            b_bar = y_bar if sums_b else share_of_b(y_bar, r, p, q)
            # ZERO + a_bar would be right, too, but goes the long way through the operators of a number.
            a.adjoint = a_bar if (before := a.adjoint) is ZERO else before + a_bar
            b.adjoint = b_bar if (before := b.adjoint) is ZERO else before + b_bar

    def pull_a_nested(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            a_bar = y_bar if sums_a else share_of_a(y_bar, y.primal, a.primal, b)
            a.adjoint = a_bar if (before := a.adjoint) is ZERO else before + a_bar

    def pull_b_nested(operation: Operation) -> None:
        _, y, a, b = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            b_bar = y_bar if sums_b else share_of_b(y_bar, y.primal, a, b.primal)
            b.adjoint = b_bar if (before := b.adjoint) is ZERO else before + b_bar

    scalars: Any = ((pull_both, pull_both_nested), (pull_a, pull_a_nested), (pull_b, pull_b_nested))
    large = (pull_of_large_both(*partials), pull_of_large(partials, 0), pull_of_large(partials, 1))
    pulls = [(*of_scalars, *rest) for of_scalars, *rest in zip(scalars, pulls_of_binary(*partials), large, strict=True)]
    if function in CHOICES:
        pulls = pulls_of_choice(*partials)
    FUNCTION_OF.update(dict.fromkeys(itertools.chain(*pulls), function))
    needs_a, needs_b = callable(partials[1]), callable(partials[0])  # the partial derivative in the one reads the other
    both: Pulls = (*pulls[0], values_read(partials, 2))
    only_a: Pulls = (*pulls[1], values_read(partials[:1], 2))
    only_b: Pulls = (*pulls[2], values_read(partials[1:], 2))

    def operate(a: Any, b: Any) -> Any:
        if type(a) is NumR:
            tag = a.tag
            if type(b) is NumR:
                if b.tag is tag:
                    primal, pulls = function(p := a.primal, q := b.primal), both
                elif b.tag.serial < tag.serial:
                    if type(b.primal) is not float:
                        b = frozen(b, tag)
                    primal, pulls = function(p := a.primal, q := b), only_a
                else:
                    tag = b.tag
                    if type(a.primal) is not float:
                        a = frozen(a, tag)
                    primal, pulls = function(p := a, q := b.primal), only_b
            else:
                if type(b) is ndarray and b.dtype is FLOAT64 and b.size <= TINY:
                    if needs_b:
                        b = b.copy("K")  # the steps of `frozen` for the usual case, for speed
                elif type(b) is not float and type(b) is not int:
                    given, b = b, as_constant(b, a, function, needs_b)
                    if b is NotImplemented:
                        return with_parts_gathered(function, a, given)
                primal, pulls = function(p := a.primal, q := b), only_a
        else:
            tag = b.tag
            if type(a) is ndarray and a.dtype is FLOAT64 and a.size <= TINY:
                if needs_a:
                    a = a.copy("K")
            elif type(a) is not float and type(a) is not int:
                given, a = a, as_constant(a, b, function, needs_a)
                if a is NotImplemented:
                    return with_parts_gathered(function, given, b)
            primal, pulls = function(p := a, q := b.primal), only_b
        y = new(NumR)  # and not NumR(primal, ZERO, tag), to spare the call of __init__
        y.primal, y.adjoint, y.tag = primal, ZERO, tag
        kind = type(primal)
        if kind is float or kind is float64:
            operation: Operation = (pulls[0], y, a, b)
        elif kind is ndarray and primal.dtype is FLOAT64:
            if 0 < primal.size <= SMALL:
                operation = (pulls[2], y, a, b, primal, p, q)
            else:
                operation = sparing.binary(pulls[3], pulls[4], y, a, b, p, q)
        elif issubclass(kind, Number):  # the operation of the level below has looked at it
            array = primal.inside
            if type(array) is ndarray and 0 < array.size <= SMALL:
                operation = (pulls[2], y, a, b, primal, p, q)
            elif type(array) in DOUBLES or (type(array) is not ndarray and is_double(primal)):
                operation = (pulls[1], y, a, b)
            else:
                operation = sparing.binary(pulls[3], pulls[4], y, a, b, p, q)
        else:
            require_differentiable(function, primal)
            array = primal if kind is ndarray else getattr(primal, "inside", None)
            if (type(array) is ndarray and 0 < array.size <= SMALL) or type(array) in DOUBLES:
                operation = (pulls[2], y, a, b, primal, p, q)
            else:
                operation = sparing.binary(pulls[3], pulls[4], y, a, b, p, q)
        try:
            if tag.capture(here(), operation):
                raise tag.misplaced()
        except GreenletError:
            raise tag.misplaced() from None
        return y

    if function in CHOICES:
        return operation_by_choice(function, partials[0], operate)
    return operate if None not in partials else without_derivative_in_one(function, partials, operate)


def unary(function: Callable[[Any], Any], partials: tuple[Any]) -> Callable[[Any], Any]:
    """The operation for y = function(x) of a `NumR`."""
    partial_x = as_function(partials[0])
    share_of_x = share(partials[0])

    def pull_scalar(operation: Operation) -> None:
        _, y, x = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            try:
                x_bar = partial_x(y.primal, x.primal) * y_bar
            except ArithmeticError:
                x_bar = ieee(partial_x, y.primal, x.primal) * y_bar
            x.adjoint = x.adjoint + x_bar

    def pull_nested(operation: Operation) -> None:
        _, y, x = operation
        y_bar = y.adjoint
        if y_bar is not ZERO:
            x_bar = share_of_x(y_bar, y.primal, x.primal)
            x.adjoint = x_bar if (before := x.adjoint) is ZERO else before + x_bar

    pull_array, pull_large, reads = pull_of_unary(partials[0]), pull_of_large(partials, 0), values_read(partials, 1)
    FUNCTION_OF.update(dict.fromkeys((pull_scalar, pull_nested, pull_array, pull_large), function))

    def operate(x: Any) -> Any:
        tag = x.tag
        primal = function(x.primal)
        y = new(NumR)  # and not NumR(primal, ZERO, tag), to spare the call of __init__
        y.primal, y.adjoint, y.tag = primal, ZERO, tag
        kind = type(primal)
        if kind is float or kind is float64:
            operation: Operation = (pull_scalar, y, x)
        elif kind is ndarray and primal.dtype is FLOAT64:
            if 0 < primal.size <= SMALL:
                operation = (pull_array, y, x, primal, x.primal)
            else:
                operation = sparing.unary(pull_large, reads, y, x)
        elif issubclass(kind, Number):  # the operation of the level below has looked at it
            array = primal.inside
            if type(array) is ndarray and 0 < array.size <= SMALL:
                operation = (pull_array, y, x, primal, x.primal)
            elif type(array) in DOUBLES or (type(array) is not ndarray and is_double(primal)):
                operation = (pull_nested, y, x)
            else:
                operation = sparing.unary(pull_large, reads, y, x)
        else:
            require_differentiable(function, primal)
            array = primal if kind is ndarray else getattr(primal, "inside", None)
            if (type(array) is ndarray and 0 < array.size <= SMALL) or type(array) in DOUBLES:
                operation = (pull_array, y, x, primal, x.primal)
            else:
                operation = sparing.unary(pull_large, reads, y, x)
        try:
            if tag.capture(here(), operation):
                raise tag.misplaced()
        except GreenletError:
            raise tag.misplaced() from None
        return y

    return operate


def require_differentiable(function: Callable[..., Any], answer: Any) -> None:
    """Raise TypeError if an answer that is not in double precision is no floating-point number either."""
    is_inexact(answer)
    if function in CHOICES:
        require_order(function, answer)


def without_derivative_in_one(
    function: Callable[..., Any], partials: Any, operate: Callable[..., Any]
) -> Callable[..., Any]:
    """The operation where the table gives None for an operand: this operand is always a constant."""

    def operate_on_other(*operands: Any) -> Any:
        given = [plain_value(x) if partial is None else x for x, partial in zip(operands, partials, strict=True)]
        return operate(*given) if any(type(x) is NumR for x in given) else function(*given)

    return operate_on_other


def as_constant(constant: Any, x: NumR, function: Callable[..., Any], needed: bool) -> Any:
    """The constant operand of an operation on `x`, copied if the way back needs it; or NotImplemented."""
    if type(constant) is ndarray and constant.dtype is not OBJECT:
        return frozen(constant, x.tag) if needed else constant
    operand = as_operand(constant, x, function)
    return frozen(operand, x.tag) if needed and isinstance(operand, Number | Wrapped) else operand


def make_operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation that computes `function` and goes back by the partial derivatives of `rule`."""
    make: Any = unary if len(rule.partials) == 1 else binary
    return make(function, rule.partials)  # type: ignore[no-any-return]


def getitem(x: NumR, index: Any) -> Any:
    """y = x[index]. It is fast, as a program may do it for each element."""
    primal, tag = x.primal, x.tag
    if type(primal) is not ndarray:
        array = primal.inside if issubclass(type(primal), Number) and primal.has_one_value else None
        if not (array.ndim if type(array) is ndarray else shape_of(primal)):
            return ArrayNumber.__getitem__(x, index)
    kind = type(index)
    if kind is ndarray and type(primal) is ndarray and primal.ndim > 1:  # may be rows
        part = read(primal, index)
    else:
        part = primal[index]
    if kind is slice:  # the steps of `frozen_index` for the usual case, for speed
        if type(index.stop) not in BOUNDS or type(index.start) not in BOUNDS or type(index.step) not in BOUNDS:
            index = frozen_index(index)
    elif kind is ndarray:
        index = frozen(index, tag)
    elif kind is not int:
        index = frozen_index(index)
    y = held = new(NumR)
    y.primal, y.adjoint, y.tag = part, ZERO, tag
    if type(part) is not float64:  # not an element
        if type(part) is not ndarray or part.base is not None:
            y.adjoint = window(part, x, index) or ZERO
        elif part.size > SMALL:
            held = with_shell(y)
    place = x.adjoint
    try:
        if tag.capture(here(), (pull_item, held, place if type(place) is Shell else x, index)):
            raise tag.misplaced()
    except GreenletError:
        raise tag.misplaced() from None
    return y


def taken_item(x: NumR, index: Any) -> NumR:
    """A copy of x[index]."""
    y = NumR(copied_part(x.primal, index), ZERO, x.tag)
    capture(x.tag, (pull_item, with_shell(y), waiting(x, False), frozen_index(index)))
    return y


def pull_item(operation: Operation) -> None:
    _, y, x, index = operation
    y_bar = y.adjoint
    kind = type(y_bar)
    if kind is not float64 and kind is not ndarray and type(y_bar := summed(y)) is Masked:
        accumulate_at(x, index, y_bar.values, y_bar.mask)
    elif y_bar is not ZERO:
        accumulate_at(x, index, y_bar)


FUNCTION_OF[pull_item] = operator.getitem
