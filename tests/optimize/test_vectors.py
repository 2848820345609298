"""Structures as vectors."""

import numpy as np
import pytest

from shiftreset_ad import grad, jacobian
from shiftreset_ad.optimize import Box, Simplex, ravel


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
