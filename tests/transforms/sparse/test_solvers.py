"""SciPy's solvers take our patterns as `jac_sparsity`, and our sparse matrices as `jac` and `hess`."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, sparse_hessian, sparse_jacobian, sparsity

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")

N = 30


def heat(t, u):
    """A rod that is heated at one end, and loses heat by radiation."""
    v = np.pad(u, 1, constant_values=(1.0, 0.0))
    return 40.0 * (v[2:] - 2.0 * u + v[:-2]) - u**4


def residuals(x):
    return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x[:-1]])


def rosenbrock(x):
    return np.sum(residuals(x) ** 2)


class Counted:
    def __init__(self, f):
        self.f = f
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        return self.f(*args)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_initial_values(method):
    u0 = np.sin(np.linspace(0.0, 3.0, N))
    pattern = sparsity(heat, 1)(0.0, u0)
    found, calls = {}, {}
    for name, options in {
        "dense": {},
        "sparse": {"jac_sparsity": pattern},
        "jac": {"jac": sparse_jacobian(heat, pattern, argnums=1)},
    }.items():
        f = Counted(heat)
        solution = integrate.solve_ivp(f, (0.0, 0.1), u0, method=method, rtol=1e-8, atol=1e-10, **options)
        assert solution.success
        found[name], calls[name] = solution.y[:, -1], f.calls
    for name in ("sparse", "jac"):
        np.testing.assert_allclose(found[name], found["dense"], rtol=1e-5, atol=1e-8)
    # Finite differences along three groups of columns in place of thirty columns, and none where we give the matrix.
    assert calls["dense"] - calls["sparse"] >= N - 5
    assert calls["jac"] < calls["sparse"]


def test_the_derivative_of_a_solution_that_is_found_by_a_pattern():
    ours = pytest.importorskip("shiftreset_ad.scipy.integrate")
    u0 = np.sin(np.linspace(0.0, 3.0, 4))
    pattern = sparsity(heat, 1)(0.0, u0)

    def warmth(c, **options):
        found = ours.solve_ivp(
            lambda t, u: c * heat(t, u), (0.0, 0.01), u0, method="BDF", rtol=1e-6, atol=1e-8, **options
        )
        return np.sum(found.y[:, -1] ** 2)

    by_pattern = grad(lambda c: warmth(c, jac_sparsity=pattern))(1.0)
    np.testing.assert_allclose(by_pattern, (warmth(1.0 + 1e-3) - warmth(1.0 - 1e-3)) / 2e-3, rtol=1e-3)


def test_least_squares():
    start = np.full(N, 1.2)
    pattern = sparsity(residuals)(start)
    calls = {}
    for name, options in {
        "dense": {},
        "sparse": {"jac_sparsity": pattern},
        "jac": {"jac": sparse_jacobian(residuals, pattern)},
    }.items():
        f = Counted(residuals)
        found = optimize.least_squares(f, start, xtol=1e-12, **options)
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
        calls[name] = f.calls
    assert calls["sparse"] < calls["dense"] / 3
    assert calls["jac"] < calls["sparse"]


def test_trust_constr():
    start = np.full(7, 1.2)
    for hessian in (sparse_hessian(rosenbrock), sparse_hessian(rosenbrock, sparsity(grad(rosenbrock))(start))):
        found = optimize.minimize(rosenbrock, start, method="trust-constr", jac=grad(rosenbrock), hess=hessian)
        np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


def test_a_constraint_of_trust_constr():
    """The point of a convex body that is closest to a corner."""
    start = np.full(4, 0.3)

    def links(x):
        return x[1:] ** 2 + x[:-1] ** 2

    def distance(x):
        return np.sum((x - np.arange(1.0, 5.0)) ** 2)

    ours = {"jac": sparse_jacobian(links), "hess": lambda x, v: sparse_hessian(lambda x: v @ links(x))(x)}
    for hessian, derivatives in ((sparse_hessian(distance), ours), (None, {})):
        found = optimize.minimize(
            distance,
            start,
            method="trust-constr",
            jac=grad(distance),
            hess=hessian,
            constraints=optimize.NonlinearConstraint(links, 0.0, 1.0, **derivatives),
        )
        np.testing.assert_allclose(links(found.x), 1.0, atol=1e-4)
        np.testing.assert_allclose(found.x[::2], found.x[0], atol=1e-4)  # the least of a x + b sqrt(1 - x^2), twice
        np.testing.assert_allclose(found.x[1] / found.x[0], 6.0 / 4.0, atol=1e-3)
