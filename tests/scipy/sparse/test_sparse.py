"""Sparse arrays whose values are numbers: products, equations, the three ways, and errors."""

import numpy as np
import pytest

theirs = pytest.importorskip("scipy.sparse")
import scipy.sparse.linalg  # noqa: E402

import shiftreset_ad as sr  # noqa: E402
from shiftreset_ad import grad, jvp  # noqa: E402
from shiftreset_ad.scipy import sparse  # noqa: E402
from tests.rules.three_ways import check  # noqa: E402

GENERATOR = np.random.default_rng(1)
N = 6
DENSE = np.where(GENERATOR.random((N, N)) < 0.4, GENERATOR.normal(size=(N, N)), 0.0) + 3.0 * np.eye(N)
KINDS = {"csr": (sparse.csr_array, theirs.csr_array(DENSE)), "csc": (sparse.csc_array, theirs.csc_array(DENSE))}
B, BS = GENERATOR.normal(size=N), GENERATOR.normal(size=(N, 3))
each_kind = pytest.mark.parametrize("kind", KINDS)
each_b = pytest.mark.parametrize("b", [B, BS], ids=["vector", "matrix"])


def made(kind, data):
    of_numbers, plain = KINDS[kind]
    return of_numbers((data, plain.indices, plain.indptr), plain.shape)


def three_ways(f, *data):
    check(f, *data, generator=np.random.default_rng(0), dtypes=False)


@each_kind
@each_b
def test_products(kind, b):
    data = KINDS[kind][1].data
    found = jvp(lambda data: made(kind, data) @ b, (data,), (data,))
    np.testing.assert_allclose(found[0], DENSE @ b)
    np.testing.assert_allclose(found[1], DENSE @ b)
    three_ways(lambda data, b: made(kind, data) @ b, data, b)
    three_ways(lambda data, b: np.transpose(b) @ made(kind, data), data, b)
    three_ways(lambda data: b.T @ (2.0 * made(kind, data).T / 3.0), data)
    three_ways(lambda data: -made(kind, data).toarray(), data)


@each_kind
@each_b
def test_equations(kind, b):
    data = KINDS[kind][1].data
    found = jvp(lambda b: sparse.linalg.spsolve(made(kind, data), b), (b,), (b,))[0]
    np.testing.assert_allclose(found, np.linalg.solve(DENSE, b))
    three_ways(lambda data, b: sparse.linalg.spsolve(made(kind, data), b), data, b)
    three_ways(lambda b: sparse.linalg.spsolve(KINDS[kind][1], b), b)
    three_ways(lambda data: sparse.linalg.spsolve(made(kind, data).T, b), data)


@each_kind
def test_what_leaves_the_places(kind):
    plain = KINDS[kind][1]
    other, rows = theirs.csr_array(np.diag(B) + np.eye(N, k=2)), np.arange(1.0, N + 1.0)[:, None]
    for of_numbers, of_scipy in (
        (lambda a: (a + a - other).toarray(), lambda a: (a + a - other).toarray()),
        (lambda a: (other - a).T.toarray(), lambda a: (other - a).T.toarray()),
        (lambda a: (other + a).multiply(rows).toarray(), lambda a: (other + a).multiply(rows).toarray()),
        (lambda a: np.stack([a.sum(), *a.sum(0), *a.sum(axis=1)]), lambda a: [a.sum(), *a.sum(0), *a.sum(axis=1)]),
        (lambda a: np.stack([*a.sum(-1), *a.sum(-2)]), lambda a: [*a.sum(-1), *a.sum(-2)]),
        (lambda a: (a + other).diagonal(), lambda a: (a + other).diagonal()),
    ):
        found = jvp(lambda data, f=of_numbers: f(made(kind, data)), (plain.data,), (plain.data,))[0]
        np.testing.assert_allclose(found, of_scipy(plain))
        three_ways(lambda data, f=of_numbers: f(made(kind, data)), plain.data)


def test_a_wide_matrix_has_a_short_diagonal():
    dense = GENERATOR.normal(size=(2, 4))
    found = jvp(lambda x: sparse.csr_array(x).diagonal(), (dense,), (dense,))[0]
    np.testing.assert_array_equal(found, np.diagonal(dense))


def test_a_dense_matrix_becomes_sparse_with_all_its_elements():
    dense, x = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 4.0])
    np.testing.assert_array_equal(grad(lambda m: np.sum(sparse.csc_array(m) @ x))(dense), [x, x])
    np.testing.assert_array_equal(grad(lambda m: np.sum(sparse.csr_array(sparse.csc_array(m)) @ x))(dense), [x, x])


def test_staging_writes_an_equation_down_once():
    b = GENERATOR.normal(size=N)
    f = grad(lambda data: np.sum(sparse.linalg.spsolve(made("csc", data), b) ** 2))
    staged = sr.staged(f)
    for factor in (1.0, 2.0, 3.0):
        data = factor * KINDS["csc"][1].data
        np.testing.assert_array_equal(staged(data), f(data))
    assert staged.report().startswith("staged(grad(<lambda>)) runs in steps, in 1 way")


