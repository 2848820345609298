"""The bound holds for errors that exact arithmetic measures, and tells good formulas from bad ones."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from shiftreset_ad.formulations.krawiec.rounding import UNIT_ROUNDOFF, rounding
from shiftreset_ad.formulations.language import parse

NUMBERS = st.floats(0.001, 1000.0).flatmap(lambda x: st.sampled_from([x, -x]))
FORMULAS = {
    "a sum": lambda a, b, c: a + b + c,
    "a difference of squares": lambda a, b, c: a * a - b * b,
    "its factors": lambda a, b, c: (a - b) * (a + b),
    "a polynomial": lambda a, b, c: ((a * b + c) * b - a) * b + 2 * c,
    "a quotient": lambda a, b, c: (a + b) / (c * c + 1),
    "cancellation": lambda a, b, c: (a + 1000000 * b) - 1000000 * b + c * 0,
    "a number that is used often": lambda a, b, c: (lambda d: d * d - d * c + d)(a - b * c),
    "a negation": lambda a, b, c: -(a * b) + -c,
}


@pytest.mark.parametrize("name", FORMULAS)
@given(a=NUMBERS, b=NUMBERS, c=NUMBERS)
def test_the_error_is_not_larger(name, a, b, c):
    f = FORMULAS[name]
    found = rounding(lambda x: f(*x))((a, b, c))
    assert found.value == f(a, b, c)
    error = abs(Fraction(f(a, b, c)) - f(Fraction(a), Fraction(b), Fraction(c)))
    assert error <= Fraction(found.bound) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**25)


@given(a=NUMBERS, b=NUMBERS)
def test_rounded_inputs(a, b):
    """The inputs 1/3 a and 1/3 b are rounded before the function sees them."""
    x, y = a / 3.0, b / 3.0
    found = rounding(lambda p: p[0] * p[1] - p[1], inputs_are_rounded=True)((x, y))
    third = Fraction(1, 3)
    exact = (Fraction(a) * third) * (Fraction(b) * third) - Fraction(b) * third
    assert abs(Fraction(x * y - y) - exact) <= Fraction(found.bound) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**25)


def test_formulas_for_the_same_number():
    """The root of x^2 - 2bx + 1 near to zero, by the formula of school, and by the one without cancellation."""
    school = rounding(lambda b: b - np.sqrt(b * b - 1.0))(1e6)
    stable = rounding(lambda b: 1.0 / (b + np.sqrt(b * b - 1.0)))(1e6)
    assert stable.bound < 4 * UNIT_ROUNDOFF * stable.value
    assert abs(school.value - stable.value) > 1e4 * stable.bound
    assert abs(school.value - stable.value) <= school.bound + stable.bound
    assert school.shares[0][0] == "sqrt"  # its error stays when the difference takes the number away


def test_a_sum_of_many_numbers():
    """The classical bound: each number goes through all later sums."""
    n = 100
    found = rounding(lambda x: sum(x[1:], x[0]))([1.0] * n)
    assert found.bound == pytest.approx(UNIT_ROUNDOFF * sum(range(2, n + 1)))
    assert found.shares[0] == ("add", pytest.approx(n * UNIT_ROUNDOFF))


def test_what_has_no_rounding():
    assert rounding(lambda x: -x)(3.0) == (-3.0, 0.0, [])
    assert rounding(lambda x: 5.0)(3.0) == (5.0, 0.0, [])
    assert rounding(lambda x: x)(3.0).bound == 0.0
    assert rounding(lambda x: x, inputs_are_rounded=True)(3.0).shares == [("input", 3.0 * UNIT_ROUNDOFF)]


def test_a_term():
    assert rounding(parse("fun x -> x * x"))(3.0).bound == 9.0 * UNIT_ROUNDOFF


def test_a_call_inside_another_one():
    with pytest.raises(TypeError, match="numbers of two calls"):
        rounding(lambda x: rounding(lambda y: x * y)(2.0).value)(3.0)


def test_an_argument_without_numbers():
    with pytest.raises(TypeError, match="rounding: the argument"):
        rounding(lambda x: x)("x")
    with pytest.raises(TypeError, match="rounding: the function must return one number"):
        rounding(lambda x: (x, x))(1.0)
