"""Roots, fixed points and linear equations."""

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.optimize import Anderson, NotConvergedError, fixed_point, linear_solve, root
from shiftreset_ad.optimize.krylov import conjugate_gradients, gmres

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("method", ["newton", "anderson"])
def test_a_root(method):
    x = root(lambda x: x + 0.2 * np.sin(x[::-1]) - np.array([1.0, 2.0]), np.zeros(2), method=method)
    np.testing.assert_allclose(x + 0.2 * np.sin(x[::-1]), [1.0, 2.0], atol=1e-7)


def test_newton_finds_its_way_from_far():
    assert root(np.arctan, 10.0) == pytest.approx(0.0, abs=1e-8)
    x = root(lambda v: {"a": v["a"] ** 3 - 8.0, "b": v["b"] - v["a"]}, {"a": 100.0, "b": np.zeros(2)})
    np.testing.assert_allclose(x["b"], [2.0, 2.0])


@pytest.mark.parametrize("method", ["iteration", "anderson", "newton", Anderson(1), Anderson(0)])
def test_a_fixed_point(method):
    assert fixed_point(lambda x: np.cos(x), 0.0, method=method) == pytest.approx(0.7390851332151607)


def test_anderson_converges_where_iteration_does_not():
    turn = 1.5 * np.array([[0.0, 1.0], [-1.0, 0.0]])
    found = fixed_point(lambda x: turn @ x + 1.0, np.zeros(2))
    np.testing.assert_allclose(found, np.linalg.solve(np.eye(2) - turn, np.ones(2)))
    with np.errstate(all="ignore"), pytest.raises(NotConvergedError, match=r"fixed_point.*residual is not finite"):
        fixed_point(lambda x: turn @ x + 1.0, np.zeros(2), method="iteration", rounds=10**5)


def test_the_result_of_a_failure():
    with pytest.raises(NotConvergedError, match="none was found in 20 rounds") as raised:
        root(lambda x: x * x + 1.0, 0.5, rounds=20)
    assert not raised.value.result.converged
    assert raised.value.result.residual >= 1.0
    with pytest.raises(NotConvergedError, match="the Jacobian is singular"):
        root(lambda x: 0.0 * x + 1.0, 0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: root(lambda x: x[0], np.ones(2)), ValueError, r"root.*\[\(2,\)\], and it returned \[\(\)\]"),
        (lambda: root(lambda x: x, 1.0, method="hybr"), ValueError, "there are newton, anderson, iteration"),
        (lambda: root(lambda x: x, 1.0, derivative="both"), ValueError, "'implicit' or 'unrolled'"),
        (lambda: fixed_point(lambda x: x, 1), TypeError, "x0 is an integer"),
        (lambda: linear_solve(lambda x: x, 1), TypeError, "b is an integer"),
        (lambda: linear_solve(lambda x: (x, x), 1.0), ValueError, "linear_solve.*must return numbers of the shapes"),
    ],
)
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


# Linear equations


def test_linear_equations_in_a_structure():
    x = linear_solve(lambda v: {"a": v["a"] + np.sum(v["b"]), "b": 2 * v["b"] - v["a"]}, {"a": 3.0, "b": np.zeros(2)})
    assert x["a"] == pytest.approx(1.5)
    np.testing.assert_allclose(x["b"], [0.75, 0.75])


def test_a_large_definite_equation():
    """The second difference, with a thousand unknowns: its matrix is never formed."""

    def apply(x, p):
        y = (2.0 + p) * x
        y[1:] -= x[:-1]
        y[:-1] -= x[1:]
        return y

    b = RNG.normal(size=1000)
    x = linear_solve(lambda x: apply(x, 0.01), b, definite=True)
    np.testing.assert_allclose(apply(x, 0.01), b, atol=1e-9)
    slope = grad(lambda p: np.sum(linear_solve(lambda x: apply(x, p), b, definite=True)))(0.01)
    h = 1e-6
    ahead, behind = (np.sum(linear_solve(lambda x, p=p: apply(x, p), b, definite=True)) for p in (0.01 + h, 0.01 - h))
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


def test_a_map_that_is_said_to_be_definite_and_is_not():
    signs = np.array([1.0, -1.0])
    with pytest.raises(np.linalg.LinAlgError, match=r"linear_solve.*not positive definite.*Without definite=True"):
        linear_solve(lambda x: signs * x, np.array([1.0, 2.0]), definite=True)
    np.testing.assert_allclose(linear_solve(lambda x: signs * x, np.ones(2)), signs)


def test_krylov_methods_against_a_direct_solution():
    for n in (1, 2, 7, 40, 250):
        a, b = RNG.normal(size=(n, n)) + n * np.eye(n), RNG.normal(size=n)
        np.testing.assert_allclose(gmres(lambda v, a=a: a @ v, b, 1e-13, 10 * n).x, np.linalg.solve(a, b), rtol=1e-9)
        a = a.T @ a
        found = conjugate_gradients(lambda v, a=a: a @ v, b, 1e-13, 10 * n)
        np.testing.assert_allclose(found.x, np.linalg.solve(a, b), rtol=1e-8)
        assert found.error < 1e-12


def test_gmres_starts_again(monkeypatch):
    monkeypatch.setattr("shiftreset_ad.optimize.krylov.COLUMNS", 5)
    a, b = RNG.normal(size=(20, 20)) + 10 * np.eye(20), RNG.normal(size=20)
    found = gmres(lambda v: a @ v, b, 1e-12, 200)
    assert found.error <= 1e-12
    np.testing.assert_allclose(found.x, np.linalg.solve(a, b))
    assert gmres(lambda v: v * 0.0, b, 1e-12, 200).error == 1.0
    assert gmres(lambda v: v, b[:0], 1e-12, 10).x.shape == (0,)


def test_a_right_hand_side_of_zeros():
    np.testing.assert_array_equal(linear_solve(lambda x: 2 * x, np.zeros(2)), np.zeros(2))
    assert grad(lambda p: np.sum(linear_solve(lambda x: 2 * x, p * np.ones(2))))(0.0) == pytest.approx(1.0)
    assert grad(lambda p: linear_solve(lambda x: 2 * x, p, definite=True))(0.0) == 0.5
    for definite in (False, True):
        with pytest.raises(NotConvergedError, match=r"linear_solve.*no rounds.*derivative='implicit'"):
            grad(lambda p, d=definite: linear_solve(lambda x: 2 * x, p, definite=d, derivative="unrolled"))(0.0)
