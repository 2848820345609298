"""`shiftreset_ad.scipy.integrate.odeint`: derivatives of solutions, against closed forms and differences.

Tolerances are those of the solver, times the size of the derivatives: the solver is mostly asked for 1e-10 here, and
the errors of a step add up.
"""

from __future__ import annotations

import inspect
import math
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.integrate

import shiftreset_ad as sr
from shiftreset_ad import grad, jacfwd, jacrev, jvp
from shiftreset_ad.scipy import integrate
from shiftreset_ad.scipy.integrate import odeint
from shiftreset_ad.scipy.integrate.odeint import SUCCESS
from shiftreset_ad.testing import check_grads

precise = partial(odeint, rtol=1e-10, atol=1e-10)
CLOSE = {"rtol": 1e-6, "atol": 1e-7}


def decay(y, t, k):
    return -k * y


def oscillator(y, t, w):
    return [y[1], -w * w * y[0]]


def pendulum(y, t, b, c):
    theta, omega = y
    return [omega, -b * omega - c * np.sin(theta) + np.cos(t)]


def closed_decay(y0, t, k):
    return y0 * np.exp(-k * (t - t[0]))[:, None]


def closed_oscillator(y0, t, w):
    angle = w * (t - t[0])
    x = y0[0] * np.cos(angle) + y0[1] / w * np.sin(angle)
    return np.stack([x, -y0[0] * w * np.sin(angle) + y0[1] * np.cos(angle)], axis=1)


TIMES = ([0.0, 1.0], [0.3, 0.7, 0.7, 1.6], [1.0, 0.4, -0.5], [0.5], [0.2, 0.2, 0.9])


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("t", TIMES, ids=str)
@pytest.mark.parametrize(
    ("func", "closed", "n"), [(decay, closed_decay, 1), (oscillator, closed_oscillator, 2)], ids=["decay", "oscillator"]
)
def test_closed_forms(func, closed, n, t):
    generator = np.random.default_rng(TIMES.index(t))
    operands = generator.uniform(0.5, 1.5, n), np.array(t), generator.uniform(0.5, 2.0)

    def solved(y0, t, k):
        return precise(func, y0, t, (k,))

    def scalar(f):
        return lambda *operands: np.sum(np.sin(f(*operands)))

    every = (0, 1, 2)
    np.testing.assert_allclose(solved(*operands), closed(*operands), **CLOSE)
    for mode in (jacfwd, jacrev):
        for found, expected in zip(mode(solved, every)(*operands), mode(closed, every)(*operands), strict=True):
            np.testing.assert_allclose(found, expected, **CLOSE)
    v = tuple(np.cos(np.arange(1.0, 1.0 + np.size(x))).reshape(np.shape(x))[()] for x in operands)
    expected = sr.hvp(scalar(closed), operands, v)
    gradients = {"reverse": grad(scalar(solved), every), "forward": lambda *xs: jvp(scalar(solved), xs, v)[1]}
    seconds = [
        jvp(gradients["reverse"], operands, v)[1],
        sr.vjp(gradients["reverse"], *operands)[1](v),
        grad(gradients["forward"], every)(*operands),
    ]
    for second in seconds:
        for found, exact in zip(second, expected, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6)


