"""Forward mode of structures, and its errors."""

import numpy as np
import pytest

from shiftreset_ad.formulations.krawiec.duals import grad, jvp
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.language.values import Right


def test_result_of_any_structure():
    derivative = jvp(lambda x: {"product": x[0] * x[1], "more": [x[0], 3.0, "text"]})
    assert derivative((2.0, 3.0), (10.0, 1.0)) == {"product": 32.0, "more": [10.0, 0.0, None]}


def test_a_sum_and_a_pair():
    assert jvp(parse("fun x -> inr (x * x, 1.0)"))(3.0, 1.0) == Right((6.0, 0.0))


def test_direction_that_is_a_number_of_another_derivative():
    assert grad(lambda t: jvp(lambda x: x * x)(t, t))(3.0) == 12.0


@pytest.mark.parametrize("direction", [(1.0, 2.0, 3.0), 1.0, (1.0, "a"), [1.0, 2.0], (1.0, 2)])
def test_direction_of_another_structure(direction):
    with pytest.raises(TypeError, match="the structure of the argument"):
        jvp(lambda x: x[0])((1.0, 2.0), direction)


def test_a_part_that_is_no_number_needs_no_direction():
    x = {"x": 2.0, "name": "x"}
    assert jvp(lambda x: x["x"] * x["x"])(x, {"x": 1.0, "name": None}) == 4.0
    assert jvp(lambda x: x["x"] * x["x"])(x, x) == 8.0


def test_a_pass_for_each_input():
    calls = []

    def f(x):
        calls.append(x)
        return x[0] * x[1] * x[2]

    assert grad(f)((2.0, 3.0, 5.0)) == (15.0, 10.0, 6.0)
    assert len(calls) == 3


def test_nested_directions():
    """d/dx of the derivative of y -> x * y * y along x at x: 2 x**3, so 6 x**2."""
    assert jvp(lambda x: jvp(lambda y: x * y * y)(x, x))(2.0, 1.0) == 24.0
    assert jvp(lambda x: jvp(np.sin)(x, 1.0))(0.3, 1.0) == pytest.approx(-np.sin(0.3))
