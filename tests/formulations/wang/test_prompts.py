"""Reverse mode by shift and reset with a prompt for each derivative: Wang et al. 2019, section 3.7."""

import itertools

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad import reset, shift
from shiftreset_ad.control import ControlError
from shiftreset_ad.formulations.wang import prompts
from shiftreset_ad.formulations.wang.prompts import grad
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples, supplement


@examples
def test_examples_of_the_paper(example):
    cases.check_example(grad, example)


@supplement
def test_examples_of_the_supplement(example):
    cases.check_supplement(grad, example)
    f, _, second = cases.SUPPLEMENT[example]
    assert grad(grad(f))(5.0) == second


@pytest.mark.parametrize(
    "check",
    [
        cases.check_structures,
        cases.check_random_programs,
        cases.check_nesting,
        cases.check_third_order,
        cases.check_with_the_library,
        cases.check_deep,
        cases.check_counted,
        cases.check_errors,
        cases.check_control_in_the_program,
        cases.check_unused_result_of_infinite_slope,
    ],
)
def test_of_every_room(check):
    check(grad)


def test_every_function_of_the_table():
    cases.check_functions(grad, second=lambda f: grad(grad(f)))


def hessian_times(f):
    return lambda x, v: grad(lambda x: sum(g * w for g, w in zip(grad(f)(x), v, strict=True)))(x)


@pytest.mark.parametrize("x", [-3.0, 0.0, 0.5, 2.0])
def test_section_3_7_reverse_of_reverse(x):
    """The example of the paper, 6x for 2x + x^3, and the orders after it."""
    f = lambda x: 2.0 * x + x * x * x  # noqa: E731
    assert grad(grad(f))(x) == 6.0 * x
    assert grad(grad(grad(f)))(x) == 6.0
    assert grad(grad(grad(grad(f))))(x) == 0.0


def test_a_hessian_times_a_vector():
    cases.check_hessian(hessian_times)


@pytest.mark.slow
def test_a_deep_gradient_of_a_gradient():
    f = cases.deep(400)
    expected = shiftreset_ad.grad(shiftreset_ad.grad(f))(1.1)
    assert grad(grad(f))(1.1) == pytest.approx(expected, rel=1e-10)


def test_an_outer_operation_takes_the_inner_derivative_along_and_brings_it_back():
    """What is done on either side of an outer operation inside an inner derivative, is done once and in order."""
    trail = []

    def outer(x):
        def inner(y):
            trail.append("before")
            z = x * x
            trail.append("after")
            return z * y

        slope = grad(inner)(2.0)
        trail.append("inner derivative done")
        return slope

    assert grad(outer)(3.0) == 6.0
    assert trail == ["before", "after", "inner derivative done"]


def test_control_of_the_program_across_levels():
    def f(x):
        slope = grad(lambda y: reset(lambda: y * shift(lambda k: k(x * y) * x)))  # y (x y) x, so 2 x^2 y
        return slope(x)

    assert grad(f)(1.5) == pytest.approx(6 * 1.5**2)


def test_with_one_prompt_for_all_levels_derivatives_are_confused(monkeypatch):
    """The inner way back gives an adjoint to the number of the outer derivative (highOrder.scala)."""
    should_be_one = lambda x: x * grad(lambda y: x + y)(1.0)  # noqa: E731
    assert grad(should_be_one)(1.0) == 1.0
    one = prompts.Level()
    monkeypatch.setattr(prompts, "Level", lambda: one)
    assert grad(should_be_one)(1.0) == 2.0


def test_with_prompts_of_one_age_an_operation_looks_for_a_reset_that_is_over(monkeypatch):
    """An inner derivative is complete when its reset ends, and so its numbers must be newer than the outer ones."""
    product = lambda x: x * grad(lambda y: x * y * y)(3.0)  # noqa: E731
    assert grad(product)(2.0) == 2 * 2 * 6.0
    monkeypatch.setattr(prompts, "serials", itertools.repeat(0))
    with pytest.raises(ControlError, match="no reset of this prompt is running"):
        grad(product)(2.0)


def test_an_error_inside_both_levels_leaves_nothing_behind():
    def f(x):
        def inner(y):
            z = x * y
            raise KeyError(f"{z.primal.primal}")

        return grad(inner)(2.0)

    with pytest.raises(KeyError, match=r"6\.0"):
        grad(f)(3.0)
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0


def test_an_inner_error_may_be_caught_by_the_outer_program():
    def f(x):
        def inner(y):
            z = x * y
            if z > 1.0:
                raise ValueError
            return z

        try:
            return grad(inner)(x)
        except ValueError:
            return x * np.sin(x)

    assert grad(f)(2.0) == pytest.approx(np.sin(2.0) + 2.0 * np.cos(2.0))
    assert grad(f)(0.5) == 1.0


def test_a_number_after_its_derivative_is_refused():
    kept = []
    grad(lambda x: kept.append(x) or x * x)(3.0)
    with pytest.raises(ControlError):
        kept[0] * 2.0