def test_values_at_the_same_place_are_added():
    places = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0])
    data = np.array([1.0, 2.0, 4.0, 0.5])
    made_of = lambda data: sparse.csr_array((data, places), (2, 2))  # noqa: E731
    exact = lambda data: sr.array([[data[0] + data[1], 0.0], [data[3], data[2]]])  # noqa: E731
    b = np.array([1.0, 2.0])
    multiplied = sr.jacobian(lambda d: made_of(d) @ b)(data)
    np.testing.assert_allclose(multiplied, sr.jacobian(lambda d: exact(d) @ b)(data))
    np.testing.assert_allclose(sr.jacobian(lambda d: made_of(d).toarray())(data), sr.jacobian(exact)(data))
    solved = sr.jacobian(lambda d: sparse.linalg.spsolve(made_of(d), b))(data)
    np.testing.assert_allclose(solved, sr.jacobian(lambda d: np.linalg.solve(exact(d), b))(data))


def test_a_matrix_of_one_column_gives_a_vector_as_in_scipy():
    matrix = KINDS["csc"][1]
    found = jvp(lambda b: sparse.linalg.spsolve(matrix, b), (B[:, None],), (B[:, None],))[0]
    np.testing.assert_array_equal(found, scipy.sparse.linalg.spsolve(matrix, B[:, None]))


def test_plain_operands_are_scipys():
    matrix = sparse.csr_array(DENSE)
    assert isinstance(matrix, theirs.csr_array)
    np.testing.assert_array_equal(sparse.linalg.spsolve(matrix, B), scipy.sparse.linalg.spsolve(matrix, B))
    assert sparse.eye_array(2).shape == (2, 2)


def test_the_conductivity_of_a_rod_is_found():
    n = 200
    rows = np.concatenate([np.arange(n), np.arange(n - 1), np.arange(1, n)])
    columns = np.concatenate([np.arange(n), np.arange(1, n), np.arange(n - 1)])

    def temperature(k):
        between = k * np.ones(n + 1)
        data = np.concatenate([between[1:] + between[:-1], -between[1:-1], -between[1:-1]])
        return sparse.linalg.spsolve(sparse.csc_array((data, (rows, columns)), (n, n)), np.ones(n) / n**2)

    k, f = 2.0, lambda k: np.sum(temperature(k))
    assert grad(f)(k) == pytest.approx(-f(k) / k)
    assert grad(grad(f))(k) == pytest.approx(2.0 * f(k) / k**2)


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda d: made("csr", d) @ np.ones(3), ValueError, "do not multiply"),
        (lambda d: sparse.csr_array((d, [0], [0, 1, 2])), ValueError, "indices and data should have the same size"),
        (lambda d: sparse.linalg.spsolve(made("csr", d), np.ones(2)), ValueError, "the right-hand side"),
        (lambda d: sparse.linalg.spsolve(made("csr", d), theirs.csc_array(DENSE)), NotImplementedError, "sparse right"),
        (lambda d: sparse.linalg.spsolve(theirs.csc_array(DENSE), made("csr", d)), NotImplementedError, "sparse right"),
        (lambda d: made("csr", d) @ made("csr", d), NotImplementedError, "product of two sparse arrays"),
        (lambda d: theirs.csr_array(DENSE) @ made("csr", d), NotImplementedError, "product of two sparse arrays"),
        (lambda d: made("csr", d).multiply(theirs.csr_array(DENSE)), NotImplementedError, "toarray"),
        (lambda d: made("csr", d) * DENSE, TypeError, r"give an array to A\.multiply"),
        (lambda d: DENSE * made("csr", d), TypeError, r"give an array to A\.multiply"),
        (lambda d: made("csr", d)[0, 0], NotImplementedError, r"toarray\(\)\[index\]"),
        (lambda d: made("csr", d).power(2), NotImplementedError, r"csr_array\.power has no derivative rule"),
        (lambda d: made("csr", d).nothing, AttributeError, "no attribute 'nothing'"),
        (lambda d: made("csr", d) + theirs.eye_array(2), ValueError, "do not add up"),
        (lambda d: made("csr", d) + 1.0, TypeError, "unsupported operand"),
        (lambda d: made("csr", d).sum(2), ValueError, "axis is 2; give None, 0 or 1"),
        (lambda d: sparse.linalg.expm(d), NotImplementedError, r"scipy\.sparse\.linalg\.expm has no derivative rule"),
        (lambda d: sparse.diags_array(d), NotImplementedError, r"scipy\.sparse\.diags_array has no derivative rule"),
    ],
)
def test_errors(f, error, message):
    with pytest.raises(error, match=message):
        grad(lambda data: f(data)[0])(KINDS["csr"][1].data)


def test_places_outside_and_dense_rows_are_errors():
    for make in (sparse.csr_array, sparse.csc_array):
        for indices in ([0, -1], [0, 5]):
            with pytest.raises(ValueError, match="indices must be"):
                grad(lambda d, make=make, at=indices: np.sum(make((d, at, [0, 1, 2]), (2, 2)) @ d))(np.ones(2))
        with pytest.raises(ValueError, match="give it two axes"):
            grad(lambda d, make=make: np.sum(make(d).toarray()))(np.ones(2))


def test_the_places_of_an_equation_may_be_changed_afterwards():
    def f(data, changes):
        rows, columns = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2])
        x = sparse.linalg.spsolve(sparse.csc_array((data, (rows, columns)), shape=(3, 3)), np.ones(3))
        if changes:
            rows[:] = columns[:] = 1
        return np.sum(x**2)

    data = np.array([2.0, 3.0, 4.0, 1.0])
    np.testing.assert_array_equal(grad(f)(data, True), grad(f)(data, False))
