"""Sums of products: the form of an expression in which like terms meet, so that d0 += d1 * in, twice, is 2.0 * in * d1.

Sums and products are put into another order, and what is multiplied by zero is dropped. So the results of an optimised
program may differ in their last digits, and in infinities and NaNs, as with a compiler's `-ffast-math`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from shiftreset_ad.formulations.wang.staged.code import Constant, Expression, Field, Operation, Read

Factors: TypeAlias = tuple[Expression, ...]


class Sum:
    """Products of factors, each with a coefficient; products with the same factors are one."""

    def __init__(self) -> None:
        self.terms: dict[frozenset[tuple[Expression, int]], tuple[float, Factors]] = {}

    def add(self, coefficient: float, factors: Factors) -> None:
        """Add a product."""
        alike = frozenset(Counter(factors).items())
        before, factors = self.terms.get(alike, (0.0, factors))
        self.terms[alike] = before + coefficient, factors

    def include(self, other: Sum, times: float = 1.0) -> None:
        """Add all products of another sum, each multiplied by a number."""
        for coefficient, factors in other.terms.values():
            self.add(times * coefficient, factors)

    def products(self) -> list[tuple[float, Factors]]:
        """The products that are not zero."""
        return [(coefficient, factors) for coefficient, factors in self.terms.values() if coefficient]

    def expression(self) -> Expression:
        """The sum as an expression: numbers first in each product, and adjoints last."""
        first, *rest = self.products() or [(0.0, ())]
        answer = _product(*first)
        for coefficient, factors in rest:
            function = np.subtract if coefficient < 0.0 else np.add
            answer = Operation(function, (answer, _product(abs(coefficient), factors)))
        return answer


def sum_of(expression: Expression) -> Sum:
    """An expression as a sum of products. No product of sums is multiplied out, as this could take long."""
    found = Sum()
    match expression:
        case Constant(value):
            found.add(value, ())
        case Operation(np.add | np.subtract as function, (a, b)):
            found.include(sum_of(a))
            found.include(sum_of(b), 1.0 if function is np.add else -1.0)
        case Operation(np.negative, (a,)):
            found.include(sum_of(a), -1.0)
        case Operation(np.multiply, operands):
            coefficient = 1.0
            factors: Factors = ()
            for operand in map(sum_of, operands):
                match operand.products():
                    case []:
                        return Sum()
                    case [(times, more)]:
                        coefficient, factors = coefficient * times, (*factors, *more)
                    case _:
                        factors = (*factors, operand.expression())
            found.add(coefficient, factors)
        case Operation(function, operands):
            found.add(1.0, (Operation(function, tuple(map(simplified, operands))),))
        case Field(tree, name):
            found.add(1.0, (Field(simplified(tree), name),))
        case _:
            found.add(1.0, (expression,))
    return found


def simplified(expression: Expression) -> Expression:
    """The expression as a sum of products.

    >>> simplified(Operation(np.multiply, (Constant(3.0), Operation(np.negative, (Constant(2.0),)))))
    Constant(value=-6.0)
    """
    return sum_of(expression).expression()


def is_small(expression: Expression) -> bool:
    """Whether a copy of the expression costs next to nothing: a product of two factors, at most."""
    products = sum_of(expression).products()
    return not products or (len(products) == 1 and len(products[0][1]) <= 2 and all(map(_is_atom, products[0][1])))


def _is_atom(expression: Expression) -> bool:
    return not isinstance(expression, Operation)


def _product(coefficient: float, factors: Factors) -> Expression:
    ordered = sorted(factors, key=lambda factor: isinstance(factor, Read))
    if not ordered:
        return Constant(coefficient)
    if coefficient == -1.0:
        ordered[0] = Operation(np.negative, (ordered[0],))
    elif coefficient != 1.0:
        ordered.insert(0, Constant(coefficient))
    return _multiplied(ordered)


def _multiplied(factors: Iterable[Expression]) -> Expression:
    answer, *rest = factors
    for factor in rest:
        answer = Operation(np.multiply, (answer, factor))
    return answer
