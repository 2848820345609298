"""Points where y is the best reply, and x is least given this reply."""

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.optimize import Box, FollowTheRidge, minimax


def downwards(x, y):
    return -3.0 * x**2 + 4.0 * x * y - y**2


@pytest.mark.parametrize("method", ["extragradient", "optimistic"])
def test_gradients_lead_away_where_the_payoff_curves_downwards_in_x(method):
    with np.errstate(all="ignore"):
        assert not minimax(downwards, 1.0, 1.0, method=method, rounds=300).converged


def test_the_ridge_leads_there():
    result = minimax(downwards, 1.0, 1.0, method="follow-the-ridge")
    assert result.converged, result.message
    assert (result.x, result.y) == (pytest.approx(0.0, abs=1e-7),) * 2


def test_it_leaves_a_point_that_is_no_minimum_given_the_reply():
    result = minimax(lambda x, y: x**4 - 3.0 * x**2 + x * y - y**2, 0.1, 0.0, method="follow-the-ridge")
    assert result.converged
    assert abs(result.x) == pytest.approx(np.sqrt(11.0 / 8.0))
    assert result.y == pytest.approx(result.x / 2.0)


def test_structures():
    def f(x, y):
        v = y["v"]
        return -np.sum(x[0] ** 2) + 3.0 * x[0] @ v - v @ v + x[1] ** 2 + x[1] * y["w"] - 2.0 * y["w"] ** 2 + y["w"]

    start = (np.array([1.0, -2.0]), 0.5), {"v": np.zeros(2), "w": 1.0}
    result = minimax(f, *start, method=FollowTheRidge())
    assert result.converged, result.message
    np.testing.assert_allclose(result.x[0], 0.0, atol=1e-7)
    np.testing.assert_allclose(result.y["v"], 0.0, atol=1e-7)
    assert result.x[1] == pytest.approx(-1.0 / 9.0)
    assert result.y["w"] == pytest.approx(2.0 / 9.0)


@pytest.mark.parametrize("derivative", ["implicit", "unrolled"])
def test_derivatives(derivative):
    def x(p):
        f = lambda x, y: downwards(x - p * p, y - p)  # noqa: E731
        return minimax(f, 0.5, 1.0, method="follow-the-ridge", derivative=derivative, tolerance=1e-12).x

    assert grad(x)(2.0) == pytest.approx(4.0)
    if derivative == "implicit":
        assert grad(grad(x))(2.0) == pytest.approx(2.0)


def test_where_the_payoff_curves_upwards_in_y_it_says_that_there_is_no_answer():
    with np.errstate(all="ignore"):
        assert not minimax(
            lambda x, y: x * x + x * y + y * y, 1.0, 1.0, method="follow-the-ridge", rounds=200
        ).converged


def test_it_keeps_no_constraint():
    with pytest.raises(ValueError, match="keeps no constraints"):
        minimax(downwards, 1.0, 1.0, method="follow-the-ridge", constraints=(Box(-1.0, 1.0), None))
