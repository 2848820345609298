"""Each operation has the bits that it has in Python, and leaves where Python raises an error or NumPy warns."""

import itertools
import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import check, eagerly, native, needs_native, same

pytestmark = needs_native

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, math.pi, 1e-310, 5e-324, 1e308, -1e308, math.inf, -math.inf, math.nan]
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
UNARY = [operator.neg, operator.pos, operator.abs, np.sqrt, np.square, np.reciprocal, np.negative, np.absolute, np.fabs]
TESTS = [np.isnan, np.isinf, np.isfinite]


def agrees(f, *points):
    """That native code has the function's bits wherever it does not leave, and leaves wherever the function raises."""
    entry = native(f, *points[0]).entry()
    for args in points:
        found, expected = entry(*args), eagerly(f, *args)
        if expected is None:
            assert found is None, (args, found)
        elif found is not None:
            assert all(map(same, found, expected)), (args, found, expected)


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("function", ARITHMETIC + COMPARISONS)
def test_operators_at_special_values(function, kind):
    points = [(kind(x), kind(y)) for x, y in itertools.product(SPECIAL, SPECIAL)]
    agrees(function, (kind(2.0), kind(3.0)), *points)


@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("function", UNARY + TESTS)
def test_functions_at_special_values(function, kind):
    agrees(function, (kind(2.0),), *[(kind(x),) for x in SPECIAL])


@settings(max_examples=300, deadline=None)
@given(st.floats(), st.floats())
def test_operators_at_random_values(x, y):
    for kind, function in itertools.product((float, np.float64), ARITHMETIC):
        found, expected = compiled(function, kind)(kind(x), kind(y)), eagerly(function, kind(x), kind(y))
        if expected is None:
            assert found is None
        elif found is not None:
            assert all(map(same, found, expected))


def compiled(function, kind, known={}):  # noqa: B006
    if (function, kind) not in known:
        known[function, kind] = native(function, kind(2.0), kind(3.0)).entry()
    return known[function, kind]


def test_ordinary_values_do_not_leave():
    check(lambda x, y: (x + y, x - y, x * y, x / y, x**y, -x, abs(x), x < y), (2.0, 3.0), (0.1, 7.0), (5.0, -2.0))
    check(lambda x: (x**2, x**-1, x**3), (2.0,), (-2.0,), (-0.5,), (1e-200,))
    check(lambda x: (x**2, x**-1, x**3), (np.float64(2.0),), (np.float64(-2.0),))


def test_where_python_raises_an_error_native_code_leaves():
    check(lambda x: 1.0 / x, (2.0,), (0.0,), (-0.0,), leaves=2)
    check(lambda x: x**0.5, (2.0,), (-1.0,), (4.0,), leaves=1)  # a complex number
    check(lambda x: x**-1, (2.0,), (0.0,), leaves=1)
    check(lambda x: x**2, (2.0,), (1e200,), leaves=1)
    check(lambda x: (1.0 / x, x)[1], (2.0,), (0.0,), leaves=1)  # the quotient is not needed


def test_where_numpy_warns_native_code_leaves():
    check(lambda x: 1.0 / x, (np.float64(2.0),), (np.float64(0.0),), (np.float64(math.inf),), leaves=1)
    check(lambda x: x * x, (np.float64(2.0),), (np.float64(1e200),), leaves=1)
    check(lambda x: x - x, (np.float64(2.0),), (np.float64(math.inf),), leaves=1)
    check(np.sqrt, (2.0,), (-2.0,), leaves=1)


def test_warnings_that_are_ignored_do_not_leave():
    def quiet(x):
        with np.errstate(all="ignore"):
            return 1.0 / x

    check(quiet, (np.float64(2.0),), (np.float64(0.0),))


def test_integers():
    check(lambda x, n: (x * n, x + n, n / 3, x < n, n * n, n - 7, -n, n == 3, x == n), (2.5, 3), (2.5, -4), (0.0, 0))
    check(lambda n: n * n, (3,), (3_037_000_499,), (3_037_000_500,), leaves=1)
    check(lambda n: n + 1, (3,), (2**63 - 2,), (2**63 - 1,), leaves=1)
    check(lambda n: -n, (3,), (-(2**63),), leaves=1)
    check(lambda n: abs(n), (3,), (-3,), (0,), (-(2**63),), leaves=1)
    check(lambda n: n * 1.0, (3,), (2**64,), (2**53 + 1,), (-(2**62) - 3,), leaves=1)
    check(lambda n: n / 3, (3,), (2**53,), (2**53 + 1,), leaves=1)
    check(lambda n: 1 / n, (3,), (0,), leaves=1)
    check(lambda x, n: x < n, (1.0, 3), (9007199254740992.0, 2**53 + 1), leaves=1)


def test_arrays_are_compared_with_integers_as_numpy_does_it():
    """NumPy rounds a long integer to a float, where Python would compare it exactly."""
    places, floats = np.arange(4), np.array([1.0, 2.0**53, -3.0, np.nan])
    for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
        check(lambda x, n, by=compare: by(places, n) * x, (1.0, 2), (1.5, 2**53 + 1), (0.5, -7))
        check(lambda x, n, by=compare: by(floats * x, n), (1.0, 1), (1.0, 2**53 + 1), (1.0, -3), (1.0, 2**62 - 1))
        check(lambda x, n, by=compare: by(n + 1, floats * x), (1.0, 1), (1.0, 2**53), (1.0, -4))
    check(lambda n: n, (3,), (True + 4,))


