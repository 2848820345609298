"""Linear interpolation; sinc and i0, which are smooth where their formulas are not."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.numpy.test_reductions import distinct
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, check_values, examples, generators

INF, NAN = np.inf, np.nan
KNOTS = np.array([-0.9, -0.2, 0.31, 1.17])


@st.composite
def interpolations(draw):
    x_shape = draw(st.sampled_from([(), (3,), (2, 3), (0,)]))
    moved = lambda xp: KNOTS + 0.1 * xp  # noqa: E731
    kind = draw(st.sampled_from(["plain", "sides", "period"]))
    if kind == "sides":
        shapes = (x_shape, (4,), (4,), (), ())
        return (lambda x, xp, fp, left, right: np.interp(x * 1.7, moved(xp), fp, left, right)), *shapes
    if kind == "period":
        return (lambda x, xp, fp, p: np.interp(x * 3.1, moved(xp), fp, period=2.6 + 0.1 * p)), x_shape, (4,), (4,), ()
    return (lambda x, xp, fp: np.interp(x * 1.7, moved(xp), fp)), x_shape, (4,), (4,)


any_shape = st.sampled_from([(), (4,), (2, 3), (0,)])
CASES = {
    np.interp: interpolations(),
    np.sinc: any_shape.map(lambda shape: ((lambda x: np.sinc(x * 2.3)), shape)),
    np.i0: any_shape.map(lambda shape: ((lambda x: np.i0(x * 3.1)), shape)),
}
some = settings(examples, max_examples=20)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@some
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    xs = [distinct(shape, generator) + 0.013 for shape in shapes]
    check(f, *xs, generator=generator, dtypes=function is not np.interp)
    check_taylor(f, *xs, generator=generator)


def test_interpolation_of_every_kind():
    generator = np.random.default_rng(0)
    for dtype in (np.float16, np.float32):
        x, fp = np.array([0.1, 5.0, -3.0], dtype), np.arange(4).astype(dtype)
        check_values(lambda x, fp: np.interp(x, KNOTS, fp), x, fp)
        assert grad(lambda x: np.sum(np.interp(x, KNOTS, fp)))(x).dtype == dtype  # noqa: B023
    at_complex_points(lambda fp: np.interp([0.1, 5.0], KNOTS, fp), np.arange(4.0), generator=generator, dtypes=False)
    check(
        lambda x: np.real(np.interp(x, KNOTS, np.arange(4) * 1j + 2)),
        np.float64(0.1),
        generator=generator,
        dtypes=False,
    )
    check(lambda x: np.interp(x, [0, 1, 2], [5, 7, 1]), np.array([0.3, 1.6]), generator=generator, dtypes=False)


def test_derivative_at_a_knot_is_the_mean_of_both_sides():
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 8.0])

    def slope(x, *sides):
        return grad(lambda x: np.interp(x, xp, fp, *sides))(x)

    assert [slope(x) for x in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0)] == [0, 0.5, 1, 2, 3, 1.5, 0]
    assert [slope(x, -1.0, 9.0) for x in (-1.0, 0.0, 3.0, 4.0)] == [0, 1, 3, 0]
    np.testing.assert_array_equal(grad(lambda fp: np.interp(1.0, xp, fp))(fp), [0, 1, 0])
    np.testing.assert_array_equal(grad(lambda xp: np.interp(1.0, xp, fp))(xp), [0, -2, 0])
    assert grad(lambda x: np.interp(x, [0.0, 1.0, 1.0, 3.0], [0.0, 1.0, 5.0, 9.0]))(1.0) == 2.0
    assert grad(lambda x: np.interp(x, [0.5], [2.0]))(0.5) == 0.0
    assert grad(lambda x: np.interp(x, [0.0, 2.0], [1.0, 3.0], period=4.0))(6.0) == 0.0


@pytest.mark.parametrize("x", [-5.0, 0.0, 0.5, 1.0, 3.0, 7.25, NAN, INF])
@pytest.mark.parametrize(
    "options", [{}, {"left": -1.0}, {"right": 9.0, "left": 0.0}, {"period": 2.5}, {"period": -2.5}]
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_values(x, options):
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 8.0])
    found = grad(lambda fp: (fp[0], np.interp(x, xp, fp, **options)), has_aux=True)(fp)[1]
    np.testing.assert_allclose(sr.value(found), np.interp(x, xp, fp, **options), rtol=1e-14)


def test_wrong_interpolations():
    for arguments in (([1.0, 2.0], [1.0]), ([], []), ([1.0, 2.0], [1.0, 2.0], None, None, 0)):
        with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever NumPy says)
            np.interp(1.0, *arguments)
        with pytest.raises(ValueError, match=str(expected.value)[:20]):
            grad(lambda x, arguments=arguments: np.interp(x, *arguments))(1.0)


# Entire functions


def derivatives(f, x, count):
    for _ in range(count):
        yield f(x)
        f = grad(f)


def test_sinc_at_zero():
    """Every derivative: (-1)**k pi**2k / (2k + 1) of order 2k, and 0 of an odd one."""
    expected = [(-1) ** (k // 2) * math.pi**k / (k + 1) if k % 2 == 0 else 0.0 for k in range(7)]
    np.testing.assert_allclose(list(derivatives(lambda x: np.sinc(x) * 1.0, 0.0, 7)), expected, rtol=1e-12, atol=1e-13)
    for x in (1e-30, 1e-8, -1e-3):
        np.testing.assert_allclose(grad(np.sinc)(x), -(math.pi**2) / 3 * x, rtol=1e-5)


@pytest.mark.parametrize("x", [-0.3, 1.0, 1.999, 2.0, 2.001, 5.0, 40.0])
def test_sinc_near_and_far(x):
    """By the recursion x s_k + k s_(k-1) = d^k sin(pi x) / dx^k / pi."""
    values = [math.sin(math.pi * x) / (math.pi * x)]
    for k in range(1, 5):
        values.append((math.pi ** (k - 1) * math.sin(math.pi * x + k * math.pi / 2) - k * values[-1]) / x)
    found = list(derivatives(lambda x: np.sinc(x) * 1.0, x, 5))
    np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-11 if abs(x) > 1 else 1e-9)


def test_sinc_of_complex_numbers():
    generator = np.random.default_rng(0)
    at_complex_points(np.sinc, np.array([0.1, 1.5, 2.5]), generator=generator)
    assert grad(np.sinc, holomorphic=True)(0j) == 0


def test_i0_by_its_differential_equation():
    """x**2 y'' + x y' = x**2 y; at 0 the derivatives are 1, 0, 1/2, 0, 3/8."""
    np.testing.assert_allclose(list(derivatives(lambda x: np.i0(x) * 1.0, 0.0, 5)), [1, 0, 0.5, 0, 0.375], atol=1e-15)
    for x in (-3.0, 0.01, 1.0, 8.0, 25.0, 300.0, 700.0):
        y, first, second = derivatives(lambda x: np.i0(x) * 1.0, x, 3)
        np.testing.assert_allclose(x * x * second + x * first, x * x * y, rtol=1e-12)
    np.testing.assert_allclose(grad(np.i0)(1e-12), 5e-13, rtol=1e-13)
    np.testing.assert_allclose(grad(np.i0)(1.0), 0.5651591039924851, rtol=1e-14)
    with pytest.raises(TypeError, match="complex"):
        grad(lambda z: np.real(np.i0(z)))(1j)


def test_many_orders_are_cheap():
    assert len(list(itertools.islice(derivatives(lambda x: np.sinc(x) * 1.0, 0.5, 9), 9))) == 9
