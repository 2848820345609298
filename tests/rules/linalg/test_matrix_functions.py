"""The rules of the functions of `shiftreset_ad.scipy.linalg`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.rules.linalg.equations import banded_solution, sylvester_solution, triangular_solution
from shiftreset_ad.rules.linalg.functions import exponential, logarithm, square_root
from shiftreset_ad.rules.linalg.roots import inverse_root
from shiftreset_ad.scipy import linalg
from tests.rules.linalg.matrices import check_complex, check_linalg, hermitian, positive, regular, sizes, stacks
from tests.rules.three_ways import check, examples, generators

few = settings(examples, max_examples=10)


def check_both(f, *xs, generator):
    check_linalg(f, *xs, generator=generator)
    check_complex(f, *xs, generator=generator)


@few
@given(stack=stacks, size=sizes, generator=generators)
def test_expm(stack, size, generator):
    check_both(linalg.expm, generator.uniform(-0.5, 0.5, (*stack, size, size)), generator=generator)


@pytest.mark.parametrize(
    "a", [np.eye(3), np.zeros((3, 3)), np.eye(3, k=1), np.diag([1.0, 1.0, 2.0]), np.full((3, 3), 4.0)], ids=repr
)
def test_expm_with_equal_eigenvalues(a):
    """Of the identity matrix and of a nilpotent one, which has no basis of eigenvectors; to the second order."""
    generator = np.random.default_rng(0)
    direction = generator.normal(size=a.shape)
    frechet = scipy.linalg.expm_frechet(a, direction, compute_expm=False)
    _, found = sr.jvp(linalg.expm, (a,), (direction,))
    np.testing.assert_allclose(found, frechet, rtol=1e-12, atol=1e-13)
    adjoint = scipy.linalg.expm_frechet(a.T, direction, compute_expm=False)
    np.testing.assert_allclose(grad(lambda a: np.sum(linalg.expm(a) * direction))(a), adjoint, rtol=1e-12, atol=1e-13)
    if np.max(a) < 4.0:
        check(linalg.expm, a, generator=generator, dtypes=False)


def test_taylor_coefficients_of_expm():
    a = np.array([[1.0, 2.0], [-3.0, 0.5]])
    series = sr.taylor(lambda t: linalg.expm(t * a), 0.0, order=6)
    power = np.eye(2)
    for k, found in enumerate(series):
        np.testing.assert_allclose(found, power, atol=1e-12)
        power = power @ a / (k + 1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_logm(size):
    generator = np.random.default_rng(0)
    a = regular(generator, size, size)
    check(lambda a: linalg.logm(positive(a)), a, generator=generator, dtypes=False)
    check_complex_in_double(lambda a: linalg.logm(positive(a)), a, generator=generator)
    check(linalg.logm, np.eye(size) + 0.2 * a, generator=generator, dtypes=False)
    stack = regular(generator, 2, size, size)
    check(lambda a: linalg.logm(positive(a)), stack, generator=generator, dtypes=False)


def check_complex_in_double(f, a, generator):
    check(lambda x, y: f(x + 1j * y), a, generator.normal(size=a.shape), generator=generator, dtypes=False)


def test_functions_of_matrices_with_negative_eigenvalues():
    """Their logarithms and roots are complex."""
    generator = np.random.default_rng(0)
    a = np.diag([-1.0, 2.0]) + 0.1 * generator.normal(size=(2, 2))
    for f in (linalg.logm, linalg.sqrtm):
        assert np.iscomplexobj(f(a))
        check(f, a, generator=generator, dtypes=False)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_sqrtm(size):
    generator = np.random.default_rng(0)
    a = np.eye(size) * 3.0 + regular(generator, size, size) * 0.4
    check_both(linalg.sqrtm, a, generator=generator)
    check_both(lambda a: linalg.sqrtm(positive(a)), regular(generator, 2, size, size), generator=generator)


@pytest.mark.parametrize("f", [linalg.logm, linalg.sqrtm, linalg.expm])
def test_functions_at_the_identity(f):
    """Where eigenvalues are equal: log and sqrt go with the direction there, times 1 and 1/2."""
    direction = np.arange(9.0).reshape(3, 3)
    factor = {linalg.logm: 1.0, linalg.sqrtm: 0.5, linalg.expm: np.e}[f]
    np.testing.assert_allclose(grad(lambda a: np.sum(f(a) * direction))(np.eye(3)), factor * direction, atol=1e-12)
    check(f, np.eye(3), generator=np.random.default_rng(0), dtypes=False)


@pytest.mark.filterwarnings("ignore:.*singular")  # SciPy's
def test_singular_matrices_have_no_logarithm():
    with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError, match="singular"):
        grad(lambda a: np.sum(linalg.logm(a)))(np.diag([1.0, 0.0]))


def test_functions_are_inverses_of_each_other():
    a = positive(regular(np.random.default_rng(0), 3, 3))
    direction = np.arange(9.0).reshape(3, 3)
    for f in (lambda a: linalg.expm(linalg.logm(a)), lambda a: linalg.sqrtm(a) @ linalg.sqrtm(a)):
        np.testing.assert_allclose(grad(lambda a, f=f: np.sum(f(a) * direction))(a), direction, atol=1e-10)


@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, "N", 1, "T", 2, "C"])
def test_solve_triangular(trans, lower, unit_diagonal):
    generator = np.random.default_rng(0)
    a = generator.uniform(-0.5, 0.5, (3, 3)) + 2 * np.eye(3)
    for shape in ((3,), (3, 2)):
        b = generator.normal(size=shape)
        check_both(lambda a, b: linalg.solve_triangular(a, b, trans, lower, unit_diagonal), a, b, generator=generator)
        check(lambda b: linalg.solve_triangular(a, b, trans, lower), b, generator=generator, dtypes=False)
    unread = ~np.tri(3, k=-unit_diagonal, dtype=bool) if lower else ~np.tri(3, k=-unit_diagonal, dtype=bool).T
    g = grad(lambda a: np.sum(linalg.solve_triangular(a, np.ones(3), trans, lower, unit_diagonal)))(a)
    np.testing.assert_array_equal(g[unread], 0.0)
    assert np.count_nonzero(g) == np.count_nonzero(~unread)


@pytest.mark.parametrize("bands", [(1, 1), (2, 0), (0, 2), (1, 2), (0, 0)])
def test_solve_banded(bands):
    generator = np.random.default_rng(0)
    ab = generator.uniform(-0.5, 0.5, (sum(bands) + 1, 5))
    ab[bands[1]] += 3.0
    for shape in ((5,), (5, 2)):
        b = generator.normal(size=shape)
        check_both(lambda ab, b: linalg.solve_banded(bands, ab, b), ab, b, generator=generator)
    g = grad(lambda ab: np.sum(linalg.solve_banded(bands, ab, np.ones(5))))(ab)
    rows = np.arange(5) + np.arange(-bands[1], bands[0] + 1)[:, None]
    np.testing.assert_array_equal(g == 0, (rows < 0) | (rows >= 5))


@pytest.mark.parametrize(("m", "n"), [(3, 2), (1, 1), (2, 4)])
def test_solve_sylvester(m, n):
    generator = np.random.default_rng(0)
    a, b = (generator.uniform(-0.3, 0.3, (k, k)) + 2 * np.eye(k) for k in (m, n))
    q = generator.normal(size=(m, n))
    check_both(linalg.solve_sylvester, a, b, q, generator=generator)
    check(lambda b: linalg.solve_sylvester(a, b, q), b, generator=generator, dtypes=False)


@pytest.mark.parametrize("lower", [False, True])
def test_cho_factor_and_cho_solve(lower):
    generator = np.random.default_rng(0)
    a = regular(generator, 3, 3)
    for shape in ((3,), (3, 2)):
        b = generator.normal(size=shape)
        check_both(lambda a, b: linalg.cho_solve(linalg.cho_factor(positive(a), lower), b), a, b, generator=generator)
    check_linalg(lambda a: linalg.cho_factor(hermitian(a), lower)[0], positive(a), generator=generator)


def test_block_diag():
    generator = np.random.default_rng(0)
    check_both(
        linalg.block_diag, *(generator.normal(size=shape) for shape in [(2, 3), (2,), (), (0, 1)]), generator=generator
    )


@few
@given(size=sizes, generator=generators)
def test_inverse_roots(size, generator):
    root = regular(generator, size or 1, size or 1)
    check(lambda r: inverse_root(positive(r)), root, generator=generator, dtypes=False)
    y = inverse_root(positive(root))
    np.testing.assert_allclose(y @ positive(root) @ y.T, np.eye(size or 1), atol=1e-13)


CASES = {
    inverse_root: test_inverse_roots,
    exponential: test_expm,
    logarithm: test_logm,
    square_root: test_sqrtm,
    triangular_solution: test_solve_triangular,
    sylvester_solution: test_solve_sylvester,
    banded_solution: test_solve_banded,
}
