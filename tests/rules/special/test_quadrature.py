from __future__ import annotations

import math

import numpy as np
import pytest

from shiftreset_ad.rules.special.quadrature import expm1_beyond, integrate, length_of, log1p_beyond, power


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,)])
def test_an_integral_has_the_shape_of_its_length(shape):
    rate = np.linspace(0.5, 2.0, math.prod(shape)).reshape(shape)
    length = 48.0 / rate
    found = integrate(lambda s, rate: rate * np.exp(-rate * s), length, rate)
    assert np.shape(found) == shape
    np.testing.assert_allclose(found, np.ones(shape), rtol=1e-14)


def test_each_element_has_as_many_nodes_as_its_length_needs():
    seen = []

    def integrand(s, rate):
        seen.append(s.shape)
        return rate * np.exp(-rate * s)

    rate = np.array([10.0, 1.0, 20.0, 0.8, 30.0])
    np.testing.assert_allclose(integrate(integrand, 48.0 / rate, rate), np.ones(5), rtol=2e-14)
    assert seen == [(32, 3), (160, 1), (192, 1)]


def test_many_elements_are_computed_in_blocks():
    sizes = []
    integrate(lambda s: sizes.append(s.size) or np.exp(-s), np.full(10_000, 48.0))
    assert max(sizes) <= 2**15
    assert sum(sizes) == 160 * 10_000


def test_the_length_is_where_nothing_is_left():
    rate = np.array([0.1, 1.0, 7.0])
    np.testing.assert_allclose(length_of(lambda s: -rate * s, lambda s: -rate, 100.0 / rate), 48.0 / rate)


@pytest.mark.parametrize("z", [1e-9, 1e-3, -1e-3, 0.1249, -0.1249, 0.1251, -0.1251, 3.0, -0.9])
def test_what_is_beyond_the_first_order_is_exact(z):
    """By the power series, summed from its smallest term."""
    exponential = math.fsum(z**k / math.factorial(k) for k in range(60, 1, -1))
    z = np.array([z])
    np.testing.assert_allclose(expm1_beyond(z, np.expm1(z)), exponential, rtol=3e-15)
    if abs(z) < 0.2:
        logarithm = math.fsum((-1.0) ** (k + 1) * z[0] ** k / k for k in range(60, 1, -1))
        np.testing.assert_allclose(log1p_beyond(z, np.log1p(z)), logarithm, rtol=5e-15)


def test_powers():
    x = np.array([-2.0, 0.0, np.inf])
    for k in range(4):
        np.testing.assert_array_equal(power(x, k), x**k)
