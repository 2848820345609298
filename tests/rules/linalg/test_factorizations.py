"""Cholesky, QR, eigenvalues and singular values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.rules.linalg import general
from shiftreset_ad.rules.linalg import hermitian as of_hermitian
from shiftreset_ad.rules.linalg.factorizations import cholesky_factor, reduced_factors, rest_of_reflections
from shiftreset_ad.rules.linalg.matrices import as_hermitian, hermitian_from
from shiftreset_ad.rules.linalg.singular import complement, decomposition, singular_values
from tests.rules.linalg.matrices import check_complex, check_linalg, hermitian, positive, regular, sizes, stacks
from tests.rules.three_ways import answers, check, direction_of, examples, generators

few = settings(examples, max_examples=10)
la = np.linalg


def check_both(f, *xs, generator):
    check_linalg(f, *xs, generator=generator)
    check_complex(f, *xs, generator=generator)


def adjoint(x):
    return np.conjugate(np.swapaxes(x, -1, -2))


# What does not depend on the factor of absolute value 1 that an eigenvector or a pair of singular vectors has


def of_eigh(a, uplo="L"):
    result = la.eigh(a, uplo)
    assert type(result) is type(la.eigh(np.eye(1)))
    w, v = result
    return w, v * np.conjugate(v[..., :1, :])


def of_svd(a, full_matrices=True):
    result = la.svd(a, full_matrices)
    assert type(result) is type(la.svd(np.eye(1)))
    u, s, vh = result
    size = s.shape[-1]
    if size == 0:
        return result
    turn = np.conjugate(u[..., :1, :size])
    rest_u, rest_v = u[..., size:], adjoint(vh[..., size:, :])
    vectors = u[..., :size] * turn, s, vh[..., :size, :] * adjoint(turn)
    return (*vectors, rest_u @ adjoint(rest_u), rest_v @ adjoint(rest_v))


def of_eig(a):
    """LAPACK fixes the factor but for the sign, which rounding may change."""
    result = la.eig(a)
    assert type(result) is type(la.eig(np.eye(1)))
    w, v = result
    if v.size == 0:
        return result
    places = np.argmax(np.abs(sr.value(v)), axis=-2)[..., None, :]
    return w, v * np.sign(np.take_along_axis(sr.value(v).real, places, -2))


def upper_entries(a):
    """The upper triangle alone is read."""
    return la.cholesky(positive(a) + np.tril(a, -1), upper=True)


def lower_entries(a):
    return la.cholesky(positive(a) + np.triu(a, 1))


@pytest.mark.parametrize("f", [lower_entries, upper_entries])
@few
@given(stack=stacks, size=sizes, generator=generators)
def test_cholesky(f, stack, size, generator):
    check_both(f, regular(generator, *stack, size, size), generator=generator)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_of_a_matrix_that_is_not_symmetric_reads_one_triangle(upper):
    generator = np.random.default_rng(0)
    unread = np.tri(3, k=-1, dtype=bool) if upper else np.tri(3, k=-1, dtype=bool).T
    a = np.where(unread, 0.0, positive(generator.normal(size=(3, 3))))
    check_linalg(lambda a: la.cholesky(a, upper=upper), a, generator=generator)
    g = grad(lambda a: np.sum(la.cholesky(a, upper=upper)))(a)
    np.testing.assert_array_equal(g[unread], np.zeros(3))
    assert np.all(g[~unread] != 0)


OF_HERMITIAN = {
    "cholesky": la.cholesky,
    "upper": lambda a: la.cholesky(a, upper=True),
    "eigh": of_eigh,
    "eigh of U": lambda a: of_eigh(a, "U"),
    "eigvalsh": la.eigvalsh,
    "eigvalsh of U": lambda a: la.eigvalsh(a, "U"),
    "pinv": lambda a: la.pinv(a, hermitian=True),
    "svd": lambda a: la.svd(a, compute_uv=False, hermitian=True),
}


@pytest.mark.parametrize("name", OF_HERMITIAN)
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("stack", [(), (2,)])
def test_the_derivative_in_a_hermitian_matrix_is_that_of_the_hermitian_part(name, is_complex, stack):
    """In all modes, to the second order, and along directions that are not Hermitian."""
    f, generator = OF_HERMITIAN[name], np.random.default_rng(0)
    root = generator.normal(size=(*stack, 3, 3)) + 1j * is_complex * generator.normal(size=(*stack, 3, 3))
    a = positive(root if is_complex else root.real) + np.diag([0.0, 4.0, 8.0])
    direction = direction_of(a, generator)
    weights = [direction_of(y, generator) for y in answers(f(a))]

    def scalar(a):
        return sum(np.sum(np.real(w * (y + y * y))) for w, y in zip(weights, answers(f(a)), strict=True))

    g, expected = grad(scalar)(a), grad(lambda a: scalar(hermitian(a) / 2))(a)
    np.testing.assert_allclose(g, adjoint(g), rtol=1e-13)
    np.testing.assert_allclose(g, expected, rtol=1e-10, atol=1e-12)
    ahead, behind = (scalar(hermitian(a + step * direction) / 2) for step in (1e-6, -1e-6))
    slope = np.sum(np.real(g * direction))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, rtol=1e-6)
    np.testing.assert_allclose(sr.jvp(scalar, (a,), (direction,))[1], slope, rtol=1e-12)
    np.testing.assert_allclose(sr.linearize(scalar, a)[1](direction), slope, rtol=1e-12)
    if not is_complex:
        for jacobian in (sr.jacfwd, sr.jacrev):
            np.testing.assert_allclose(jacobian(scalar)(a), g, rtol=1e-10, atol=1e-12)
    second = sr.hvp(scalar, (a,), (direction,))
    ahead, behind = (grad(scalar)(hermitian(a + step * direction) / 2) for step in (1e-6, -1e-6))
    np.testing.assert_allclose(second, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6 * np.max(np.abs(second)))
    along = grad(lambda a: np.sum(np.real(grad(scalar)(a) * direction)))(a)
    np.testing.assert_allclose(second, along, rtol=1e-9, atol=1e-9 * np.max(np.abs(second)))


def test_the_derivative_is_hermitian_where_rounding_has_left_the_matrix_a_little_off():
    generator = np.random.default_rng(0)
    a = la.inv(positive(generator.normal(size=(4, 4)) * [1.0, 1e2, 1.0, 1e2]))
    assert np.any(a != a.T)
    for f in (la.cholesky, la.eigvalsh):
        g = grad(lambda a, f=f: np.sum(f(a)))(a)
        np.testing.assert_array_equal(g, g.T)


@pytest.mark.parametrize(("triangle", "unread"), [("L", (0, 1)), ("U", (1, 0))])
def test_an_infinite_slope_in_the_triangle_that_is_not_read_does_not_count(triangle, unread):
    a = np.array([[4.0, 1.0], [1.0, 9.0]])
    a[unread] = 0.0
    for f in (lambda a: la.cholesky(a, upper=triangle == "U"), lambda a: la.eigvalsh(a, triangle)):
        g = grad(lambda a, f=f: np.sum(f(np.sqrt(a))))(a)
        assert g[unread] == 0.0
        assert np.all(np.isfinite(g))


SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1), (1, 3), (3, 1), (2, 0), (0, 2), (2, 3, 2), (2, 1, 2, 3)]


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, mode):
    """The very columns that NumPy gives, also those that complete the basis."""
    generator = np.random.default_rng(0)

    def f(a):
        result = la.qr(a, mode)
        assert mode == "r" or type(result) is type(la.qr(np.eye(1)))
        return result

    check_both(f, regular(generator, *shape), generator=generator)


def test_qr_completed_from_unit_vectors():
    """The reflections are identities where the matrix is triangular already: then only the space counts."""
    a = np.triu(np.ones((4, 2)))

    def projection(a):
        rest = la.qr(a, "complete").Q[:, 2:]
        return rest @ rest.T

    g = grad(lambda a: np.sum(projection(a) * np.arange(16.0).reshape(4, 4)))(a)
    expected = grad(lambda a: -np.sum((a @ la.pinv(a)) * np.arange(16.0).reshape(4, 4)))(a)
    np.testing.assert_allclose(g, expected, atol=1e-12)


def test_qr_of_deficient_rank_has_no_derivative():
    for a in (np.ones((3, 2)) * [1.0, 0.0], np.zeros((2, 2))):
        assert np.isnan(grad(lambda a: np.sum(la.qr(a).R))(a)).all()


@pytest.mark.parametrize("mode", ["raw", "full", "economic", "other"])
def test_modes_of_qr_without_a_derivative(mode):
    with pytest.raises(NotImplementedError, match=rf"numpy\.linalg\.qr: mode='{mode}'.*Use 'reduced'"):
        grad(lambda a: np.sum(la.qr(a, mode)[0]))(np.eye(2))


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("uplo", ["L", "U", "l", "u"])
@few
@given(stack=stacks, size=sizes, generator=generators)
def test_eigh(uplo, stack, size, generator):
    a = hermitian(regular(generator, *stack, size, size)) + np.diag(8.0 * np.arange(size))
    other = np.tri(size, k=-1) if uplo.upper() == "U" else np.tri(size, k=-1).T  # is not read
    for f in (of_eigh, la.eigvalsh):
        check_both(lambda a, f=f: f(hermitian(a) / 2, uplo), a, generator=generator)
        check_both(lambda a, f=f: f(a, uplo), a + other, generator=generator)


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_of_a_matrix_that_is_not_symmetric_reads_one_triangle(uplo):
    a = regular(np.random.default_rng(0), 3, 3)
    g = grad(lambda a: np.sum(la.eigvalsh(a, uplo) ** 3))(a)
    unread = np.tri(3, k=-1, dtype=bool) if uplo == "U" else np.tri(3, k=-1, dtype=bool).T
    np.testing.assert_array_equal(g[unread], np.zeros(3))
    assert np.all(g[~unread] != 0)


@few
@given(stack=stacks, size=sizes, generator=generators)
def test_eig(stack, size, generator):
    """Real and complex eigenvalues of real matrices, and those of complex ones."""
    a = generator.normal(size=(*stack, size, size)) + np.diag(3.0 * np.arange(size))
    check_linalg(of_eig, a, generator=generator)
    check_linalg(la.eigvals, a, generator=generator)
    check_complex(of_eig, a, generator=generator)
    check_complex(la.eigvals, a, generator=generator)


def test_eig_of_rotations():
    generator = np.random.default_rng(0)
    a = np.array([[0.0, -1.0, 0.2], [1.0, 0.3, 0.0], [0.1, 0.0, 2.0]])
    assert np.iscomplexobj(la.eigvals(a))
    check_linalg(of_eig, a, generator=generator)
    check_linalg(la.eigvals, a, generator=generator)


def test_eigenvalues_in_another_order():
    """LAPACK may find them in another order without their vectors."""
    w = np.array([[3.0, 1 + 1j, 1 - 1j], [1.0, 2.0, 3.0]])
    others = np.array([[1 - 1j, 3.0, 1 + 1j], [1.0, 2.0, 3.0]])
    matrices = general.permutation(w, others)
    np.testing.assert_allclose((others[:, None, :] @ matrices)[:, 0, :], w)


def test_the_vectors_of_eig_are_lapacks():
    """Of length 1, with a real largest component: derivatives keep that."""
    generator = np.random.default_rng(0)
    a = generator.normal(size=(4, 4)) + 1j * generator.normal(size=(4, 4))
    v = la.eig(a).eigenvectors
    v_dot = sr.jvp(lambda a: la.eig(a).eigenvectors, (a,), (generator.normal(size=(4, 4)) + 0j,))[1]
    np.testing.assert_allclose(np.sum(np.real(np.conj(v) * v_dot), axis=0), np.zeros(4), atol=1e-12)
    places = np.argmax(np.abs(v), axis=0)
    np.testing.assert_allclose(v_dot[places, range(4)].imag, np.zeros(4), atol=1e-12)


def test_eig_without_a_basis_of_eigenvectors():
    with np.errstate(all="ignore"):
        g = grad(lambda a: np.real(la.eigvals(a)[0]))(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert np.isnan(g).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape):
    generator = np.random.default_rng(0)
    a = regular(generator, *shape)
    check_both(of_svd, a, generator=generator)
    check_both(lambda a: of_svd(a, False)[:3], a, generator=generator)
    check_both(lambda a: la.svd(a, compute_uv=False), a, generator=generator)
    check_both(la.svdvals, a, generator=generator)


def test_svd_of_hermitian_matrices():
    generator = np.random.default_rng(0)
    a = regular(generator, 2, 3, 3) + np.diag([-6.0, 2.0, 0.0])

    def f(a):
        u, s, vh = la.svd(hermitian(a), hermitian=True)
        return s, u @ vh, u * np.conjugate(u[..., :1, :])

    check_both(f, a, generator=generator)
    check_both(lambda a: la.svd(a, compute_uv=False, hermitian=True), a, generator=generator)


def test_taylor_coefficients():
    """Of the factors along a line of matrices, and of what they make up again."""
    a, b = regular(np.random.default_rng(0), 2, 2), regular(np.random.default_rng(1), 2, 2)

    def f(t):
        x = a + t * b
        symmetric = x @ x.T
        w, v = la.eigh(symmetric)
        u, s, vh = la.svd(x)
        q, r = la.qr(x)
        factor = la.cholesky(symmetric)
        return (v * w) @ v.T - symmetric, (u * s) @ vh - x, q @ r - x, factor @ factor.T - symmetric

    for found in sr.taylor(f, 0.3, order=5):
        np.testing.assert_allclose(np.stack([np.asarray(part) for part in found]), 0.0, atol=1e-10)


# Where eigenvalues or singular values coincide


def turned(*w):
    """A symmetric matrix with these eigenvalues, and eigenvectors in no special directions."""
    q, _ = la.qr(np.random.default_rng(3).normal(size=(len(w), len(w))))
    return (q * w) @ q.T


COINCIDING = [np.eye(3), np.diag([1.0, 1.0, 3.0]), np.zeros((3, 3)), turned(1.0, 1.0, 3.0), turned(2.0, 2.0, 2.0)]
coincide = pytest.mark.filterwarnings("ignore:numpy.linalg.* coincide:RuntimeWarning")


def symmetric_gradient(f, a):
    g = grad(lambda a: f((a + a.T) / 2))(a)
    assert np.isfinite(g).all()
    return g


@coincide
@pytest.mark.parametrize("a", COINCIDING)
def test_functions_of_all_eigenvalues(a):
    """The sum of f(w) has the derivative f'(A), and so have those of functions that are symmetric in other ways."""
    of_pairs = (lambda a: la.eigh(a)[0], lambda a: np.real(la.eig(a)[0]))
    for values in (la.eigvalsh, lambda a: np.real(la.eigvals(a)), *of_pairs):
        cube = symmetric_gradient(lambda a, values=values: np.sum(values(a) ** 3), a)
        np.testing.assert_allclose(cube, 3 * a @ a, atol=1e-12)
        total = symmetric_gradient(lambda a, values=values: np.exp(np.sum(values(a)) / 3), a)
        np.testing.assert_allclose(total, np.exp(np.trace(a) / 3) / 3 * np.eye(3), atol=1e-12)
    squares = grad(lambda a: np.sum(la.svdvals(a) ** 2))(a)
    np.testing.assert_allclose(squares, 2 * a, atol=1e-12)