def test_quotients_and_remainders_of_integers():
    least = -(2**63)
    pairs = [(x, y) for x in (0, 1, 7, -7, 8, -8, least, least + 1, 2**63 - 1) for y in (1, 2, -2, 3, -3, least)]
    check(lambda x, y: (x // y, x % y), (7, 2), *pairs)
    check(lambda x, y: (x // y, x % y, x // 3, -x // 3, 7 % (y + 9)), (7, 2), (-7, 2), (9, -4))
    check(lambda x, y: x // y, (7, 2), (7, 0), (least, -1), (7, -1), leaves=2)
    check(lambda x, y: x % y, (7, 2), (7, 0), (0, 0), (7, -1), leaves=2)
    check(lambda x, y: (x > y) // y + (x > y) % 2, (7, 2), (1, 2))


def test_bits_of_integers():
    check(lambda x, y: (x & y, x | y, x ^ y, x & 1, (x > y) ^ 3, (x > 0) & (y > 0)), (12, 10), (-12, 10), (5, -(2**63)))
    check(lambda x, y: x >> y, (12, 1), (-12, 1), (12, 63), (-12, 64), (12, 2**40), (-1, 0), (12, -1), leaves=1)


def test_choices():
    check(lambda x: np.where(x > 0, x * x, -x) * 1.0, (2.0,), (-2.0,))
    agrees(lambda x: np.where(x > 0, x * x, -x) * 1.0, (2.0,), (math.nan,))  # which may leave
    check(lambda x: np.where(np.logical_not(x > 0), x, -x) + 1.0, (2.0,), (-2.0,))
    check(lambda x: (x > 0) & (x < 3), (2.0,), (-2.0,), (5.0,))
    check(lambda x: ((x > 0) | (x < -3), (x > 0) ^ (x > 1)), (np.float64(2.0),), (np.float64(-2.0),))
    check(lambda x: ~(x > 0), (np.float64(2.0),), (np.float64(-2.0),))


@pytest.mark.parametrize("kind", [float, np.float64])
def test_quotients_and_remainders_of_floats(kind):
    dividends, divisors = (-7.5, -2.0, -0.5, -0.0, 0.0, 0.3, 2.1, 1e17, 5e-324), (-3.0, -0.7, 0.7, 2.0, 1e300)
    points = [(kind(x), kind(y)) for x in dividends for y in divisors]
    outside = [(kind(1.0), kind(0.0)), (kind(np.inf), kind(1.0)), (kind(1.0), kind(np.nan))]
    check(lambda x, y: (x // y, x % y), (kind(3.3), kind(0.9)), *points, *outside, leaves=3)


@pytest.mark.parametrize(
    ("f", "x", "reason"),
    [
        (lambda x: np.sum(x), 3.0, "numpy.sum"),
        (lambda x: x * 1j, 3.0, "a complex"),
        (lambda x: x * np.float32(2.0), np.float32(3.0), "float32"),
        (lambda n: n**2, 3, "integers"),
        (lambda n: n * np.int64(3), 3, "int64"),
        (lambda x: x * 2**70, 3, "int"),
        (lambda x: x < 2**60, 3.0, "a large integer"),
        (lambda x: np.add(x, 1.0, dtype=np.float64), 3.0, "has options"),
        (lambda x: str(x) + "", 3.0, "it asks str"),
        (lambda x: np.modf(x)[0], 3.5, "modf"),
        (lambda x: np.ldexp(x, 2), 3.5, "for these types"),
    ],
)
def test_what_has_no_native_form_has_a_reason(f, x, reason):
    with pytest.raises(NoNativeFormError, match=reason):
        native(f, x)


def test_errors_that_are_exceptions_have_no_native_form():
    def strict(x):
        with np.errstate(all="raise"):
            return np.exp(x)

    with pytest.raises(NoNativeFormError, match="exceptions"):
        native(strict, 1.0)


# Questions


def test_a_question_with_another_answer_has_its_number():
    def f(x):
        if x > 0:
            return x * 2 if x < 10 else x
        return -x

    entry = native(f, 2.0).entry()
    assert [entry(x) for x in (3.0, -1.0, 20.0, 9.0)] == [[6.0], 0, 1, [18.0]]


def test_each_kind_of_question():
    def f(x, n):
        return x * float(x) + int(n) if x else x

    entry = native(f, 2.0, 3).entry()
    assert [entry(*args) for args in ((2.0, 3), (0.0, 3), (2.5, 3), (2.0, 4), (-0.0, 3))] == [[7.0], 0, 1, 2, 0]
    entry = native(lambda x: x * float(x), 0.0).entry()
    assert [entry(0.0), entry(-0.0)] == [[0.0], 0]
    entry = native(lambda x: x * float(x > 1), 2.0).entry()
    assert [entry(2.0), entry(0.0)] == [[2.0], 0]
    entry = native(lambda n, x: [x, -x][n], 1, 2.0).entry()
    assert [entry(1, 2.0), entry(0, 2.0)] == [[-2.0], 0]


def test_the_numbers_of_questions_are_those_of_the_steps_by_numpy():
    """A power of Python's floats is a question there, as it may be complex; native code leaves."""

    def f(x):
        y = x**0.5
        return y if y > 1 else -y

    entry = native(f, 4.0).entry()
    assert [entry(x) for x in (9.0, 0.25, -1.0)] == [[3.0], 1, None]


def test_an_error_comes_before_a_question():
    entry = native(lambda x: x if 1.0 / x > 0.0 else -x, 4.0).entry()
    assert [entry(x) for x in (9.0, -1.0, 0.0)] == [[9.0], 0, None]
