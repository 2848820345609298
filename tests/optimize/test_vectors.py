"""Structures as vectors."""

import numpy as np
import pytest

from shiftreset_ad import grad, jacobian
from shiftreset_ad.optimize import Box, Simplex, fixed_point, minimax, minimize, ravel
from shiftreset_ad.optimize.vectors import norm


def test_there_and_back():
    tree = {"a": 1.0, "b": [np.array([[2.0, 3.0]]), "text", None], "c": np.float32(4.0)}
    vector, unravel = ravel(tree)
    np.testing.assert_array_equal(vector, [1.0, 2.0, 3.0, 4.0])
    back = unravel(vector)
    assert back["a"] == 1.0
    assert type(back["a"]) is float
    assert back["b"][0].shape == (1, 2)
    assert back["b"][1:] == ["text", None]
    assert back["c"].dtype == np.float32


def test_a_vector_stays_a_vector_and_a_number_a_number():
    vector, unravel = ravel(np.ones(3))
    assert unravel(2 * vector).tolist() == [2.0, 2.0, 2.0]
    vector, unravel = ravel(2.0)
    assert vector.shape == (1,)
    assert unravel(vector) == 2.0


def test_both_ways_have_derivatives():
    def f(x):
        vector, unravel = ravel({"x": x, "y": x[:1]})
        back = unravel(vector**2)
        return np.sum(back["x"]) + np.sum(back["y"])

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 2.0])), [4.0, 4.0])


def test_wrong_structures():
    with pytest.raises(TypeError, match="ravel: tree has a complex number"):
        ravel({"a": 1j})
    with pytest.raises(TypeError, match="ravel: tree is an integer"):
        ravel(1)


def test_projections_have_derivatives():
    x = np.array([0.5, 1.5, -1.0])
    np.testing.assert_array_equal(jacobian(Box(0.0, 1.0))(x), np.diag([1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(Simplex(2.0)(x), [0.5, 1.5, 0.0])
    np.testing.assert_allclose(
        jacobian(Simplex())(np.array([0.4, 0.5, -1.0])), [[0.5, -0.5, 0], [-0.5, 0.5, 0], [0, 0, 0]]
    )
    weights = Simplex()({"a": 0.2, "b": np.array([0.3, 0.9])})
    assert weights["a"] + np.sum(weights["b"]) == pytest.approx(1.0)


def test_a_length_is_right_where_its_square_is_too_large_or_too_small():
    for dtype, sizes in ((np.float64, (1e-310, 1e-200, 1.0, 1e200, 1.7e308)), (np.float32, (1e-40, 1e-30, 1e30))):
        for size in sizes:
            assert norm(np.array([0.6, -0.8], dtype) * dtype(size)) == pytest.approx(float(dtype(size)), rel=1e-5)
    assert norm(np.zeros(3)) == norm(np.zeros(0)) == 0.0
    assert np.isnan(norm(np.array([1.0, np.nan])))
    for dtype in (np.float32, np.float64):
        assert norm(np.array([1.0, -np.inf], dtype)) == np.inf
    rng = np.random.default_rng(0)
    for vector in rng.normal(size=(100, 5)):
        assert norm(vector) == pytest.approx(np.sqrt(np.dot(vector, vector)), rel=1e-15)


def test_a_solver_that_runs_away_says_so_without_a_warning():
    result = minimax(lambda x, y: -x * x + y * y, 0.5, 0.5)
    assert not result.converged
    with pytest.raises(ArithmeticError, match="fixed_point"):
        fixed_point(lambda x: 2.0 * x + 1.0, 0.0, method="iteration")


def test_a_small_gradient_is_not_taken_for_zero():
    result = minimize(lambda x: 1e-170 * x, 1.0, method="momentum", tolerance=0.0, rounds=3)
    assert (result.converged, result.residual) == (False, 1e-170)
