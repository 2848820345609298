"""The modules are there without an import of each."""

import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

scipy = pytest.importorskip("scipy")

from shiftreset_ad import grad, jvp  # noqa: E402
from shiftreset_ad.scipy import linalg, signal, stats  # noqa: E402


@pytest.mark.slow
def test_modules_are_imported_when_they_are_asked_for():
    program = """
import sys
import shiftreset_ad.scipy
assert "shiftreset_ad.scipy.special" not in sys.modules
import numpy as np
assert shiftreset_ad.grad(shiftreset_ad.scipy.special.logsumexp)(np.zeros(2)).tolist() == [0.5, 0.5]
assert {"linalg", "stats"} <= set(dir(shiftreset_ad.scipy))
assert shiftreset_ad.scipy.stats.__name__ == "shiftreset_ad.scipy.stats"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_another_name_is_an_error():
    import shiftreset_ad.scipy

    with pytest.raises(
        AttributeError, match="has no attribute 'cluster'; it has integrate, interpolate, linalg, ndimage"
    ):
        _ = shiftreset_ad.scipy.cluster


@pytest.mark.parametrize(
    "name",
    ["integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special", "stats"],
)
def test_each_module_has_all_that_scipys_has(name):
    ours, theirs = (import_module(f"{package}.{name}") for package in ("shiftreset_ad.scipy", "scipy"))
    assert set(theirs.__all__) <= set(dir(ours))
    for attribute in theirs.__all__:
        assert hasattr(ours, attribute)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ours.nothing


A = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_forwarded_functions_compute_as_scipys():
    np.testing.assert_array_equal(linalg.cholesky(A, lower=True), scipy.linalg.cholesky(A, lower=True))
    np.testing.assert_array_equal(signal.correlate(A, A), scipy.signal.correlate(A, A))
    assert linalg.LinAlgError is np.linalg.LinAlgError
    assert linalg.lapack is scipy.linalg.lapack


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda a: linalg.cholesky(a), r"scipy\.linalg\.cholesky has .* Use numpy\.linalg\.cholesky"),
        (lambda a: linalg.inv(a), r"scipy\.linalg\.inv has .* Use numpy\.linalg\.inv"),
        (lambda a: linalg.eigh(A, b=a)[0], r"scipy\.linalg\.eigh has .* Use numpy\.linalg\.eigh"),
        (lambda a: linalg.circulant([a[0, 0], 1.0]), r"scipy\.linalg\.circulant has .* Write it with functions"),
        (lambda a: signal.correlate(A, a), r"scipy\.signal\.correlate has no derivative rule"),
        (lambda a: signal.medfilt(a), r"scipy\.signal\.medfilt has no derivative rule"),
        (lambda a: stats.zscore(a), r"scipy\.stats\.zscore has no derivative rule"),
    ],
)
def test_a_forwarded_function_does_not_lose_a_number(f, message):
    with pytest.raises(NotImplementedError, match=message):
        grad(lambda a: np.sum(f(a)))(A)
    with pytest.raises(NotImplementedError, match=message):
        jvp(f, (A,), (A,))
