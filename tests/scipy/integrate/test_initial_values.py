"""`solve_ivp`: derivatives of solutions, ends, events and dense output, against closed forms and differences."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
import scipy.integrate

import shiftreset_ad as sr
from shiftreset_ad import grad, jacfwd, jacrev, jvp
from shiftreset_ad.scipy.integrate import solve_ivp
from shiftreset_ad.testing import check_grads

PRECISE = {"rtol": 1e-9, "atol": 1e-10}
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
METHODS = ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"]


def decay(t, y, k):
    return -k * y


def ball(t, y, g):
    return [y[1], -g]


def ground(t, y, g):
    return y[0]


def ground_ends(t, y, g):
    return y[0]


ground.direction = -1
ground_ends.terminal, ground_ends.direction = True, -1


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_in_every_mode_to_second_order(method):
    def at_end(k, y0, begin, end):
        return solve_ivp(decay, (begin, end), [y0, 1.0], method, args=(k,)).y[0, -1]

    def exact(k, y0, begin, end):
        return y0 * np.exp(-k * (end - begin))

    x, every = (0.7, 1.5, 0.2, 1.3), (0, 1, 2, 3)
    for mode in (jacfwd, jacrev):
        np.testing.assert_allclose(mode(at_end, every)(*x), mode(exact, every)(*x), **CLOSE)
    v = (0.3, -0.5, 0.2, 0.7)
    expected = sr.hvp(exact, x, v)
    gradient, slope = grad(at_end, every), (lambda *x: jvp(at_end, x, v)[1])
    for second in (jvp(gradient, x, v)[1], sr.vjp(gradient, *x)[1](v), grad(slope, every)(*x)):
        np.testing.assert_allclose(second, expected, **CLOSE)


@pytest.mark.parametrize("t_eval", [[0.0, 0.4, 1.0], [0.3, 0.9], [0.5]], ids=str)
@pytest.mark.parametrize("backwards", [False, True])
def test_times_of_the_user(t_eval, backwards):
    sign = -1.0 if backwards else 1.0
    times = sign * np.array(t_eval)

    def solved(k, y0, t):
        return solve_ivp(decay, (0.0, sign), y0, t_eval=t, args=(k,), **PRECISE).y

    def exact(k, y0, t):
        return np.outer(y0, np.exp(-k * t))

    operands = 0.7, np.array([1.0, -2.0]), times
    for mode in (jacfwd, jacrev):
        for found, expected in zip(mode(solved, (0, 1, 2))(*operands), mode(exact, (0, 1, 2))(*operands), strict=True):
            np.testing.assert_allclose(found, expected, **CLOSE)


def test_values_are_scipys():
    theirs = scipy.integrate.solve_ivp(ball, (0.0, 1.0), [0.0, 3.0], args=(9.8,), events=ground, dense_output=True)

    def f(v):
        found = solve_ivp(ball, (0.0, 1.0), [0.0, v], args=(9.8,), events=ground, dense_output=True)
        assert found.keys() == theirs.keys()
        np.testing.assert_array_equal(sr.value(found.t), theirs.t)
        np.testing.assert_array_equal(sr.value(found.y), theirs.y)
        np.testing.assert_array_equal(sr.value(found.t_events[0]), theirs.t_events[0])
        np.testing.assert_array_equal(sr.value(found.y_events[0]), theirs.y_events[0])
        np.testing.assert_array_equal(sr.value(found.sol([0.7, 0.1])), theirs.sol([0.7, 0.1]))
        assert (found.nfev, found.status, found.sol.t_max) == (theirs.nfev, theirs.status, theirs.sol.t_max)
        return found.y[0, -1]

    assert grad(f)(3.0) == pytest.approx(1.0, rel=1e-6)
    assert jvp(f, (3.0,), (1.0,))[1] == pytest.approx(1.0, rel=1e-6)
    assert isinstance(solve_ivp(ball, (0.0, 1.0), [0.0, 3.0], args=(9.8,)).y, np.ndarray)


@pytest.mark.slow
def test_a_terminal_event_ends_the_solution_where_it_is():
    """A ball lands after 2 v / g, with the velocity -v."""

    def landing(v, g):
        found = solve_ivp(ball, (0.0, 100.0), [0.0, v], args=(g,), events=ground_ends, dense_output=True)
        (time,), ((_, velocity),) = found.t_events[0], found.y_events[0]
        return np.stack([time, velocity, found.t[-1], found.y[1, -1], found.sol(found.t[-1] / 2.0)[0]])

    def exact(v, g):
        return np.stack([2 * v / g, -v, 2 * v / g, -v, v**2 / (2 * g)])

    np.testing.assert_allclose(landing(10.0, 5.0), exact(10.0, 5.0), rtol=1e-9)
    for mode in (jacfwd, jacrev):
        np.testing.assert_allclose(mode(landing, (0, 1))(10.0, 5.0), mode(exact, (0, 1))(10.0, 5.0), **CLOSE)
    second, expected = (sr.hessian(lambda x, f=f: np.sum(f(*x) ** 2)) for f in (landing, exact))
    np.testing.assert_allclose(second(np.array([10.0, 5.0])), expected(np.array([10.0, 5.0])), **CLOSE)


@pytest.mark.slow
def test_several_events_and_numbers_in_them():
    """An oscillator is at x = c at the times arccos(c) and 2 pi - arccos(c), and at rest at pi."""

    def found(c, w):
        events = [lambda t, y: y[0] - c, lambda t, y: y[1]]
        return solve_ivp(lambda t, y: [y[1], -w * w * y[0]], (0.1, 6.0), [np.cos(0.1 * w), -w * np.sin(0.1 * w)],
                         "DOP853", events=events, **PRECISE)  # fmt: skip

    def times(c, w):
        return np.concatenate(found(c, w).t_events)

    def exact(c, w):
        return np.stack([np.arccos(c), 2 * np.pi - np.arccos(c), np.pi]) / w

    for mode in (jacfwd, jacrev):
        np.testing.assert_allclose(mode(times, (0, 1))(0.3, 1.0), mode(exact, (0, 1))(0.3, 1.0), **CLOSE)
    states = jacrev(lambda c: found(c, 1.0).y_events[0])(0.3)
    np.testing.assert_allclose(states[:, 0], [1.0, 1.0], **CLOSE)
    np.testing.assert_allclose(states[:, 1], np.array([1.0, -1.0]) * 0.3 / math.sqrt(1 - 0.09), **CLOSE)


def test_dense_output_at_times_in_any_order():
    t = np.array([[0.9, 0.1], [0.5, 1.0]]).ravel()

    def f(k, t):
        return solve_ivp(decay, (0.0, 1.0), [2.0], args=(k,), dense_output=True, **PRECISE).sol(t)[0]

    for mode in (jacfwd, jacrev):
        of_k, of_t = mode(f, (0, 1))(0.7, t)
        np.testing.assert_allclose(of_k, -2.0 * t * np.exp(-0.7 * t), **CLOSE)
        np.testing.assert_allclose(of_t, np.diag(-1.4 * np.exp(-0.7 * t)), **CLOSE)
    assert grad(lambda t: f(0.7, t))(0.5) == pytest.approx(-1.4 * math.exp(-0.35), rel=1e-5)
    with pytest.raises(NotImplementedError, match=r"outside of the times .* Give a longer t_span"):
        grad(lambda k: f(k, 1.5))(0.7)


@pytest.mark.slow
def test_stiff_problems_and_options():
    """Van der Pol's oscillator, with a Jacobian, an array of tolerances and vectorized calls, against differences."""

    def rate(t, y, mu):
        return np.stack([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]])

    def jac(t, y, mu):
        return [[0.0, 1.0], [-2.0 * mu * y[0] * y[1] - 1.0, mu * (1.0 - y[0] ** 2)]]

    def f(mu, y0, **options):
        return solve_ivp(rate, (0.0, 1.0), y0, args=(mu,), **options).y[0, -1]

    y0 = np.array([2.0, 0.0])
    tight = {"rtol": 1e-8, "atol": np.array([1e-9, 1e-10])}
    check_grads(lambda mu, y0: f(mu, y0, method="DOP853", rtol=1e-10, atol=1e-11), (5.0, y0), order=1, rtol=1e-5)
    expected = grad(f, (0, 1))(5.0, y0, method="DOP853", **PRECISE)
    for options in (
        {"method": "Radau", "jac": jac},
        {"method": "BDF", "vectorized": True, "first_step": 1e-4},
        {"method": "LSODA", "lband": 1, "uband": 1, "max_step": 0.5},
    ):
        found = grad(f, (0, 1))(5.0, y0, **tight, **options)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-8)


