"""Derivatives in the processes and threads of joblib, as docs/how_to/processes.md says."""

import numpy as np
import pytest

joblib = pytest.importorskip("joblib")

from shiftreset_ad import grad, hessian  # noqa: E402

POINTS = [np.full(3, float(k)) for k in range(4)]


def loss(x):
    return np.sum(np.sin(x) ** 2)


def grad_of_own(x):
    return grad(lambda v: loss(v) + x @ v)(x)


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"n_jobs": 2, "prefer": "threads"}, {"n_jobs": 1}])
def test_gradients_of_many_points(options):
    found = joblib.Parallel(**options)(joblib.delayed(grad(loss))(x) for x in POINTS)
    np.testing.assert_allclose(found, [np.sin(2.0 * x) for x in POINTS])
    found = joblib.Parallel(**options)(joblib.delayed(hessian(loss))(x) for x in POINTS)
    np.testing.assert_allclose(found, [np.diag(2.0 * np.cos(2.0 * x)) for x in POINTS])
    found = joblib.Parallel(**options)(joblib.delayed(grad_of_own)(x) for x in POINTS)
    np.testing.assert_allclose(found, [np.sin(2.0 * x) + x for x in POINTS])


def test_a_gradient_is_cached_on_disk(tmp_path):
    cached = joblib.Memory(tmp_path, verbose=0).cache(grad(loss))
    for _ in range(2):
        np.testing.assert_allclose(cached(POINTS[1]), np.sin(2.0 * POINTS[1]))
