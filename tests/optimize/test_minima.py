"""Minima and maxima: every method finds them, and says honestly whether it did."""

import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.optimize import (
    LBFGS,
    Box,
    GradientDescent,
    Iterate,
    NotConvergedError,
    ProjectedGradient,
    Result,
    Scipy,
    Simplex,
    argmax,
    argmin,
    linear_solve,
    maximize,
    minimize,
    reason,
)
from shiftreset_ad.optimize.methods import METHODS
from shiftreset_ad.optimize.quasi_newton import Dense, Limited
from shiftreset_ad.optimize.scipy_methods import MINIMIZERS, WITH_BOUNDS


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bowl(x):
    return np.sum((x - 3.0) ** 2 * np.array([1.0, 2.0, 3.0])) + 5.0


@pytest.mark.parametrize("method", METHODS)
def test_our_methods_find_a_minimum(method):
    result = minimize(bowl, np.zeros(3), method=method, rounds=5000, tolerance=1e-6)
    assert result.converged, result.message
    assert result.residual <= 1e-6
    np.testing.assert_allclose(result.x, 3.0, atol=1e-6)
    assert result.value == pytest.approx(5.0)


@pytest.mark.parametrize("method", MINIMIZERS)
def test_scipys_methods_find_a_minimum(method):
    result = minimize(bowl, np.zeros(3), method=method, tolerance=1e-6 if method != "COBYLA" else 1e-2)
    np.testing.assert_allclose(result.x, 3.0, atol=1e-2)
    assert result.converged == (result.residual <= (1e-6 if method != "COBYLA" else 1e-2))
    if method not in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA"):
        assert result.converged, result.message
    assert "SciPy's optimiser says" in result.message


@pytest.mark.parametrize("method", ["l-bfgs", "bfgs", "newton-cg", "L-BFGS-B", "trust-ncg"])
def test_a_valley_that_is_hard_to_follow(method):
    result = minimize(rosenbrock, np.full(10, -1.2), method=method)
    assert result.converged, result.message
    assert rosenbrock(result.x) < 1e-12 or method == "l-bfgs"


def test_the_saddle_of_the_papers():
    """The answer of the authors' own program, by its settings (Pearlmutter and Siskind 2008, section 5)."""
    settings = {"method": GradientDescent(), "tolerance": 1e-2, "derivative": "unrolled"}

    def payoff(x, y):
        (s, t), (u, v) = x, y
        return s**2 + t**2 - u**2 - v**2

    def worst(x):
        return maximize(lambda y: payoff(x, y), (1.0, 1.0), **settings).value

    x = argmin(worst, (1.0, 1.0), **settings)
    assert x == pytest.approx((4.965316230354233e-05,) * 2, rel=1e-12)
    assert argmax(lambda y: payoff(x, y), (1.0, 1.0), **settings) == pytest.approx(x, rel=1e-12)


def test_variables_of_any_structure():
    @dataclass
    class Model:
        weights: np.ndarray
        bias: float
        name: str = "a model"

    start = {"model": Model(np.zeros((2, 2)), 0.0), "pair": (1.0, None)}

    def loss(v):
        return np.sum((v["model"].weights - v["model"].bias) ** 2) + (v["model"].bias - 2.0) ** 2 + v["pair"][0] ** 2

    x = argmin(loss, start)
    np.testing.assert_allclose(x["model"].weights, np.full((2, 2), 2.0))
    assert x["model"].bias == pytest.approx(2.0)
    assert type(x["model"].bias) is float
    assert x["model"].name == "a model"
    assert x["pair"] == (pytest.approx(0.0, abs=1e-8), None)
    assert start["model"].bias == 0.0


def test_single_precision_has_its_own_tolerance():
    result = minimize(lambda x: np.sum((x - 3) ** 2) + np.sum(x**4), np.zeros(2, np.float32))
    assert result.converged
    assert result.x.dtype == np.float32
    mixed = minimize(lambda v: np.sum((v[0] - v[1]) ** 4) + (v[1] - 2.0) ** 2, (np.zeros(2, np.float32), 1.0))
    assert mixed.x[0].dtype == np.float32
    assert mixed.converged


