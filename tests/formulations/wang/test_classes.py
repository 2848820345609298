"""The classes of Fig. 5 and of section 2.5."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftreset_ad.formulations.wang import classes
from shiftreset_ad.formulations.wang.classes import Fig5, NumF, NumV, grad, grad_fig_5


@given(st.floats(-1e100, 1e100))
def test_fig_5_for_all_x(x):
    assert grad_fig_5(lambda x: 2 * x + x * x * x)(x) == pytest.approx(2 + 3 * x * x, rel=1e-14)


def test_section_2_4_the_example_as_printed():
    """The inner derivative should be 1. Fig. 5 gives 2, as x brings its own tangent."""

    def f(x):
        should_be_one = grad_fig_5(lambda y: x + y)(1)
        z = Fig5(should_be_one, 0)
        return x * z

    assert grad_fig_5(f)(1) == 2
    assert grad(lambda x: x * grad(lambda y: x + y)(1))(1).x == 1


def test_section_2_5_derivatives_are_first_class():
    f = lambda x: 2 * x + x * x * x * x  # noqa: E731
    expected = [lambda x: 2 + 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x, lambda x: 24, lambda x: 0]
    for derivative in expected:
        f = grad(f)
        assert [f(x).x for x in (-1.0, 0.0, 2.0)] == [derivative(x) for x in (-1.0, 0.0, 2.0)]


def test_section_2_5_a_mixed_product():
    """d/dx x (d/dy x y^2 at x) = d/dx 2 x^3"""
    assert grad(lambda x: x * grad(lambda y: x * y * y)(x))(3.0).x == 54.0


def test_section_2_4_nested_minimum_and_maximum():
    """min over x of max over y of (x - 1)^2 - (y - x)^2 is at x = 1, where y is 1, too."""
    payoff = lambda x, y: (x + -1.0) * (x + -1.0) + -1.0 * ((y + -1 * x) * (y + -1 * x))  # noqa: E731

    def best_y(x):
        y = 0.0
        for _ in range(30):
            y = y + 0.3 * grad(lambda y: payoff(x, y))(y)
        return y

    x = NumV(3.0)
    for _ in range(30):
        x = x + -0.3 * grad(lambda x: payoff(x, best_y(x)))(x)
    assert x.x == pytest.approx(1.0, abs=1e-6)
    assert best_y(x).x == pytest.approx(1.0, abs=1e-5)


def test_a_number_of_another_derivative_is_a_constant():
    older, newer = NumF(NumV(2.0), NumV(1.0), 0), NumF(NumV(3.0), NumV(1.0), 1)
    for a, b in ((older, newer), (newer, older)):
        product, total = a * b, a + b
        assert (product.tag, product.d, total.tag) == (1, product.d, 1)
        assert product.d.tag == 0
        assert product.d.x.x == 2.0
        assert total.d.x == 1.0
    assert grad(lambda x: 3.0)(1.0).x == 0.0
    assert grad(lambda x: grad(lambda y: x)(1.0))(1.0).x == 0.0


def test_a_number_that_has_left_its_derivative():
    kept = []

    def f(x):
        grad(lambda y: kept.append(x * y) or y)(2.0)
        return kept[0]

    with pytest.raises(ValueError, match="inner derivative, which is finished"):
        grad(f)(3.0)


def test_tags_must_grow(monkeypatch):
    """With one tag for all derivatives, perturbations are confused."""
    monkeypatch.setattr(classes, "TAGS", itertools.repeat(0))
    assert grad(lambda x: x * grad(lambda y: x + y)(1))(1).x == 2
