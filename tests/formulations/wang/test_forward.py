"""Forward mode with tags: Wang et al. 2019, sections 2.3 to 2.5."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftreset_ad
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.wang import forward
from shiftreset_ad.formulations.wang.forward import NumF, derivative, grad, jvp
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples, supplement


@examples
def test_examples_of_the_paper(example):
    cases.check_example(grad, example)
    f, _, x, expected = cases.EXAMPLES[example]
    assert derivative(f)(x) == pytest.approx(expected)
    assert jvp(f)(x, 2.0) == pytest.approx(2.0 * expected)


@given(st.floats(-1e100, 1e100))
def test_fig_5_for_all_x(x):
    """d/dx (2x + x^3) = 2 + 3x^2, for numbers of any size."""
    assert derivative(lambda x: 2.0 * x + x * x * x)(x) == pytest.approx(2.0 + 3.0 * x * x, rel=1e-14)


@supplement
def test_examples_of_the_supplement(example):
    cases.check_supplement(grad, example)
    f, _, second = cases.SUPPLEMENT[example]
    assert derivative(derivative(f))(5.0) == second


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
    ],
)
def test_of_every_room(check):
    check(grad)


def test_every_function_of_the_table():
    cases.check_functions(grad, second=lambda f: derivative(derivative(f)))


def test_each_number_of_a_gradient_has_a_pass_of_its_own():
    runs = []

    def f(x):
        runs.append([isinstance(number, NumF) for number in x])
        return x[0] * x[1]

    assert grad(f)((2.0, 3.0)) == (3.0, 2.0)
    assert runs == [[True, False], [False, True]]


def test_a_constant_input_has_no_tangent_that_an_infinite_slope_could_spoil():
    with np.errstate(divide="ignore"):
        assert grad(lambda x: np.sqrt(x[0]) + x[1])((0.0, 1.0)) == (np.inf, 1.0)


def test_section_2_4_without_tags_the_inner_derivative_takes_the_outer_tangent_for_its_own(monkeypatch):
    should_be_one = lambda x: x * derivative(lambda y: x + y)(1.0)  # noqa: E731
    assert derivative(should_be_one)(1.0) == 1.0
    monkeypatch.setattr(forward, "tags", itertools.repeat(0))
    assert derivative(should_be_one)(1.0) == 2.0
    assert derivative(lambda x: x * x * x)(4.0) == 48.0  # one level has nothing to confuse


def test_without_an_order_of_tags_the_outer_derivative_swallows_the_inner_one(monkeypatch):
    """A tag must not only differ, but tell which derivative is newer: else the inner result is the outer's."""
    product = lambda x: derivative(lambda y: x * y * y)(3.0)  # noqa: E731
    assert derivative(product)(2.0) == 6.0
    monkeypatch.setattr(forward, "tags", itertools.count(0, -1))
    with pytest.raises(ValueError, match="the result is a number of an inner derivative"):
        derivative(product)(2.0)


def test_directions():
    f = lambda x: x["a"] * x["b"][0] + np.sin(x["b"][1])  # noqa: E731
    x, x_dot = {"a": 2.0, "b": [3.0, 0.5]}, {"a": 0.1, "b": [0.2, 0.3]}
    assert jvp(f)(x, x_dot) == pytest.approx(0.3 + 0.4 + 0.3 * np.cos(0.5))
    assert jvp(f)(x, x_dot) == pytest.approx(shiftreset_ad.jvp(f, (x,), (x_dot,))[1])
    assert jvp(parse("fun x -> fst x * snd x"))((2.0, 3.0), (1.0, 10.0)) == 23.0
    assert jvp(lambda x: 3.0)(1.0, 1.0) == 0.0


def test_nested_directions():
    """The second derivative along two directions: u^T H v."""
    f = lambda x: x[0] * x[0] * x[1]  # noqa: E731
    along = lambda v: lambda x: jvp(f)(x, v)  # noqa: E731
    assert jvp(along((1.0, 2.0)))((3.0, 5.0), (7.0, 11.0)) == 2 * 5 * 7 + 2 * 3 * 11 + 2 * 2 * 3 * 7


def test_a_direction_of_another_structure_is_refused():
    with pytest.raises(TypeError, match=r"jvp: the direction .* needs a float for each float of the argument"):
        jvp(lambda x: x[0])((1.0, 2.0), (1.0,))
    with pytest.raises(TypeError, match="jvp: the direction 1 needs a float"):
        jvp(lambda x: x)(1.0, 1)