def test_extra_arguments_need_no_tuple_if_there_is_one():
    assert argmin(lambda x, p: (x - p) ** 2, 0.0, 2.0) == pytest.approx(2.0)
    assert argmax(lambda x, p, q: q - (x - p) ** 2, 0.0, (2.0, 1.0)) == pytest.approx(2.0)


def test_a_staged_function():
    np.testing.assert_allclose(argmin(staged(bowl), np.zeros(3)), 3.0)
    doubled = staged(grad(lambda p: np.sum(linear_solve(lambda x: 2 * x + p * x, p))))
    np.testing.assert_allclose(doubled(np.ones(2)), [2 / 9, 2 / 9])
    slope = staged(grad(lambda p: argmin(lambda x: (x - p**2) ** 2, 0.0)))
    assert (slope(2.0), slope(3.0)) == (pytest.approx(4.0), pytest.approx(6.0))


# What did not work says so


@pytest.mark.parametrize("method", [*METHODS, "L-BFGS-B"])
def test_too_few_rounds(method):
    result = minimize(rosenbrock, np.full(4, -1.2), method=method, rounds=2)
    assert not result.converged
    assert result.residual > 1e-3
    assert method == "L-BFGS-B" or result.rounds == 2
    assert "residual is" in result.message


@pytest.mark.parametrize("method", ["l-bfgs", "bfgs", "newton-cg", "gradient-descent", "armijo", "projected-gradient"])
def test_a_function_without_a_minimum(method):
    with np.errstate(all="ignore"):
        result = minimize(lambda x: x, 1.0, method=method, rounds=100)
    assert not result.converged
    with pytest.raises(NotConvergedError, match="argmin") as raised, np.errstate(all="ignore"):
        argmin(lambda x: x, 1.0, method=method, rounds=100)
    assert isinstance(raised.value.result, Result)


@pytest.mark.parametrize("method", ["l-bfgs", "bfgs", "newton-cg", "armijo", "projected-gradient", "mirror-descent"])
def test_a_method_that_is_stuck_tells_of_its_last_round(method):
    found = minimize(lambda x: 2.0 * x + 3.0 if x == 0.0 else np.nan * x, 0.0, method=method)
    assert found.message.startswith("no step ")
    assert (found.x, found.value, found.residual, found.rounds) == (0.0, 3.0, 2.0, 0)


def test_falling_without_end_is_told():
    assert minimize(lambda x: x, 1.0).message == "the function falls without end"
    assert "does not rise again" in minimize(lambda x: x, 1.0, method="gradient-descent").message


@pytest.mark.parametrize("start", [0.0, 1e20])
def test_falling_without_end_in_an_open_box_is_told(start):
    result = minimize(lambda x: -x, start, constraint=Box(-1.0, np.inf), rounds=100)
    assert not result.converged
    assert result.residual == 1.0


def test_a_value_that_is_not_finite():
    result = minimize(lambda x: x * np.nan, 1.0)
    assert (result.converged, result.rounds, result.message) == (False, 0, "the residual is not finite")
    assert not minimize(lambda x: np.sum(x) * np.nan, np.ones(2), constraint=Simplex()).converged


def test_the_callback_sees_each_round_and_can_stop():
    seen = []
    result = maximize(lambda x: -((x["a"] - 3.0) ** 4), {"a": 1.0}, callback=seen.append)
    assert [r.rounds for r in seen] == list(range(len(seen)))
    assert seen[0].x == {"a": 1.0}
    assert seen[0].value == -16.0
    assert result.rounds == len(seen)
    for method in ("bfgs", "BFGS"):
        stopped = minimize(lambda x: (x - 3.0) ** 4, 1.0, method=method, callback=lambda r: r.rounds == 2)
        assert not stopped.converged
        assert "the callback stopped the solver" in stopped.message


def test_a_method_of_the_users_own():
    def fixed_steps(objective, x):
        while True:
            value, gradient = objective.value_and_gradient(x)
            yield Iterate(x, value, gradient)
            x = x - 0.1 * gradient

    assert argmin(lambda x: (x - 3.0) ** 2, 0.0, method=fixed_steps) == pytest.approx(3.0)


