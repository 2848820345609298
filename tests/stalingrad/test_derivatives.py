"""The programs dn, triple, series, slow-sqrt, marble and hessian: a derivative of a derivative in each mix of modes."""

import numpy as np
import pytest

from shiftreset_ad import value
from tests.stalingrad.modes import DERIVATIVE, GRADIENT, derivatives, mixes

SINES = {np.exp: [np.exp(4.0)] * 8, np.sin: [0.0, 1.0, 0.0, -1.0] * 2, np.cos: [1.0, 0.0, -1.0, 0.0] * 2}


@pytest.mark.parametrize("mode", "FR")
@pytest.mark.parametrize("f", SINES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", range(8))
def test_dn(f, n, mode):
    x = 4.0 if f is np.exp else 0.0
    assert derivatives(mode * n, f)(x) == pytest.approx(SINES[f][n], rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("modes", [*"FR", *mixes(2), *mixes(3)])
def test_triple(modes):
    order = len(modes)
    assert derivatives(modes, np.sqrt)(4.0) == [0.25, -0.03125, 0.01171875][order - 1]
    assert derivatives(modes, lambda x: x + x)(4.0) == [2.0, 0.0, 0.0][order - 1]
    assert derivatives(modes, lambda x: (x, x)[0])(4.0) == [1.0, 0.0, 0.0][order - 1]


def series(x):
    return x if x < 1e-5 else x + series(x / 2.0)


@pytest.mark.parametrize("mode", "FR")
def test_series(mode):
    expected = {1.0: 1.999992370605469, 2.0: 1.999996185302734}
    for x, slope in expected.items():
        assert DERIVATIVE[mode](series)(x) == pytest.approx(slope, rel=1e-15)


@pytest.mark.parametrize("modes", mixes(2))
def test_second_derivative_of_series(modes):
    assert derivatives(modes, series)(3.0) == 0.0


def sqrt(x):
    """By Newton's method; the result is the number before the last, and its derivative is not quite exact."""
    y = 1.0
    while True:
        next_y = y - (y * y - x) / (y + y)
        if abs(value(y - next_y)) <= 1e-5:
            return y
        y = next_y


@pytest.mark.parametrize("modes", mixes(2))
def test_slow_sqrt(modes):
    assert derivatives(modes, sqrt)(4.0) == pytest.approx(-0.03124939229460099, rel=1e-13)


@pytest.mark.parametrize("modes", mixes(2))
def test_marble(modes):
    """The authors leave out RR here, as it is too slow for them."""
    outer, inner = (DERIVATIVE[mode] for mode in modes)

    def f(x, w):
        return np.sin(x * w + np.sqrt(w))

    def marble(w):
        return f(0.0, w) + inner(lambda x: f(x, w))(0.0)

    assert outer(marble)(3.0) == pytest.approx(-1.061695367731588, rel=1e-14)


def quadratic(p):
    x, y = p
    return 2.0 * x * x + 3.0 * x * y + 4.0 * y * y


def dot(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True))


@pytest.mark.parametrize("modes", mixes(2))
def test_hessian(modes):
    outer, inner = (GRADIENT[mode] for mode in modes)
    rows = [outer(lambda p, i=i: inner(quadratic)(p)[i])([3.0, 4.0]) for i in range(2)]
    assert rows == [[4.0, 3.0], [3.0, 8.0]]
    times = outer(lambda p: dot(inner(quadratic)(p), [9.0, 10.0]))([3.0, 4.0])
    assert dot([7.0, 8.0], times) == 1318.0