def test_eigenvalues_alone_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(grad(lambda a: np.sum(la.eigvalsh(a) ** 2))(np.eye(2)), 2 * np.eye(2))
        np.testing.assert_array_equal(grad(lambda a: np.sum(la.svdvals(a)))(np.eye(2)), np.eye(2))


@pytest.mark.parametrize("a", [np.diag([1.0, 1.0, 3.0]), turned(1.0, 1.0, 3.0)])
@pytest.mark.parametrize(
    ("name", "of_top"),
    [
        ("eigh", lambda a: la.eigh(a)[1][:, -1]),
        ("svd", lambda a: la.svd(a)[0][:, 0]),
        ("eig", lambda a: np.real(la.eig(a)[1] @ (np.real(la.eig(a)[0]) > 2))),
    ],
)
def test_the_vector_of_a_simple_eigenvalue(name, of_top, a):
    """Beside repeated ones: against finite differences, along which they are still apart, and without a warning."""
    generator = np.random.default_rng(0)
    direction, weights = hermitian(generator.normal(size=(3, 3))), generator.normal(size=(3, 3))

    def f(a):
        v = of_top(a)
        return np.sum(weights * (v[:, None] * v))

    found = np.sum(grad(f)(a) * direction)
    expected = (f(a + 1e-6 * direction) - f(a - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("eigh", lambda a: la.eigh(a)[1] * np.exp(la.eigh(a)[0]) @ la.eigh(a)[1].T),
        ("eig", lambda a: np.real(la.eig(a)[1] * np.exp(la.eig(a)[0]) @ la.inv(la.eig(a)[1]))),
        ("svd", lambda a: la.svd(a)[0] * np.exp(la.svd(a)[1]) @ la.svd(a)[2]),
    ],
)
def test_a_matrix_made_from_the_vectors_of_repeated_values_is_a_warning(name, f):
    """In every mode; not where only the values are used on the way back."""
    a, direction = np.eye(3), np.arange(9.0).reshape(3, 3)
    message = rf"numpy\.linalg\.{name}: some (eigen|singular )values coincide"
    for derivative in (grad(lambda a: np.sum(f(a) * direction)), sr.jacrev(f), sr.jacfwd(f)):
        with pytest.warns(RuntimeWarning, match=message):
            derivative(a)
    for values in (lambda a: la.eigh(a)[0], lambda a: np.real(la.eig(a)[0]), lambda a: la.svd(a)[1]):
        grad(lambda a: np.sum(values(a) ** 2))(a)  # noqa: B023