def test_a_reason_that_is_none_says_so():
    with pytest.raises(TypeError, match="reason: the text must be a str, and is 3"):
        reason(3)
    for text in ("{slope:.1e}", "{", "{0}"):
        with pytest.raises(
            ValueError, match=r"reason: the text may have \{residual\} and \{tolerance\} in braces alone"
        ):
            reason(text)

    def stuck(objective, x):
        yield Iterate(x, *objective.value_and_gradient(x), stuck="too steep")

    with pytest.raises(TypeError, match=r"stuck='too steep'; give it the number that optimize\.reason"):
        minimize(lambda x: (x - 3.0) ** 2, 0.0, method=stuck)
    with pytest.raises(
        TypeError, match=r"the method yields a ndarray; let it yield an optimize\.Iterate of the vector"
    ):
        minimize(lambda x: (x - 3.0) ** 2, 0.0, method=lambda objective, x: iter([x]))


def test_a_method_of_the_users_own_that_ends():
    steep = reason("too steep: {residual:.1f} is more than {tolerance:.1f}")

    def few_steps(objective, x):
        for _ in range(3):
            value, gradient = objective.value_and_gradient(x)
            yield Iterate(x, value, gradient)
            x = x - 0.1 * gradient

    def stuck(objective, x):
        yield Iterate(x, *objective.value_and_gradient(x))
        yield Iterate(x, *objective.value_and_gradient(x), stuck=steep)

    few = minimize(lambda x: (x - 3.0) ** 2, 0.0, method=few_steps)
    assert (few.converged, few.rounds, few.x) == (False, 2, pytest.approx(1.08))
    assert few.message == "the method has no more rounds, and the residual is still 3.8e+00"
    none = minimize(lambda x: (x - 3.0) ** 2, 0.5, method=lambda objective, x: iter(()))
    assert (none.converged, none.rounds, none.x) == (False, 0, 0.5)
    found = minimize(lambda x: (x - 3.0) ** 2, 0.0, method=stuck, tolerance=0.1)
    assert (found.converged, found.rounds, found.message) == (False, 0, "too steep: 6.0 is more than 0.1")
    assert "ending='too steep: 6.0 is more than 0.1'" in repr(found)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_least_where_it_is(method):
    found = minimize(lambda x: np.sum(x), np.zeros(0), method=method)
    assert found.converged
    assert found.x.shape == (0,)


@pytest.mark.parametrize("method", ["l-bfgs", "bfgs", "projected-gradient"])
def test_an_infinite_slope_gives_no_warning_of_our_own(method):
    with np.errstate(divide="ignore"):
        found = minimize(lambda x: np.sum(np.log(x)), np.zeros(2), method=method)
    assert found.message == "the residual is not finite"


def test_a_method_without_a_memory_goes_down_the_gradient():
    found = minimize(lambda x: np.sum((x - 1.0) ** 2 * np.array([1.0, 3.0])), np.zeros(2), method=LBFGS(memory=0))
    np.testing.assert_allclose(found.x, 1.0, atol=1e-7)


# Constraints


@pytest.mark.parametrize("method", [None, *(m for m in WITH_BOUNDS if m not in ("COBYLA", "COBYQA"))])
def test_bounds(method):
    box = Box({"a": 0.0, "b": np.array([-1.0, 4.0])}, {"a": 2.0, "b": np.array([np.inf, 5.0])})
    start = {"a": 1.0, "b": np.array([0.0, 4.5])}
    result = minimize(
        lambda v: (v["a"] - 3.0) ** 2 + np.sum((v["b"] - 3.0) ** 2),
        start,
        constraint=box,
        method=method,
        tolerance=1e-5,
    )
    assert result.x["a"] == pytest.approx(2.0, abs=1e-3)
    np.testing.assert_allclose(result.x["b"], [3.0, 4.0], atol=1e-3)


def test_a_start_outside_is_brought_inside():
    assert argmin(lambda x: x, 5.0, constraint=Box(-1, 2)) == -1.0
    np.testing.assert_allclose(argmin(lambda x: x @ np.arange(3.0), np.full(3, 9.0), constraint=Simplex()), [1, 0, 0])