@pytest.mark.slow
def test_a_problem_that_cannot_be_solved_backwards():
    def at_the_end(k):
        return solve_ivp(lambda t, y: -k * (y - np.cos(t)), (0.0, 0.1), [1.0], "LSODA").y[0, -1]

    k = 2000.0
    exact = (2 * k * math.cos(0.1) + (1 - k * k) * math.sin(0.1)) / (k * k + 1) ** 2
    assert grad(at_the_end)(k) == pytest.approx(exact, rel=2e-2)


def test_an_array_that_the_program_changes_after_the_call():
    def f(y0):
        rate = np.array([2.0])
        y = solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [y0]).y[0, -1]
        rate[:] = 5.0
        return y

    assert grad(f)(1.0) == pytest.approx(math.exp(-2.0), rel=1e-5)


def test_errors():
    class Held:
        k = 0.0

    def hidden(k):
        Held.k = k
        return solve_ivp(lambda t, y: -Held.k * y, (0.0, 1.0), [1.0 + 0.0 * k]).y[0, -1]

    def grazing(c):
        return solve_ivp(lambda t, y: [1.0], (0.0, 2.0), [c], events=lambda t, y: np.sign(y[0] - 1.0)).t_events[0][0]

    with pytest.raises(TypeError, match="differentiated"):
        grad(hidden)(2.0)
    with pytest.raises(TypeError, match=r"solve_ivp differentiates equations of real numbers.* Take the real"):
        grad(lambda k: np.real(solve_ivp(decay, (0.0, 1.0), [1.0 + 1j * k], args=(1.0,)).y[0, -1]))(2.0)
    with pytest.raises(np.linalg.LinAlgError, match="solve_ivp: a linear equation has no solution"):
        grad(grazing)(0.0)
    with pytest.raises(ValueError, match="`method` must be one of"):
        grad(lambda k: solve_ivp(decay, (0.0, 1.0), [k], "Euler", args=(1.0,)).y[0, -1])(2.0)
    with pytest.raises(ValueError, match="not within `t_span`"):
        grad(lambda k: solve_ivp(decay, (0.0, 1.0), [k], t_eval=[2.0], args=(1.0,)).y[0, -1])(2.0)
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_the_signature_is_scipys():
    theirs = inspect.signature(scipy.integrate.solve_ivp).parameters
    assert list(inspect.signature(solve_ivp).parameters) == list(theirs)
    assert [p.default for p in inspect.signature(solve_ivp).parameters.values()] == [p.default for p in theirs.values()]
