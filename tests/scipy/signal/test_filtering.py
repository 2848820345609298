"""`lfilter`: the three ways, values, states and errors, which are SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import shiftreset_ad as sr
from shiftreset_ad import grad, jvp
from shiftreset_ad.scipy.signal import lfilter
from tests.rules.three_ways import check

SIZES = [(1, 1), (3, 1), (1, 3), (2, 4), (4, 2)]


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("length", [1, 2, 6])
def test_three_ways(m, n, length):
    generator = np.random.default_rng(m + n)
    b, a = generator.normal(size=m), np.r_[1.3, 0.4 * generator.normal(size=n - 1)]
    x = generator.normal(size=length)
    check(lfilter, b, a, x, generator=generator, dtypes=False)
    zi = generator.normal(size=max(m, n) - 1)
    check(lambda b, a, x, zi: lfilter(b, a, x, zi=zi), b, a, x, zi, generator=generator, dtypes=False)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_along_each_axis(axis):
    generator = np.random.default_rng(0)
    b, a, x = np.array([0.5, 0.2, -0.3]), np.array([2.0, -0.4]), generator.normal(size=(4, 5))
    check(lambda b, a, x: lfilter(b, a, x, axis), b, a, x, generator=generator, dtypes=False)
    zi = generator.normal(size=(2, 5) if axis % 2 == 0 else (4, 2))
    check(lambda x, zi: lfilter(b, a, x, axis, zi), x, zi, generator=generator, dtypes=False)
    expected = scipy.signal.lfilter(b, a, x, axis, zi)
    found = jvp(lambda x: lfilter(b, a, x, axis, zi), (x,), (x,))[0]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(sr.value(ours), theirs, rtol=1e-13)


def test_parts_of_a_signal_go_on_from_the_state():
    """Two halves of a signal, the second from the state at the end of the first, are the whole signal."""
    generator = np.random.default_rng(1)
    b, x = np.array([0.5, 0.2, -0.3]), generator.normal(size=9)

    def in_halves(a):
        first, state = lfilter(b, np.stack([1.0, a]), x[:4], zi=np.zeros(2))
        second, _ = lfilter(b, np.stack([1.0, a]), x[4:], zi=state)
        return np.sum(np.concatenate([first, second]) ** 2)

    def at_once(a):
        return np.sum(lfilter(b, np.stack([1.0, a]), x) ** 2)

    assert in_halves(0.4) == pytest.approx(at_once(0.4), rel=1e-13)
    assert grad(in_halves)(0.4) == pytest.approx(grad(at_once)(0.4), rel=1e-12)
    assert grad(grad(in_halves))(0.4) == pytest.approx(grad(grad(at_once))(0.4), rel=1e-12)


def test_errors():
    x = np.ones(4)
    for call in (
        lambda x: lfilter([1.0], [1.0, 0.5], x, zi=np.ones(3)),
        lambda x: lfilter([[1.0]], [1.0], x),
    ):
        with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever SciPy says)
            call(x)
        with pytest.raises(ValueError) as found:  # noqa: PT011
            grad(lambda x, call=call: np.sum(call(x)))(x)
        assert str(found.value) == str(expected.value)
    with pytest.raises(NotImplementedError, match=r"lfilter has no derivative for complex numbers"):
        grad(lambda x: np.real(np.sum(lfilter([1j], [1.0], x))))(x)
    np.testing.assert_array_equal(lfilter([1.0], [1.0, 0.5], x), scipy.signal.lfilter([1.0], [1.0, 0.5], x))