def test_a_hard_problem_in_a_box():
    result = minimize(rosenbrock, np.zeros(4), constraint=Box(-2.0, 0.8), rounds=5000)
    assert result.converged
    np.testing.assert_allclose(
        result.x, minimize(rosenbrock, np.zeros(4), constraint=Box(-2.0, 0.8), method="SLSQP").x, atol=1e-6
    )


# Wrong calls name the remedy


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"f": 3}, TypeError, "minimize: .* cannot be called"),
        ({"x0": 1}, TypeError, r"minimize\(.*x0 is an integer.*float\(x\)"),
        ({"x0": 1j}, TypeError, "x0 has a complex number; make the real and the imaginary part variables"),
        ({"f": lambda x: x * np.ones(2)}, TypeError, r"minimize\(<lambda>\): .*array of shape \(2,\)"),
        ({"method": "lbfgs"}, ValueError, "there is no method 'lbfgs'; ours are .*l-bfgs.*SciPy's are"),
        ({"args": "bfgs"}, TypeError, r"minimize.*: args is 'bfgs'; write method='bfgs' for a method, or args="),
        ({"method": 3}, TypeError, r"a method such as LBFGS\(\)"),
        ({"derivative": "exact"}, ValueError, "'implicit' or 'unrolled'"),
        ({"derivative": "unrolled", "method": "TNC"}, ValueError, "runs in SciPy.*derivative='implicit'"),
        ({"constraint": (0, 1)}, TypeError, "give a Box"),
        ({"constraint": Box(0, 1), "method": "bfgs"}, ValueError, "keeps no constraint; use 'projected-gradient'"),
        ({"constraint": Simplex(), "method": "L-BFGS-B"}, ValueError, "'projected-gradient' for all others"),
        ({"constraint": Box((0.0, 1.0))}, ValueError, "Box: a bound has 2 numbers, and the variables have 1"),
        ({"constraint": Box(np.zeros(3))}, ValueError, r"Box: a bound has the shape \(3,\), and its variable"),
        ({"constraint": Box(1.0, 0.0)}, ValueError, "Box: the lower bound 1.0 is above the upper bound 0.0"),
        ({"constraint": Simplex(0.0)}, ValueError, "Simplex: the total of the weights must be positive, and is 0.0"),
        ({"constraint": lambda x: (x, x)}, ValueError, "the constraint must return numbers of the shapes"),
        ({"tolerance": -1.0}, ValueError, "tolerance must not be negative"),
        ({"rounds": 1.5}, ValueError, "rounds must be an integer"),
    ],
)
def test_wrong_calls(options, error, message):
    with pytest.raises(error, match=message):
        minimize(**({"f": lambda x: x * x, "x0": 1.0} | options))


def test_an_optimiser_that_scipy_does_not_have():
    with pytest.raises(ValueError, match=r"no optimiser 'lbfgsb'; it has .*L-BFGS-B"):
        Scipy("lbfgsb")


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"minimize.*method='L-BFGS-B' is SciPy's.*pip install scipy.*'l-bfgs'"):
        minimize(lambda x: x * x, 1.0, method="L-BFGS-B")


def test_arrays_of_other_libraries():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="x0 has an array of another library; give it arrays of NumPy"):
        minimize(lambda x: strict.sum(x**2), strict.zeros(2))


def test_what_is_forgotten_does_not_count():
    rng = np.random.default_rng(0)
    like = np.zeros(3)
    for curvature in (Dense, partial(Limited, 2)):
        one, other = curvature(like), curvature(like)
        for _ in range(3):
            one.learn(rng.normal(size=3), rng.normal(size=3))
        one.forget()
        assert one.times_inverse(np.ones(3)).tolist() == [1.0, 1.0, 1.0]
        pair = rng.normal(size=3), rng.normal(size=3)
        for learnt in (one, other):
            learnt.learn(*pair)
        np.testing.assert_array_equal(one.times_inverse(np.ones(3)), other.times_inverse(np.ones(3)))


def test_a_memory_of_one_value():
    for memory in (0, 1):
        found = minimize(bowl, np.zeros(3), constraint=Box(-1.0, 2.0), method=ProjectedGradient(memory=memory))
        np.testing.assert_allclose(found.x, 2.0)
