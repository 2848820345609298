"""`shiftreset_ad.scipy.linalg` beside SciPy: values, arguments and errors. Its rules are tested with the others."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

scipy_linalg = pytest.importorskip("scipy.linalg")

from shiftreset_ad import grad  # noqa: E402
from shiftreset_ad.scipy import linalg  # noqa: E402

GENERATOR = np.random.default_rng(0)
A = GENERATOR.normal(size=(3, 3)) + 3 * np.eye(3)
B = GENERATOR.normal(size=(3, 2))
BANDS = GENERATOR.uniform(1.0, 2.0, (3, 4)) + np.array([[0.0], [4.0], [0.0]])
SYMMETRIC = A @ A.T

CALLS = {
    "expm": (A,),
    "logm": (A,),
    "sqrtm": (A,),
    "solve_triangular": (A, B),
    "solve_banded": ((1, 1), BANDS, np.ones(4)),
    "solve_sylvester": (A, SYMMETRIC, A),
    "cho_factor": (SYMMETRIC,),
    "cho_solve": (scipy_linalg.cho_factor(SYMMETRIC), B),
    "block_diag": (A, B, 1.0, [1, 2]),
}


def test_every_function_is_called():
    assert set(CALLS) == set(linalg.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_scipy(name):
    args = CALLS[name]
    found, expected = getattr(linalg, name)(*args), getattr(scipy_linalg, name)(*args)
    if name == "cho_factor":
        assert found[1] == expected[1]
        found, expected = found[0], np.triu(expected[0])  # below it, SciPy's may have anything
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["solve_triangular", "solve_banded", "solve_sylvester", "cho_factor", "cho_solve"])
def test_parameters_are_those_of_scipy(name):
    assert list(inspect.signature(getattr(linalg, name)).parameters) == list(
        inspect.signature(getattr(scipy_linalg, name)).parameters
    )


def test_lists_and_lists_with_numbers():
    np.testing.assert_allclose(linalg.expm([[0.0, 1.0], [0.0, 0.0]]), [[1.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(grad(lambda x: linalg.expm([[x, 0.0], [0.0, 1.0]])[0, 0])(1.0), np.e)
    np.testing.assert_allclose(grad(lambda x: linalg.solve_triangular([[x]], [1.0])[0])(2.0), -0.25)
    np.testing.assert_array_equal(linalg.block_diag(), scipy_linalg.block_diag())


def test_scipys_own_functions_say_that_they_lose_the_number():
    with pytest.raises(TypeError):
        grad(lambda a: np.sum(scipy_linalg.expm(a)))(A)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: linalg.expm(a[:2]), np.linalg.LinAlgError),
        (lambda a: linalg.logm(a[0]), np.linalg.LinAlgError),
        (lambda a: linalg.sqrtm(a[:2]), np.linalg.LinAlgError),
        (lambda a: linalg.solve_triangular(a, np.ones(3), "X"), ValueError),
        (lambda a: linalg.solve_triangular(a, np.ones(2)), ValueError),
        (lambda a: linalg.solve_triangular(0.0 * a, np.ones(3)), np.linalg.LinAlgError),
        (lambda a: linalg.solve_banded((1, 1), a[:2], np.ones(3)), ValueError),
        (lambda a: linalg.solve_sylvester(a, a, a[:2]), ValueError),
        (lambda a: linalg.cho_factor(-a)[0], np.linalg.LinAlgError),
        (lambda a: linalg.cho_factor(a * np.nan)[0], ValueError),
        (lambda a: linalg.block_diag(a[None]), ValueError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        grad(lambda a: np.sum(call(a)))(A)
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_importing_the_library_does_not_import_scipy():
    code = "import sys, shiftreset_ad; sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
