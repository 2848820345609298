"""What derivatives cost, counted in arithmetic operations of a program of scalars by a number that counts.

`Counted` is a number of an older tag, so that all arithmetic at the lowest level is done on it. The bounds are those of
the theory (Griewank and Walther, Evaluating Derivatives, chapter 3): a tangent or a gradient costs a small multiple of
the function, at any number of arguments, and so does the product of a Hessian and a vector.
"""

from collections import Counter
from typing import ClassVar

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jacrev, jvp, vjp
from shiftreset_ad.numbers.installing import install_operators
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.linear_maps import by_linear_maps
from shiftreset_ad.numbers.operands import as_operand
from shiftreset_ad.numbers.tags import Tag


class Counted(ArrayNumber):
    __slots__ = ("primal", "tag")
    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, primal, tag):
        self.primal, self.tag = primal, tag

    def structured(self, rule, args, kwargs, form=None):
        return by_linear_maps(self, rule, args, kwargs, form)

    @staticmethod
    def linearized(tag, answer, active):
        Counted.counts["structured"] += 1
        return Counted(answer, tag)


def _make_operation(rule, function):
    def operate(*operands):
        number = next(x for x in operands if type(x) is Counted)
        values = [x.primal if type(x) is Counted else as_operand(x, number, function) for x in operands]
        if any(x is NotImplemented for x in values):
            return NotImplemented
        Counted.counts[rule.function.__name__] += 1
        return Counted(function(*values), number.tag)

    return operate


install_operators(Counted, _make_operation)


def count(program, *args):
    """How many operations `program` does on the lists of floats `args`."""
    tag = Tag.around([])
    Counted.counts.clear()
    try:
        program(*([Counted(x, tag) for x in arg] for arg in args))
    finally:
        tag.finish()
    return Counted.counts.total()


def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total = total + 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


def polynomial(x):
    y = x[0]
    for a in x:
        y = y * a + a
    return y


def waves(x):
    total = 0.0
    for a in x:
        total = total + np.sin(a) * np.exp(a)
    return total


PROGRAMS = [rosenbrock, polynomial, waves]
POINT = [0.3 + 0.05 * i for i in range(20)]
DIRECTION = [1.0] * 20


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_tangent_costs_at_most_three_times_the_function(f):
    assert count(lambda x, v: jvp(f, (x,), (v,)), POINT, DIRECTION) <= 3 * count(f, POINT)


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_gradient_costs_at_most_three_times_the_function(f):
    assert count(grad(f), POINT) <= 3 * count(f, POINT)


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_hessian_times_a_vector_costs_at_most_three_operations_on_dual_numbers_for_each_of_the_function(f):
    # Forward over reverse does the operations of the gradient, on dual numbers, and nothing else.
    on_duals = count(grad(f), POINT)
    assert on_duals <= 3 * count(f, POINT)
    # An operation on dual numbers is up to four on floats, if both operands of a product are dual.
    assert count(lambda x, v: hvp(f, (x,), (v,)), POINT, DIRECTION) <= 8 * count(f, POINT)


@pytest.mark.parametrize("f", PROGRAMS)
def test_the_bounds_do_not_depend_on_the_number_of_arguments(f):
    def ratio(size):
        x = [0.3 + 0.5 * i / size for i in range(size)]
        return count(grad(f), x) / count(f, x)

    assert ratio(200) == pytest.approx(ratio(20), rel=0.1)


def test_each_row_of_a_jacobian_costs_one_way_back():
    def f(x):
        return [polynomial(x), waves(x), rosenbrock(x)]

    forward = count(f, POINT)

    def all_rows(x, rows):
        _, pullback = vjp(f, x)
        for row in rows:
            pullback(row)

    first = [1.0, None, None]
    one = count(lambda x: all_rows(x, [first]), POINT) - forward
    ten = count(lambda x: all_rows(x, [first] * 10), POINT) - forward
    assert ten == 10 * one
    assert one <= 2 * count(polynomial, POINT)  # the other two are not gone through


def test_a_jacobian_does_the_arithmetic_of_one_way_back_on_all_rows_at_once():
    def f(x):
        return [polynomial(x), waves(x), rosenbrock(x)]

    def one_way_back(x):
        _, pullback = vjp(f, x)
        pullback([1.0, 1.0, 1.0])

    assert count(jacrev(f), POINT) <= 1.5 * count(one_way_back, POINT)
