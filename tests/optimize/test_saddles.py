"""Saddle points of games."""

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.optimize import Box, Extragradient, Optimistic, Simplex, maximize, minimax, minimize

METHODS = ("extragradient", "optimistic")
PENNIES = np.array([[1.0, -1.0], [-1.0, 1.0]])
each_method = pytest.mark.parametrize("method", METHODS)


@each_method
def test_a_bilinear_game_where_gradients_alone_go_in_circles(method):
    result = minimax(lambda x, y: x * y, 1.0, 1.0, method=method)
    assert result.converged
    assert (result.x, result.y) == (pytest.approx(0.0, abs=1e-7),) * 2


@each_method
def test_a_game_of_mixed_strategies(method):
    start = np.array([0.9, 0.1])
    constraints = (Simplex(), Simplex())
    result = minimax(lambda x, y: x @ PENNIES @ y, start, start, method=method, constraints=constraints)
    assert result.converged
    np.testing.assert_allclose(result.x, [0.5, 0.5], atol=1e-7)
    np.testing.assert_allclose(result.y, [0.5, 0.5], atol=1e-7)
    assert result.value == pytest.approx(0.0, abs=1e-7)


@each_method
def test_players_of_different_structures(method):
    result = minimax(
        lambda x, y: np.sum((x["a"] - 1.0) ** 2) + x["b"] * y - y**2 + x["b"] ** 2 + y,
        {"a": np.zeros(2), "b": 1.0},
        0.0,
        method=method,
    )
    np.testing.assert_allclose(result.x["a"], 1.0)
    assert result.x["b"] == pytest.approx(-0.2)
    assert result.y == pytest.approx(0.4)
    assert result.value == pytest.approx(0.2)


@each_method
def test_a_bound_with_derivatives(method):
    def game(p):
        constraints = (Box(-p, p), None)
        return minimax(lambda x, y: (x - 3.0) ** 2 + x * y - y * y, 0.0, 0.0, method=method, constraints=constraints)

    assert game(1.0).x == 1.0
    assert game(1.0).y == pytest.approx(0.5)
    assert grad(lambda p: game(p).y)(1.0) == pytest.approx(0.5)
    value = lambda p: (p - 3.0) ** 2 + p * p / 4  # noqa: E731
    assert grad(lambda p: game(p).value)(1.0) == pytest.approx(grad(value)(1.0))
    assert grad(grad(lambda p: game(p).value))(1.0) == pytest.approx(2.5)


def test_what_does_not_converge_says_so():
    result = minimax(lambda x, y: x * y, 1.0, 1.0, rounds=3)
    assert not result.converged
    assert result.rounds == 3
    stopped = minimax(lambda x, y: x * y, 1.0, 1.0, callback=lambda r: r.rounds == 2)
    assert "the callback stopped the solver" in stopped.message
    with np.errstate(all="ignore"):
        assert not minimax(lambda x, y: -x * x + y * y, 1.0, 1.0, rounds=200).converged


def test_the_nested_form_agrees():
    def f(x, y):
        return np.sum(x**2) + np.sin(x[0]) * y[0] - np.sum(y**2) + x[1] * y[1] + x[0]

    both = minimax(f, np.zeros(2), np.zeros(2))
    nested = minimize(lambda x: maximize(lambda y: f(x, y), np.zeros(2)).value, np.zeros(2))
    assert nested.converged
    np.testing.assert_allclose(nested.x, both.x, atol=1e-7)
    assert nested.value == pytest.approx(both.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "descent"}, ValueError, "there are extragradient, optimistic"),
        ({"constraints": Box()}, TypeError, "constraints must be a pair"),
        ({"derivative": "both"}, ValueError, "'implicit' or 'unrolled'"),
        ({"y0": 1}, TypeError, r"minimax.*y0 is an integer"),
    ],
)
def test_wrong_calls(options, error, message):
    with pytest.raises(error, match=message):
        minimax(**({"f": lambda x, y: x * y, "x0": 1.0, "y0": 1.0} | options))


def test_settings_of_a_method():
    for method in (Extragradient(first=0.1, change=0.5), Optimistic(first=0.1, change=0.3)):
        assert minimax(lambda x, y: x * y + x * x, 1.0, 1.0, method=method).converged


@pytest.mark.parametrize("method", ["extragradient", "optimistic", "follow-the-ridge"])
def test_a_method_that_is_stuck_tells_of_its_last_round(method):
    def f(x, y):
        return x + 2.0 * y + 3.0 if x == y == 0.0 else np.nan * (x + y)

    found = minimax(f, 0.0, 0.0, method=method)
    assert "too fast for any step" in found.message
    assert (found.x, found.y, found.value, found.rounds) == (0.0, 0.0, 3.0, 0)
    assert found.residual == pytest.approx(np.sqrt(5.0))
