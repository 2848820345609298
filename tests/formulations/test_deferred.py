"""Vectors of perturbations that are put off: Pearlmutter and Siskind 2008, section 6."""

import sys

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations import deferred
from shiftreset_ad.formulations.counting import count
from shiftreset_ad.formulations.deferred import NumD, grad, plus, times


def test_the_two_operations_on_deferred_numbers():
    v, w = (lambda z: 3.0 * z), (lambda z: 5.0 * z)
    assert times(2.0, v)(7.0) == 42.0
    assert plus(v, w)(1.0) == 8.0
    assert plus(times(2.0, v), times(10.0, w))(1.0) == 56.0


def test_all_arithmetic_on_perturbations_waits(monkeypatch):
    """The program multiplies primals only; the perturbations are multiplied when they are applied to 1."""
    applied = []
    monkeypatch.setattr(deferred, "_constant", lambda v: lambda z: applied.append(z) or v * z)

    def f(x):
        y = np.sin(x) * 3.0
        assert not applied
        return y

    assert grad(f)(0.5) == pytest.approx(3.0 * np.cos(0.5))
    assert applied == [pytest.approx(3.0 * np.cos(0.5))]


@pytest.fixture
def calls(monkeypatch):
    """How often the perturbation of an input is called by grad(f)(x)."""
    counted = [0]

    def constant(v):
        def called(z):
            counted[0] += 1
            return v * z

        return called

    monkeypatch.setattr(deferred, "_constant", constant)

    def number(f, x):
        counted[0] = 0
        grad(f)(x)
        return counted[0]

    return number


def squared(times):
    def f(x):
        for _ in range(times):
            x = x * x
        return x

    return f


def test_fan_in_calls_the_same_perturbation_again(calls):
    assert [calls(squared(n), 1.0) for n in range(1, 11)] == [2**n for n in range(1, 11)]
    assert grad(squared(10))(1.01) == pytest.approx(1024 * 1.01**1023)


def test_an_operation_costs_as_much_as_there_are_inputs():
    """The program is the same, and uses one input of n."""

    def f(x):
        y = x[0]
        for _ in range(10):
            y = np.sin(y)
        return y

    # Ten sines and ten slopes; for each input, ten products and one with 1 or 0.
    assert {n: count(grad(f), tuple([0.5] * n)).operations for n in (1, 10, 100)} == {1: 31, 10: 130, 100: 1120}


def test_the_gradients_are_right():
    f = lambda x: np.arctan2(x["a"], x["b"][0]) * np.exp(x["b"][1]) + x["a"]  # noqa: E731
    x = {"a": 0.5, "b": [1.5, -0.3]}
    found, expected = grad(f)(x), shiftreset_ad.grad(f)(x)
    assert found["a"] == pytest.approx(expected["a"])
    assert found["b"] == pytest.approx(expected["b"])
    assert grad(lambda x: 7.0)((1.0, 2.0)) == (0.0, 0.0)


def test_higher_orders():
    f = lambda x: np.sin(x) * x  # noqa: E731
    found, expected = f, f
    for _ in range(4):
        found, expected = grad(found), shiftreset_ad.grad(expected)
        assert found(0.5) == pytest.approx(expected(0.5), rel=1e-12)


def test_a_thousand_operations_nest_on_the_stack():
    def row(x):
        for _ in range(1500):
            x = np.sin(x) + 0.5
        return x

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        with pytest.raises(RecursionError, match="nest as deep as operations follow one another"):
            grad(row)(0.4)
    finally:
        sys.setrecursionlimit(limit)


def test_numbers_that_belong_to_an_outer_derivative_are_constants():
    assert grad(lambda x: x * grad(lambda y: x * x)(1.0) + x)(2.0) == 1.0
    with pytest.raises(NotImplementedError, match="frexp"):
        np.frexp(NumD(1.0, [], 0))
