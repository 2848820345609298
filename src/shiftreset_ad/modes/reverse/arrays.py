"""The way back through an elementwise operation on arrays, made from its partial derivatives.

Of a small array, the Python calls count. A large array costs more to make than to compute with. So there a product
overwrites an array that nothing else needs: the adjoint of the answer, or the partial derivative. And a constant
partial derivative, such as that of x - y by y, multiplies what is left of the adjoint after the sum over the axes along
which the operand was broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy import multiply, ndarray, negative

from shiftreset_ad.control import Operation
from shiftreset_ad.modes.reverse.adjoints import accumulate, summed
from shiftreset_ad.modes.reverse.unsettled import Accumulator
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.numbers.partials import as_function, ieee
from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import shape_of, unbroadcast
from shiftreset_ad.rules.numpy.elementwise import other_of_a, other_of_b
from shiftreset_ad.rules.table import Partial

LARGE = 1000  # elements; a smaller array is made anew faster than an old array is overwritten

MANY = 4096  # elements; of a smaller array it takes as long to find out that it is new

Pull: TypeAlias = Callable[[Operation], None]


def pull_of_unary(partial: Partial) -> Pull:
    """The way back through y = f(x) of a small array."""
    function, sums, negates = as_function(partial), partial == 1.0, partial == -1.0

    def pull(operation: Operation) -> None:
        _, y, x, r, p = operation
        y_bar = y.adjoint
        if type(y_bar) is not ndarray and (y_bar := summed(y)) is ZERO:
            return
        if sums:
            accumulate(x, y_bar)
            return
        if negates:
            accumulate(x, -y_bar, True)
            return
        try:
            factor = function(r, p)
        except ArithmeticError:
            factor = ieee(function, r, p)
        accumulate(x, factor * y_bar, True)

    return pull


def pulls_of_binary(partial_a: Partial, partial_b: Partial) -> tuple[Pull, Pull, Pull]:
    """The ways back through y = f(a, b) of small arrays, to both operands, to `a` alone, and to `b` alone."""
    function_a, function_b = as_function(partial_a), as_function(partial_b)
    sums_a, sums_b, negates_b = partial_a == 1.0, partial_b == 1.0, partial_b == -1.0
    sums_both = sums_a and sums_b
    takes_b, takes_a = partial_a is other_of_a, partial_b is other_of_b  # of a product, without a call

    def pull_both(operation: Operation) -> None:
        _, y, a, b, r, p, q = operation
        y_bar = y.adjoint
        if type(y_bar) is not ndarray and (y_bar := summed(y)) is ZERO:
            return
        if sums_both:
            accumulate(a, y_bar)
            accumulate(b, y_bar)
            return
        try:
            factor_a = q if takes_b else None if sums_a else function_a(r, p, q)
            factor_b = p if takes_a else None if sums_b or negates_b else function_b(r, p, q)
        except ArithmeticError:
            factor_a, factor_b = ieee(function_a, r, p, q), ieee(function_b, r, p, q)
        if sums_a:
            accumulate(a, y_bar)
        else:
            accumulate(a, factor_a * y_bar, True)
        if sums_b:
            accumulate(b, y_bar)
        else:
            accumulate(b, -y_bar if negates_b else factor_b * y_bar, True)

    def pull_a(operation: Operation) -> None:
        _, y, a, _, r, p, q = operation
        y_bar = y.adjoint
        if type(y_bar) is not ndarray and (y_bar := summed(y)) is ZERO:
            return
        if sums_a:
            accumulate(a, y_bar)
            return
        try:
            factor = q if takes_b else function_a(r, p, q)
        except ArithmeticError:
            factor = ieee(function_a, r, p, q)
        accumulate(a, factor * y_bar, True)

    def pull_b(operation: Operation) -> None:
        _, y, _, b, r, p, q = operation
        y_bar = y.adjoint
        if type(y_bar) is not ndarray and (y_bar := summed(y)) is ZERO:
            return
        if sums_b:
            accumulate(b, y_bar)
            return
        if negates_b:
            accumulate(b, -y_bar, True)
            return
        try:
            factor = p if takes_a else function_b(r, p, q)
        except ArithmeticError:
            factor = ieee(function_b, r, p, q)
        accumulate(b, factor * y_bar, True)

    return pull_both, pull_a, pull_b


def pull_of_large(partials: tuple[Partial, ...], place: int) -> Pull:
    """The way back through y = f(x), or y = f(a, b), of large arrays, to the operand at this place alone."""
    partial, place_of_x, place_of_y = partials[place], 2 + place, 2 + len(partials)
    constant = None if callable(partial) else partial or 0.0

    def pull(operation: Operation) -> None:
        y, x, values = operation[1], operation[place_of_x], operation[place_of_y:]
        y_bar = y.adjoint
        if type(y_bar) is not ndarray and (y_bar := summed(y)) is ZERO:
            return
        is_spare = type(y_bar) is ndarray and y.owns
        if constant is None:
            accumulate_product(x, factor_of(partial, values), y_bar, is_spare, values)
        else:
            accumulate_multiple(x, constant, y_bar, is_spare)

    return pull


def pull_of_large_both(partial_a: Partial, partial_b: Partial) -> Pull:
    """The way back through y = f(a, b) of large arrays, to both operands."""
    constant_a, constant_b = (None if callable(p) else p or 0.0 for p in (partial_a, partial_b))

    def pull(operation: Operation) -> None:
        y, a, b, values = operation[1], operation[2], operation[3], operation[4:]
        y_bar = y.adjoint
        if type(y_bar) is not ndarray and (y_bar := summed(y)) is ZERO:
            return
        if constant_a is None:
            factor = factor_of(partial_a, values)
            accumulate_product(a, factor, y_bar, False, values)
            is_needed = issubclass(type(factor), Number)  # y_bar is an operand of an outer operation
        else:
            accumulate_multiple(a, constant_a, y_bar, False)
            is_needed = True  # y_bar may be the adjoint of a as well
        is_spare = not is_needed and type(y_bar) is ndarray and y.owns
        if constant_b is None:
            accumulate_product(b, factor_of(partial_b, values), y_bar, is_spare, values)
        else:
            accumulate_multiple(b, constant_b, y_bar, is_spare)

    return pull


def factor_of(partial: Any, values: tuple[Any, ...]) -> Any:
    """The partial derivative at the values of the answer and the operands."""
    try:
        return partial(*values)
    except ArithmeticError:
        return ieee(partial, *values)


def accumulate_product(x: Accumulator, factor: Any, y_bar: Cotangent, is_spare: bool, values: tuple[Any, ...]) -> None:
    """Add `factor * y_bar` to the adjoint of `x`. `is_spare`: nothing else needs the array `y_bar`.

    The partial derivative `factor` is a new array, unless it is one of the `values` that it was computed from.
    """
    if type(factor) is ndarray and type(y_bar) is ndarray and y_bar.size > LARGE:
        is_alike = factor.dtype is y_bar.dtype
        if is_spare and (is_alike or factor.dtype.kind != "c"):
            accumulate(x, multiply(factor, y_bar, y_bar), True)
            return
        is_new = is_alike and factor.size > MANY and factor.base is None and id(factor) not in map(id, values)
        if is_new and factor.shape == y_bar.shape:
            accumulate(x, multiply(factor, y_bar, factor), True)
            return
    accumulate(x, factor * y_bar, True)


def accumulate_multiple(x: Accumulator, factor: float, y_bar: Cotangent, is_spare: bool) -> None:
    """Add the product of a constant and `y_bar` to the adjoint of `x`."""
    if factor == 1.0:
        accumulate(x, y_bar, is_spare)
        return
    if type(y_bar) is ndarray and (shape := shape_of(x.primal)) != y_bar.shape:
        y_bar, is_spare = unbroadcast(y_bar, shape), False
    if is_spare and type(y_bar) is ndarray and y_bar.size > LARGE and y_bar.dtype.kind in "fc":
        accumulate(x, negative(y_bar, y_bar) if factor == -1.0 else multiply(factor, y_bar, y_bar), True)
    else:
        accumulate(x, -y_bar if factor == -1.0 else factor * y_bar, True)