def test_a_pendulum_against_differences():
    args = np.array([2.0, 0.3]), np.array([0.0, 0.5, 1.2]), 0.3, 4.0
    f = lambda y0, t, b, c: precise(pendulum, y0, t, (b, c))  # noqa: E731
    check_grads(f, args, order=1, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_second_derivatives_of_a_pendulum_against_differences():
    args = np.array([2.0, 0.3]), np.array([0.0, 0.3]), 0.3
    f = lambda y0, t, b: odeint(pendulum, y0, t, (b, 4.0), rtol=1e-8, atol=1e-8)  # noqa: E731
    check_grads(f, args, order=2, rtol=1e-4, atol=1e-6, eps=1e-2)


def test_third_derivatives_and_taylor_series():
    f = lambda k: precise(decay, 1.0, [0.0, 1.0], (k,))[1, 0]  # noqa: E731
    assert grad(grad(grad(f)))(2.0) == pytest.approx(-math.exp(-2.0), rel=1e-5)
    found = sr.taylor(f, 2.0, 3)
    np.testing.assert_allclose(found, math.exp(-2.0) * np.array([1, -1, 1 / 2, -1 / 6]), rtol=1e-5)


def test_values_are_scipys():
    y0, t = np.array([2.0, 0.3]), np.array([0.0, 0.5, 1.2])
    expected = scipy.integrate.odeint(pendulum, y0, t, (0.3, 4.0))
    np.testing.assert_array_equal(odeint(pendulum, y0, t, (0.3, 4.0)), expected)
    for f, x in [
        (lambda y0: odeint(pendulum, y0, t, (0.3, 4.0)), y0),
        (lambda t: odeint(pendulum, y0, t, (0.3, 4.0)), t),
        (lambda c: odeint(pendulum, y0, t, (0.3, c)), 4.0),
    ]:
        np.testing.assert_array_equal(jvp(f, (x,), (np.ones_like(x)[()],))[0], expected)
        np.testing.assert_array_equal(sr.vjp(f, x)[0], expected)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_precision_is_relative_to_the_derivative(scale):
    """At rest, where the solution itself asks for no precision."""
    f = lambda y0: odeint(oscillator, y0, [0.0, 5.0], (2.0,))[1]  # noqa: E731
    found = jvp(f, (np.zeros(2),), (np.array([scale, 0.0]),))[1]
    np.testing.assert_allclose(found, [scale * math.cos(10.0), -2.0 * scale * math.sin(10.0)], rtol=1e-6)
    found = grad(lambda y0: scale * f(y0)[0])(np.zeros(2))
    np.testing.assert_allclose(found, [scale * math.cos(10.0), 0.5 * scale * math.sin(10.0)], rtol=1e-6)


@pytest.mark.parametrize("k", [50.0, 1e4])
@pytest.mark.filterwarnings("error")
def test_a_problem_that_cannot_be_solved_backwards(k):
    """Where the solution forgets its beginning, the equation backward in time is unstable."""

    def at_the_end(k):
        return odeint(lambda y, t: -k * (y - np.cos(t)), 1.0, [0.0, 1.0])[1, 0]

    exact = (2 * k * math.cos(1) + (1 - k * k) * math.sin(1)) / (k * k + 1) ** 2
    assert grad(at_the_end)(k) == pytest.approx(exact, rel=1e-3)
    assert jvp(at_the_end, (k,), (1.0,))[1] == pytest.approx(exact, rel=1e-3)


def test_what_went_back_is_compared_with_what_went_there():
    """Errors of the fast component grow on the way back, and the slow one's derivative depends on it."""

    def slow(k):
        return odeint(lambda y, t: [-k * (y[0] - np.cos(t)), y[0] ** 2], [1.0, 0.0], [0.0, 1.0])[1, 1]

    assert grad(slow)(20.0) == pytest.approx(jvp(slow, (20.0,), (1.0,))[1], rel=1e-4)


@pytest.mark.slow
def test_of_several_parameters_that_cannot_be_solved_backwards():
    def f(p):
        return odeint(lambda y, t, p: p["k"] * (p["c"] - y), p["y0"], [0.0, 0.5, 1.0], (p,))

    p = {"k": np.array([2000.0, 3.0]), "c": np.array([0.5, 2.0]), "y0": np.array([1.0, 1.5])}
    y_bar = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 2.0]])
    found = grad(lambda p: np.sum(f(p) * y_bar))(p)
    rest = np.exp(-3.0 * np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(found["y0"], [1.0, np.sum(rest * y_bar[:, 1])], rtol=1e-5)
    np.testing.assert_allclose(found["c"], [3.5, np.sum((1 - rest) * y_bar[:, 1])], rtol=1e-5)
    np.testing.assert_allclose(found["k"][1], np.sum([0.0, 0.25, 0.5] * rest * y_bar[:, 1]), rtol=1e-5)


# What func may be


def test_numbers_that_func_closes_over():
    def of(k, y0):
        def func(y, t):
            return -k * y

        return precise(func, y0, [0.0, 1.0])[1, 0]

    assert grad(of)(2.0, 1.5) == pytest.approx(-1.5 * math.exp(-2.0), rel=1e-6)
    assert grad(grad(of))(2.0, 1.5) == pytest.approx(1.5 * math.exp(-2.0), rel=1e-5)
    assert grad(lambda k: jvp(of, (k, 1.5), (1.0, 0.0))[1])(2.0) == pytest.approx(1.5 * math.exp(-2.0), rel=1e-5)
    nested = grad(lambda k: k * grad(lambda y0: of(k, y0))(1.5))(3.0)
    assert nested == pytest.approx((1.0 - 3.0) * math.exp(-3.0), rel=1e-5)
    found = grad(lambda k: precise(partial(decay, k=k), 1.0, [0.0, 1.0])[1, 0])(2.0)
    assert found == pytest.approx(-math.exp(-2.0), rel=1e-6)


def test_func_may_count_its_calls():
    calls = 0

    def func(y, t, k):
        nonlocal calls
        calls += 1
        return -k * y

    assert grad(lambda k: odeint(func, 1.0, [0.0, 1.0], (k,))[1, 0])(2.0) == pytest.approx(-math.exp(-2.0), rel=1e-5)
    assert calls > 10


def test_structures_options_and_other_signatures():
    def func(t, y, p, label, rest):
        assert label == "constant"
        return np.array([p["k"][0] * y[1], -p["k"][1] * y[0] + rest[0]])

    def solved(p, **options):
        return odeint(func, p["y0"], [0.0, 0.5, 1.0], (p, "constant", (0.1, 2)), tfirst=True, **options)

    p = {"k": np.array([1.0, 4.0]), "y0": [1.0, 0.5]}
    tight = {"rtol": np.full(2, 1e-9), "atol": np.array([1e-9, 1e-10]), "tcrit": [0.75], "hmax": 0.1, "mxstep": 900}
    jacobian = {"Dfun": lambda t, y, p, *_: [[0.0, p["k"][0]], [-p["k"][1], 0.0]]}
    expected = grad(lambda p: np.sum(solved(p, rtol=1e-10, atol=1e-10)))(p)
    for options in (tight, jacobian, {"ml": 1, "mu": 1}, {"full_output": 1}):

        def f(p, options=options):
            answer = solved(p, **options)
            if "full_output" in options:
                answer, messages = answer
                assert messages["message"] == "Integration successful."
            return np.sum(answer)

        found = grad(f)(p)
        np.testing.assert_allclose(found["k"], expected["k"], rtol=1e-5)
        np.testing.assert_allclose(found["y0"], expected["y0"], rtol=1e-5)
        assert jvp(f, (p,), (p,))[1] == pytest.approx(
            np.sum(found["k"] * p["k"]) + np.dot(found["y0"], p["y0"]), rel=1e-5
        )


def test_a_rate_with_a_jump():
    def f(k, tcrit):
        return odeint(lambda y, t: np.where(t < 0.5, k, -k * k) + 0.0 * y, 0.0, [0.0, 1.0], tcrit=tcrit)[1, 0]

    assert grad(f)(2.0, [0.5]) == pytest.approx(0.5 - 2.0, rel=1e-6)
    assert jvp(lambda k: f(k, [0.5]), (2.0,), (1.0,))[1] == pytest.approx(0.5 - 2.0, rel=1e-6)


def test_float32_and_scalars():
    f = lambda y0: odeint(decay, y0, np.array([0.0, 1.0], np.float32), (2.0,))  # noqa: E731
    found = grad(lambda y0: f(y0)[1, 0])(np.float32(1.5))
    assert found.dtype == np.float32
    assert found == pytest.approx(math.exp(-2.0), rel=1e-6)
    assert jacrev(f)(1.5).shape == (2, 1)
    assert grad(lambda x: odeint(decay, [x, 2.0], [0, 1], (2.0,))[1, 0])(1.5) == pytest.approx(math.exp(-2), rel=1e-6)


# Errors


class Held:
    number = 1.0

    def __call__(self, y, t):
        return -self.number * y


def test_a_number_that_cannot_be_found():
    held = Held()

    def f(k, y0):
        held.number = k
        return odeint(held, y0, [0.0, 1.0])[1, 0]

    with pytest.raises(
        TypeError, match="the function depends on a number that is being differentiated, but the number is neither"
    ):
        grad(f, argnums=(0, 1))(2.0, 1.0)
    with pytest.raises(TypeError, match="differentiated"):
        grad(f)(2.0, 1.0)


def test_func_may_count_its_calls_in_a_variable_beside_a_number():
    calls, k = 0, 0.0

    def counts(y, t):
        nonlocal calls
        calls += 1
        return -k * y

    def f(x):
        nonlocal k
        k = x
        return odeint(counts, 1.0, [0.0, 1.0])[1, 0]

    assert grad(f)(2.0) == pytest.approx(-math.exp(-2.0), rel=1e-5)
    assert calls > 10


def test_an_array_that_the_program_changes_after_the_call():
    """The way back runs the function again, with the array as it was."""

    def f(y0, k):
        rate = np.array([2.0])
        y = odeint(lambda y, t: -k * rate * y, y0, [0.0, 1.0])[1, 0]
        rate[:] = 5.0
        return y

    assert grad(lambda y0: f(y0, 1.0))(1.0) == pytest.approx(math.exp(-2.0), rel=1e-6)
    assert grad(lambda k: f(1.0, k))(1.0) == pytest.approx(-2.0 * math.exp(-2.0), rel=1e-6)


def test_errors():
    with pytest.raises(TypeError, match="equations of real numbers"):
        grad(lambda k: odeint(decay, 1.0 + k * 1j, [0.0, 1.0], (2.0,))[1, 0])(2.0)
    with pytest.raises(ValueError, match="monotonically increasing"):
        grad(lambda k: odeint(decay, 1.0, [0.0, 1.0, 0.5], (k,))[1, 0])(2.0)
    with pytest.raises(ZeroDivisionError):
        grad(lambda k: odeint(lambda y, t, k: k / 0, 1.0, [0.0, 1.0], (k,))[1, 0])(2.0)
    with pytest.warns(scipy.integrate.ODEintWarning, match="Excess work"):
        odeint(decay, 1.0, [0.0, 1.0], (2.0,), mxstep=3)
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_the_rest_is_scipys():
    assert inspect.signature(odeint).parameters.keys() == inspect.signature(scipy.integrate.odeint).parameters.keys()
    defaults = [p.default for p in inspect.signature(odeint).parameters.values()]
    assert defaults == [p.default for p in inspect.signature(scipy.integrate.odeint).parameters.values()]
    assert integrate.RK45 is scipy.integrate.RK45
    assert "RK45" in dir(integrate)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, messages = odeint(decay, 1.0, [0.0, 1.0], (2.0,), full_output=1)
    assert messages["message"] in SUCCESS
    assert y.shape == (2, 1)