@coincide
def test_the_projection_onto_the_space_of_a_repeated_eigenvalue():
    generator = np.random.default_rng(0)
    direction, weights = hermitian(generator.normal(size=(3, 3))), generator.normal(size=(3, 3))
    a = turned(1.0, 1.0, 3.0)

    def f(a):
        v = la.eigh(a)[1][:, :2]
        return np.sum(weights * (v @ v.T))

    expected = (f(a + 1e-6 * direction) - f(a - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(np.sum(grad(f)(a) * direction), expected, rtol=1e-6)


@coincide
def test_the_largest_eigenvalue_to_the_second_order():
    """It is smooth beside repeated smaller ones: the second derivative is 2 sum (v_i A_dot v)^2 / (w - w_i)."""
    a, direction = np.diag([1.0, 1.0, 3.0]), hermitian(np.arange(9.0).reshape(3, 3))
    expected = 2 * (direction[0, 2] ** 2 + direction[1, 2] ** 2) / 2
    for f in (lambda a: np.max(la.eigvalsh(a)), lambda a: la.eigh(a)[0][-1], lambda a: la.norm(a, 2)):
        hessian = sr.hessian(f)(a)  # forward over reverse
        np.testing.assert_allclose(np.tensordot(np.tensordot(hessian, direction), direction), expected)
        found = np.sum(grad(lambda a, f=f: np.sum(grad(f)(a) * direction))(a) * direction)
        np.testing.assert_allclose(found, expected)


@coincide
def test_simple_eigenvectors_are_told_from_repeated_ones_by_rounding():
    """Eigenvalues that differ by rounding coincide; those that differ by more do not."""
    for gap, expected in ((0.0, 0.0), (1e-16, 0.0), (1e-3, 1e3), (1e-10, 1e10)):
        with np.errstate(all="ignore"):
            g = grad(lambda a: la.eigh(a)[1][1, 0])(np.diag([1.0, 1.0 + gap]))
        np.testing.assert_allclose(np.abs(g).sum(), expected, rtol=1e-5)


@coincide
def test_singular_vectors_of_singular_matrices():
    """Those of the singular values that are not zero have their derivatives."""
    generator = np.random.default_rng(0)
    left, right = regular(generator, 4, 2), regular(generator, 2, 3)

    def f(left, right):
        u, s, vh = la.svd(left @ right, full_matrices=False)
        return (u[:, :2] * np.sqrt(s[:2])) @ vh[:2]

    check(f, left, right, generator=generator, dtypes=False)
    assert np.isfinite(grad(lambda a: np.sum(la.svd(a)[0]))(np.zeros((2, 2)))).all()


def test_singular_values_of_zero_have_a_derivative_of_zero():
    np.testing.assert_allclose(
        grad(lambda a: np.sum(la.svdvals(a)))(np.diag([2.0, 0.0])), np.diag([1.0, 0.0]), atol=1e-15
    )


# Errors


@pytest.mark.parametrize(
    "call",
    [
        lambda a: la.cholesky(a),
        lambda a: la.cholesky(-np.eye(2) * a[0, 0]),
        lambda a: la.eigh(a)[0],
        lambda a: la.eigvalsh(a),
        lambda a: la.eigh(a[:2], "X")[0],
        lambda a: la.eig(a)[0],
        lambda a: la.eigvals(a),
        lambda a: la.eigvals(a[:2] * np.nan),
        lambda a: la.qr(a[0])[0],
        lambda a: la.svd(a[0])[0],
        lambda a: la.svdvals(a[0]),
        lambda a: la.svd(a, hermitian=True)[0],
    ],
)
def test_what_numpy_does_not_take_raises_as_there(call):
    x = np.ones((3, 2))
    with pytest.raises(Exception) as expected:  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(type(expected.value)):
        grad(lambda a: np.sum(call(a)))(x)
    assert grad(lambda x: x * x)(3.0) == 6.0


CASES = {
    **dict.fromkeys((la.cholesky, cholesky_factor, hermitian_from, as_hermitian), test_cholesky),
    **dict.fromkeys((la.qr, reduced_factors, rest_of_reflections), test_qr),
    **dict.fromkeys((la.eigh, la.eigvalsh, of_hermitian.eigenpairs, of_hermitian.eigenvalues), test_eigh),
    **dict.fromkeys((la.eig, la.eigvals, general.eigenpairs), test_eig),
    **dict.fromkeys((la.svd, la.svdvals, singular_values, decomposition, complement), test_svd),
}
