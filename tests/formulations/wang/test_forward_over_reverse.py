"""Forward over reverse: Wang et al. 2019, section 3.7."""

import itertools

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.wang import forward_over_reverse
from shiftreset_ad.formulations.wang.forward_over_reverse import grad, hvp, jvp
from tests.formulations.wang import cases
from tests.formulations.wang.cases import examples, supplement


def derivative(f):
    return lambda x: jvp(f)(x, 1.0)


@examples
def test_examples_of_the_paper(example):
    cases.check_example(grad, example)
    cases.check_example(derivative, example)
    f, term, x, _ = cases.EXAMPLES[example]
    expected = shiftreset_ad.grad(shiftreset_ad.grad(f))(x)
    assert hvp(f)(x, 1.0) == pytest.approx(expected)
    assert hvp(parse(term))(x, 1.0) == pytest.approx(expected)


@supplement
def test_examples_of_the_supplement(example):
    cases.check_supplement(grad, example)
    f, _, second = cases.SUPPLEMENT[example]
    assert hvp(f)(5.0, 1.0) == second


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


def test_forward_mode_alone():
    cases.check_nesting(derivative)
    cases.check_third_order(derivative)


def test_every_function_of_the_table():
    cases.check_functions(grad, second=lambda f: lambda x: hvp(f)(x, 1.0))


def test_section_3_7_a_hessian_times_a_vector():
    cases.check_hessian(hvp)


@pytest.mark.parametrize("modes", list(itertools.product((grad, derivative), repeat=3)))
def test_modes_nest_in_any_order(modes):
    """highOrder.scala: x^3 at 4 has 48, 24, 6, by whichever mode is inside which."""
    first, second, third = modes
    cube = lambda x: x * x * x  # noqa: E731
    assert first(cube)(4.0) == 48.0
    assert second(first(cube))(4.0) == 24.0
    assert third(second(first(cube)))(4.0) == 6.0
    confusing = lambda x: x * first(lambda y: x * y * second(lambda z: x * y * z * z)(y))(x)  # noqa: E731
    # d/dz = 2xyz, so x y (2 x y y) = 2 x^2 y^3 has 6 x^2 y^2 in y: x * 6 x^4, of which the derivative is 30 x^4
    assert third(confusing)(1.5) == pytest.approx(30 * 1.5**4)
    assert third(lambda x: x * first(lambda y: x + y)(1.0))(1.0) == 1.0


@pytest.mark.parametrize(("outer", "inner"), [(grad, derivative), (derivative, grad)])
def test_with_levels_of_one_age_derivatives_are_confused(monkeypatch, outer, inner):
    product = lambda x: x * inner(lambda y: x * y * y)(3.0)  # noqa: E731
    assert outer(product)(2.0) == 2 * 2 * 6.0
    monkeypatch.setattr(forward_over_reverse, "serials", itertools.count(0, -1))
    with pytest.raises(ValueError, match="the result is a number of an inner derivative"):
        outer(product)(2.0)


def test_a_hessian_times_a_vector_in_one_pass():
    runs = []

    def f(p):
        runs.append(p)
        return p["x"] * p["x"] * p["y"][0] + np.sin(p["y"][1]) * p["x"]

    x, v = {"x": 2.0, "y": (3.0, 0.5), "n": 1}, {"x": 0.1, "y": (0.2, 0.3), "n": 0}
    found = hvp(f)(x, v)
    assert len(runs) == 1
    cos, sin = np.cos(0.5), np.sin(0.5)
    assert found == {
        "x": pytest.approx(6 * 0.1 + 4 * 0.2 + cos * 0.3),
        "y": (pytest.approx(4 * 0.1), pytest.approx(cos * 0.1 - 2 * sin * 0.3)),
        "n": None,
    }


def test_an_input_that_is_not_used_has_a_row_of_zeros():
    assert hvp(lambda p: p[0] * p[0])((2.0, 3.0), (1.0, 1.0)) == (2.0, 0.0)
    assert hvp(lambda p: p[0])((2.0, 3.0), (1.0, 1.0)) == (0.0, 0.0)


def test_third_order_by_a_hessian_times_a_vector_inside_a_gradient():
    third = grad(lambda x: hvp(lambda y: y * y * y * x)(x, 1.0))  # 6 x x
    assert third(2.0) == 24.0


def test_a_direction_of_another_structure_is_refused():
    with pytest.raises(TypeError, match=r"jvp: \(1\.0,\) needs a float for each float of the argument"):
        jvp(lambda x: x[0])((1.0, 2.0), (1.0,))
    with pytest.raises(TypeError, match=r"hvp: \(1\.0,\) needs a float for each float of the argument"):
        hvp(lambda x: x[0])((1.0, 2.0), (1.0,))
    with pytest.raises(TypeError, match="jvp: the function must return one number"):
        jvp(lambda x: (x, x))(1.0, 1.0)
