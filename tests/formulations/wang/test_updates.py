"""Wang et al. 2019, section 3.6: continuations that return an immutable map of updates."""

import ast
import inspect

import numpy as np
import pytest

from shiftreset_ad.formulations.wang import updates
from shiftreset_ad.formulations.wang.updates import Id, Number, added, finish, grad, operate
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples


@examples
def test_examples_of_the_paper(example):
    cases.check_example_as_term(grad, example)


@pytest.mark.parametrize("check", [cases.check_functions, cases.check_random_programs, cases.check_errors_of_terms])
def test_of_every_room(check):
    check(grad)


def multiply(a, b, k):
    return operate(np.multiply, (a, b), k)


def polynomial(x, k):
    """2x + x^3"""
    return multiply(
        2.0, x, lambda y1: multiply(x, x, lambda y2: multiply(y2, x, lambda y3: operate(np.add, (y1, y3), k)))
    )


def test_the_polynomial():
    for x in (-2.0, 0.0, 0.5, 3.0):
        assert grad(polynomial)(x) == 2 + 3 * x * x


def test_a_continuation_takes_a_number_and_returns_a_map():
    """The type of the paper, NumR => Map[Id, Double]; more than one number gets an update."""
    x, y = Number(2.0, 0), Number(5.0, 0)
    seen = []

    def k(z):
        seen.append(z)
        return {z.id: 10.0}

    assert multiply(x, y, k) == {seen[0].id: 10.0, x.id: 50.0, y.id: 20.0}
    assert finish(x, 0) == {x.id: 1.0}
    assert finish(3.0, 0) == {}


def test_why_a_number_in_place_of_the_map_is_not_enough():
    """A continuation of the type Double => Double returns the gradient of its argument, and of no earlier number."""

    def times(y, number, k):
        """y * number, where y is the newest number: its gradient is all that can be returned."""
        return number * k(y * number)

    assert times(3.0, 2.0, lambda y1: times(y1, 5.0, lambda y2: 1.0)) == 10.0  # of 10x: each number is used once

    def square(x, k):
        return 2.0 * x * k(x * x)

    cube = square(3.0, lambda y2: times(y2, 3.0, lambda y3: 1.0))  # of (x * x) * x
    assert cube == 18.0  # and not 27: the share of the last x is lost
    cube = grad(lambda x, k: multiply(x, x, lambda y2: multiply(y2, x, k)))(3.0)
    assert cube == 27.0


def test_a_map_is_not_changed():
    before = {Id(0, 1): 1.0}
    assert added(before, Id(0, 1), 2.0) == {Id(0, 1): 3.0}
    assert before == {Id(0, 1): 1.0}


def test_no_adjoint_is_assigned_to():
    """There is no assignment to an attribute or an element but in the constructor of a number."""
    tree = ast.parse(inspect.getsource(updates))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name != "__init__":
            for node in ast.walk(function):
                targets = getattr(node, "targets", [getattr(node, "target", None)])
                assert not any(isinstance(target, (ast.Attribute, ast.Subscript)) for target in targets)


def test_a_derivative_inside_of_another_one():
    def inside(x, k):
        slope = grad(lambda y, k1: multiply(x, y, k1))(2.0)
        return multiply(x, slope, k)

    with pytest.raises(TypeError, match="operands of two derivatives"):
        grad(inside)(3.0)

    def of_the_outer_number_only(x, k):
        slope = grad(lambda y, k1: multiply(x, x, lambda z: k1(y)))(2.0)
        return multiply(x, slope, k)

    with pytest.raises(TypeError, match="operands of two derivatives"):
        grad(of_the_outer_number_only)(3.0)


@pytest.mark.parametrize("program", [lambda x, k: 3.0, lambda x, k: multiply(x, x, lambda y: y)])
def test_what_is_not_returned_by_k(program):
    with pytest.raises(TypeError, match="must return what k returns"):
        grad(program)(2.0)


def test_an_operator_has_no_place_for_its_continuation():
    with pytest.raises(TypeError, match="in explicit CPS"):
        grad(lambda x, k: k(x * x))(2.0)
