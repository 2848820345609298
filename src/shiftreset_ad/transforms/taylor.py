"""Taylor coefficients, and derivatives of any order of a function of one number, in one pass.

The function runs once, on `Series`. The cost is polynomial in the order. The cost of n nested derivatives is
exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import index
from typing import Any, Concatenate, cast, overload

import numpy as np

from shiftreset_ad.array_api.standard import adopted
from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.checks import named, require_all_usable
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.boundary.libraries import in_library_of
from shiftreset_ad.boundary.results import own
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.modes.series.expansion import Expansion
from shiftreset_ad.modes.series.number import Series, belongs
from shiftreset_ad.numbers.memory import protect
from shiftreset_ad.numbers.number import Number, with_levels_of, zeros_alike
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import P, Primal, Tangent, X, Y
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.rules.layouts import in_order
from shiftreset_ad.rules.numpy.recurrences import Coefficients
from shiftreset_ad.rules.stand_ins import is_staged

LARGEST = 170  # the largest number whose factorial is a float


@trimming
def taylor(f: Callable[[X], Any], x: X, order: int, direction: Tangent = None) -> Any:
    """The Taylor coefficients c_0, ..., c_order of `f` along a direction: f(x + t direction) = sum of c_k t**k.

    `x` and `direction` are numbers, arrays or structures of them, of the same structure and shapes. In `direction`,
    None stands for zero. If no direction is given, it is 1 in every element. An answer of shape s becomes an array of
    shape `(order + 1, *s)`; an integer, a string and the like in the answer stays as it is. Raises TypeError or
    ValueError if an argument, an order, a direction or an answer is of another kind. Griewank and Walther 2008,
    chapter 13.

    >>> taylor(lambda x: 1 / x, 1.0, 4)
    array([ 1., -1.,  1., -1.,  1.])
    """
    if not callable(f):
        raise TypeError(f"taylor: the function is {f!r:.60}, which cannot be called; write taylor(f, x, order)")
    name = named("taylor", f)
    order = require_count(name, "order", order)
    trees.require_differentiable(x, name, "x")
    inputs = trees.Parts(x)
    if direction is None:
        directions = [one_like(leaf) for leaf in inputs.numbers]
    else:
        directions = inputs.derivatives_in(direction, name, "direction", "x")
    answers, expansions = expanded(
        name, lambda numbers: f(inputs.with_numbers(numbers)), inputs.numbers, directions, order
    )
    return answers.with_numbers([stacked(coefficients, order) for coefficients in expansions])


@overload
def derivative(f: np.ufunc, n: int = 1) -> Callable[..., Any]: ...
@overload
def derivative(f: Callable[Concatenate[X, P], Y], n: int = 1) -> Callable[Concatenate[X, P], Y]: ...
def derivative(f: Callable[..., Any], n: int = 1) -> Callable[..., Any]:
    """The function that returns the n-th derivative of `f`, a function of one number, by one pass.

    `f` may return a number, an array or a structure. The derivative has the same shape and structure, with None for a
    part that has no derivative. `f` gets the arguments after the first as they are. Raises TypeError if `n` or an
    argument is of another kind, ValueError if `n` is negative. Griewank and Walther 2008, chapter 13; Karczmarczuk,
    ICFP 1998.

    >>> derivative(lambda x: x**5, 3)(2.0)
    240.0
    """
    name = named("derivative", f)
    return Derived(_nth_derivative, name, f, require_count(name, "n", n))


@trimming
def _nth_derivative(name: str, f: Callable[..., Any], n: int, /, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The n-th derivative of a function."""
    trees.require_differentiable(x, name, "x")
    number = adopted(x)
    if not trees.is_number(number) or shape_of(number) != ():
        raise TypeError(
            f"{name}: x must be one number, and is {x!r:.60}; use jacobian for a function of several numbers, and "
            "taylor along a direction"
        )
    numbers = trees.Parts(x).numbers
    answers, expansions = expanded(name, lambda xs: f(*xs, *args, **kwargs), numbers, [one_like(number)], n)
    return answers.derivative([nth_coefficient(coefficients, n) for coefficients in expansions])


def constant(directions: list[Tangent], array: Primal, tag: Tag) -> Series:
    """A constant array as a series with room for coefficients like these directions."""
    return Series([array, with_levels_of(zeros_alike(array), array, *directions)], tag)


def expanded(
    operator: str, f: Callable[[list[Primal]], Any], xs: list[Primal], directions: list[Tangent], order: int
) -> tuple[trees.Parts, list[Coefficients]]:
    """What `f` returns for the series `x + t direction`, and the coefficients of each number in it."""
    levels = (x.tag.level for x in (*xs, *directions) if isinstance(x, Number))
    tag = cast(Expansion, Expansion.around(levels, partial(constant, directions)))
    tag.order = order
    for x in xs:
        protect(tag, x, "is an argument")
    try:
        answer = f([x if v is None else Series([x, v][: order + 1], tag) for x, v in zip(xs, directions, strict=True)])
        trees.require_known(answer, operator)
        if issubclass(type(answer), int | np.integer | np.bool_):  # of a constant function
            answer = float(answer)
        answers = trees.Parts(answer)
        require_all_usable(operator, answers.numbers, tag)
    finally:
        tag.finish()
    expansions = [y.coefficients if belongs(y, tag) else [y] for y in answers.numbers]
    if carried.any:
        expansions = [carried.certain_of(coefficients) for coefficients in expansions]
    return answers, expansions


def one_like(x: Primal) -> Tangent:
    """The direction that is 1 in every element of `x`."""
    return 1.0 if type(x) is float else in_library_of(x, np.ones(shape_of(x), dtype_of(x))[()])


def stacked(coefficients: Coefficients, order: int) -> Any:
    """All coefficients along a new first axis, with zeros for the coefficients that were left out."""
    zero = np.zeros(shape_of(coefficients[0]), dtype_of(coefficients[0]))
    return in_order(np.stack([*coefficients, *[zero] * (order + 1 - len(coefficients))]), "C")


def nth_coefficient(coefficients: Coefficients, n: int) -> Any:
    """The n-th coefficient times the factorial of n."""
    y = coefficients[0]
    if n >= len(coefficients):
        return own(None, y)
    c_n = coefficients[n] * float(math.factorial(min(n, LARGEST)))
    for factor in range(LARGEST + 1, n + 1):
        c_n = c_n * factor
    return own(c_n, y)


def require_count(operator: str, name: str, order: Any) -> int:
    """`order` as an integer. Raises TypeError or ValueError unless it is a natural number."""
    if isinstance(order, bool) or not (isinstance(order, int | np.integer) or is_staged(order)):
        raise TypeError(f"{operator}: {name} must be an integer, 0 or more, and is {order!r:.60}")
    if order < 0:
        raise ValueError(f"{operator}: {name} must be 0 or more, and is {order}")
    return index(order)
