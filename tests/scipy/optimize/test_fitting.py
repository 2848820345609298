"""`least_squares`: derivatives of the solution against closed forms, differences and the active set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import shiftreset_ad as sr
from shiftreset_ad import grad, jacfwd, jacrev
from shiftreset_ad.optimize import NotConvergedError, minimize
from shiftreset_ad.scipy.optimize import least_squares
from tests.rules.three_ways import check

TIGHT = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
generator = np.random.default_rng(3)
A, B = generator.normal(size=(8, 3)), generator.normal(size=8)
TIMES = np.linspace(0.0, 2.0, 12)
DATA = 1.5 * np.exp(-0.7 * TIMES) + 0.1 * generator.normal(size=12)


def linear(a, b):
    return least_squares(lambda x: a @ x - b, np.zeros(3), jac=lambda x: a, **TIGHT).x


def curve(x, data):
    return x[0] * np.exp(-x[1] * TIMES) - data


def slopes(x, data):
    return np.stack([np.exp(-x[1] * TIMES), -x[0] * TIMES * np.exp(-x[1] * TIMES)], axis=1)


def test_linear_least_squares():
    exact = lambda a, b: np.linalg.solve(a.T @ a, a.T @ b)  # noqa: E731
    np.testing.assert_allclose(linear(A, B), exact(A, B), rtol=1e-7)
    for mode in (jacfwd, jacrev):
        for found, expected in zip(mode(linear, (0, 1))(A, B), mode(exact, (0, 1))(A, B), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    check(linear, A, B, generator=np.random.default_rng(0), dtypes=False)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_curves_and_losses_against_differences(loss, method):
    if method == "lm" and loss != "linear":
        pytest.skip("SciPy's lm has this loss only")

    def fitted(data):
        return least_squares(
            curve, [1.0, 1.0], jac=slopes, method=method, loss=loss, f_scale=0.15, args=(data,), **TIGHT
        ).x

    direction = np.cos(np.arange(12.0))
    step = 1e-3
    expected = (fitted(DATA + step * direction) - fitted(DATA - step * direction)) / (2 * step)
    np.testing.assert_allclose(jacrev(fitted)(DATA) @ direction, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(jacfwd(fitted)(DATA), jacrev(fitted)(DATA), rtol=1e-8, atol=1e-12)


def test_second_derivatives_and_the_cost():
    def cost(p):
        return least_squares(lambda x: curve(x, p * DATA**2), [1.0, 1.0], **TIGHT).cost

    def ours(p):
        return minimize(lambda x: 0.5 * np.sum(curve(x, p * DATA**2) ** 2), np.ones(2), tolerance=1e-10).value

    assert grad(cost)(0.8) == pytest.approx(grad(ours)(0.8), rel=1e-6)
    assert grad(grad(cost))(0.8) == pytest.approx(grad(grad(ours))(0.8), rel=1e-5)
    assert sr.jvp(grad(cost), (0.8,), (1.0,))[1] == pytest.approx(grad(grad(ours))(0.8), rel=1e-5)


def test_bounds_that_are_active_move_the_solution():
    def fitted(p, upper):
        bounds = ([-np.inf, 0.0], np.stack([upper, 9.0 + 0.0 * upper]))
        return least_squares(lambda x: np.stack([x[0] - 3.0 * p, x[1] + x[0] - 4.0 * p]), [0.5, 0.5], bounds=bounds).x

    np.testing.assert_allclose(fitted(2.0, 1.0), [1.0, 7.0], rtol=1e-6)
    for mode in (jacfwd, jacrev):
        of_p, of_upper = mode(fitted, (0, 1))(2.0, 1.0)
        np.testing.assert_allclose(of_p, [0.0, 4.0], atol=1e-8)
        np.testing.assert_allclose(of_upper, [1.0, -1.0], atol=1e-8)
        of_p, of_upper = mode(fitted, (0, 1))(2.0, 8.0)
        np.testing.assert_allclose(of_p, [3.0, 1.0], atol=1e-8)
        np.testing.assert_allclose(of_upper, [0.0, 0.0], atol=1e-8)
    by_object = lambda p: least_squares(lambda x: x - p, [0.5], bounds=scipy.optimize.Bounds(0.0, 1.0)).x[0]  # noqa: E731
    assert grad(by_object)(0.25) == pytest.approx(1.0)
    assert grad(by_object)(2.0) == pytest.approx(0.0)


def test_errors():
    with pytest.raises(NotImplementedError, match=r"no derivative with a function as loss.* Use one of 'linear'"):
        grad(lambda p: least_squares(lambda x: x - p, [1.0], loss=lambda z: np.stack([z, 0 * z + 1, 0 * z])).x[0])(2.0)
    with pytest.raises(NotConvergedError, match=r"scipy\.optimize\.least_squares: a derivative needs a solution"):
        grad(lambda p: np.sum(least_squares(curve, [9.0, 9.0], args=(p * DATA,), max_nfev=1).x))(2.0)
    with pytest.raises(np.linalg.LinAlgError, match="no solution"):
        grad(lambda p: least_squares(lambda x: np.stack([x[0] + x[1] - p, p * 0.0]), [1.0, 0.0]).x @ [1.0, -2.0])(2.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: scipy_optimize().linprog(np.stack([p, 1.0]), [[-1.0, -1.0]], [-1.0]).fun, r"linprog .*marginals"),
        (lambda p: scipy_optimize().milp(np.stack([p, 1.0])).fun, r"milp .* has integers"),
        (lambda p: scipy_optimize().minimize(lambda x: np.sum((x - p) ** 2), [1.0]).x[0], r"minimize .* use shift"),
        (lambda p: scipy_optimize().minimize_scalar(lambda x: (x - p) ** 2).x, r"minimize_scalar .* use shiftreset_ad"),
        (lambda p: scipy_optimize().nnls(p * A, B)[0][0], r"nnls has no derivative rule here"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(NotImplementedError, match=rf"scipy\.optimize\.{message}"):
        grad(call)(2.0)
    assert call(2.0) is not None


def scipy_optimize():
    return sr.scipy.optimize


def test_the_value_of_a_linear_program_has_the_derivatives_that_the_error_names():
    b = np.array([-1.0])
    found = scipy.optimize.linprog([2.0, 1.0], [[-1.0, -1.0]], b)
    step = 1e-4
    ahead = scipy.optimize.linprog([2.0, 1.0 + step], [[-1.0, -1.0]], b).fun
    np.testing.assert_allclose((ahead - found.fun) / step, found.x[1])
    ahead = scipy.optimize.linprog([2.0, 1.0], [[-1.0, -1.0]], b + step).fun
    np.testing.assert_allclose((ahead - found.fun) / step, found.ineqlin.marginals[0])
