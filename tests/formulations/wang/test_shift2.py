"""Fig. 13 as it is printed: the second derivative by shift2."""

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.control import ControlError
from shiftreset_ad.formulations.wang.shift2 import gradR, gradRR

FUNCTIONS = {
    "a product": lambda x: x * x,
    "functions": lambda x: np.sin(x) * np.exp(x * x) / (1.0 + x),
    "sharing": lambda x: (lambda y: y * y * np.cos(y) + y)(x * x),
    "a branch": lambda x: x * x * x if x > 0.0 else x,
    "a loop": lambda x: sum((x**n for n in range(2, 6)), x),
    "a constant": lambda x: 3.0,
    "linear": lambda x: 2.0 * x - x,
    "the argument itself": lambda x: x,
}


@pytest.mark.parametrize("x", [0.0, 1.0, 2.0, -3.0, 0.375])
def test_fig_13_the_example_of_the_paper(x):
    """2x + x^3 has the second derivative 6x."""
    assert gradR(gradRR(lambda x: 2.0 * x + x * x * x))(x) == 6.0 * x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_second_derivative_is_that_of_the_library(name):
    f = FUNCTIONS[name]
    expected = shiftreset_ad.grad(shiftreset_ad.grad(lambda x: f(x) + 0.0 * x))(0.8)
    assert gradR(gradRR(f))(0.8) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_level_alone(name):
    f = FUNCTIONS[name]
    assert gradR(f)(0.8) == pytest.approx(shiftreset_ad.grad(lambda x: f(x) + 0.0 * x)(0.8), rel=1e-12)


def test_the_gradient_in_the_middle_of_a_program():
    """The outer program goes on with the inner gradient, and differentiates it with all that follows."""
    found = gradR(lambda x: np.sin(gradRR(lambda y: y * y * y)(x * x)) * x)(0.8)
    expected = shiftreset_ad.grad(lambda x: np.sin(3.0 * x**4) * x)(0.8)
    assert found == pytest.approx(expected, rel=1e-12)


def test_an_outer_number_inside():
    """d/dx (d/dy x y y at y = x) = d/dx 2 x x: the outer number is a constant to the inner derivative."""
    assert gradR(lambda x: gradRR(lambda y: y * y * x)(x))(3.0) == 12.0
    assert gradR(lambda x: gradRR(lambda y: x * y * y)(x))(3.0) == 12.0


def test_there_are_two_levels():
    with pytest.raises(TypeError, match="gradR: it is the outer derivative"):
        gradR(lambda x: x * gradR(lambda y: x * y)(3.0))(2.0)
    with pytest.raises(TypeError, match="gradR: it is the outer derivative"):
        gradR(gradR(lambda x: x * x))(2.0)
    with pytest.raises(TypeError, match="gradRR: it is the inner derivative"):
        gradR(gradRR(gradRR(lambda x: x * x)))(2.0)
    with pytest.raises(TypeError, match="gradRR: it is the inner derivative"):
        gradR(lambda x: gradRR(lambda y: y * gradRR(lambda z: z * z)(x))(x))(2.0)
    assert gradR(gradRR(lambda x: x * x))(2.0) == 2.0


def test_the_inner_level_does_not_run_alone():
    with pytest.raises(ControlError):
        gradRR(lambda x: x * x)(3.0)
