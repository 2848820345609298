"""Reverse mode by closures that call one another at once: right, and exponential."""

import itertools
import sys
from contextlib import contextmanager

import numpy as np
import optree
import pytest
from hypothesis import assume, given, settings

import shiftreset_ad
from shiftreset_ad.formulations import karczmarczuk
from shiftreset_ad.formulations.karczmarczuk import NumK, grad
from shiftreset_ad.formulations.language import evaluate, parse
from shiftreset_ad.formulations.overloading import Overloaded
from tests.formulations.random_terms import programs


def squared(times):
    def f(x):
        for _ in range(times):
            x = x * x
        return x

    return f


@pytest.fixture
def calls(monkeypatch):
    """How many calls of backpropagators of inputs, and so of ways from the result to an input, grad(f)(x) takes."""
    counted = [0]

    def of_input(place):
        def back(x_bar):
            counted[0] += 1
            return {place: x_bar}

        return back

    monkeypatch.setattr(karczmarczuk, "_input", of_input)

    def number(f, x):
        counted[0] = 0
        grad(f)(x)
        return counted[0]

    return number


def test_the_fatal_flaw(calls):
    """Each x * x doubles the calls; the answer is right all the same."""
    assert [calls(squared(n), 1.0) for n in range(1, 13)] == [2**n for n in range(1, 13)]
    assert grad(squared(10))(1.01) == pytest.approx(1024 * 1.01**1023)


def test_what_is_used_once_is_gone_through_once(calls):
    def chain(n):
        def f(x):
            for _ in range(n):
                x = np.sin(x)
            return x

        return f

    assert [calls(chain(n), 1.0) for n in (1, 10, 100)] == [1, 1, 1]


class Counting(Overloaded):
    """A number that counts its operations."""

    operations = 0

    def __init__(self, primal):
        self.primal = primal

    def operate(self, function, *operands):
        Counting.operations += 1
        return Counting(function(*(x.primal if isinstance(x, Counting) else x for x in operands)))


def test_operations_double():
    counts = []
    for n in range(4, 12):
        Counting.operations = 0
        grad(squared(n))(Counting(1.0))
        counts.append(Counting.operations)
    growth = [b / a for a, b in itertools.pairwise(counts)]
    assert growth == pytest.approx([2.0] * len(growth), rel=0.05)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(programs(size=15))
def test_random_programs(case):
    f, x = evaluate(case[0]), case[1]
    with np.errstate(all="ignore"):
        expected = optree.tree_leaves(shiftreset_ad.grad(f)(x))
        assume(np.all(np.isfinite(expected)) and np.max(np.abs(expected)) < 1e6)
        assert optree.tree_leaves(grad(f)(x)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_structures_and_constants():
    x = {"a": (2.0, "name"), "b": [3.0, 4], "c": 5.0}
    assert grad(lambda x: x["a"][0] * x["b"][0] * x["b"][1])(x) == {"a": (12.0, None), "b": [8.0, None], "c": 0.0}
    assert grad(lambda x: 7.0)(1.0) == 0.0
    assert grad(parse("fun x -> fst x * snd x"))((2.0, 3.0)) == (3.0, 2.0)


def test_higher_orders():
    f = lambda x: np.sin(x) * x  # noqa: E731
    found, expected = f, f
    for _ in range(4):
        found, expected = grad(found), shiftreset_ad.grad(expected)
        assert found(0.5) == pytest.approx(expected(0.5), rel=1e-12)


def test_nested_derivatives_keep_apart():
    def inner(grad):
        return lambda x: x * grad(lambda y: x * y * y)(x * x)

    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    found, expected = inner(grad), inner(shiftreset_ad.grad)
    for _ in range(3):
        found, expected = grad(found), shiftreset_ad.grad(expected)
        assert found(1.3) == pytest.approx(expected(1.3), rel=1e-12)


def test_a_number_of_an_outer_derivative_is_a_constant_result_of_the_inner():
    assert grad(lambda x: x * grad(lambda y: x * x)(1.0) + x)(2.0) == 1.0


@contextmanager
def recursion_limit(limit):
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def row(x, times=1200):
    for _ in range(times):
        x = np.sin(x) + 0.5
    return x


def test_a_thousand_operations_nest_on_the_stack():
    with recursion_limit(1000), pytest.raises(RecursionError, match="nest as deep as operations follow one another"):
        grad(row)(0.4)
    with recursion_limit(20000):
        assert grad(row)(0.4) == pytest.approx(shiftreset_ad.grad(row)(0.4), rel=1e-9, abs=1e-300)
    assert grad(lambda x: x * x)(3.0) == 6.0


@pytest.mark.parametrize("result", [lambda x: (x, x), lambda x: [x], lambda x: None, lambda x: "x", lambda x: x < 1.0])
def test_a_result_that_is_no_number_is_refused(result):
    with pytest.raises(TypeError, match="grad: the function must return one number"):
        grad(result)(1.0)


def test_other_errors():
    with pytest.raises(TypeError, match="function"):
        grad(3.0)
    with pytest.raises(NameError, match="y"):
        grad(parse("fun x -> x * y"))(1.0)
    with pytest.raises(NotImplementedError, match="frexp"):
        grad(lambda x: np.frexp(x))(NumK(1.0, lambda x_bar: {}, 0))
