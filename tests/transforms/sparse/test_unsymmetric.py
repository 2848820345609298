"""Second derivatives that are not symmetric, by rules of the user's: no entry is lost, or it is an error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import colouring, grad, hessian, sparse_hessian, sparse_jacobian, sparsity
from shiftreset_ad.transforms.sparse import jacobians

sparse = pytest.importorskip("scipy.sparse")
X = np.array([1.5, 0.7, 2.1, 0.3, 0.9])


def with_gradient(gradient, by="vjp"):
    """A scalar function with this gradient, whatever its value is."""
    if by == "vjp":
        f = sr.custom_vjp(lambda x: np.sum(x))
        f.defvjp(lambda x: (np.sum(x), x), lambda x, y_bar: (gradient(x) * y_bar,))
    else:
        f = sr.custom_jvp(lambda x: np.sum(x))
        f.defjvp(lambda primals, tangents: (f(*primals), np.sum(gradient(primals[0]) * tangents[0])))
    return f


GRADIENTS = {
    "one side": lambda x: sr.array([x[1], 0.0, 0.0, 0.0, 0.0]),
    "both sides, other values": lambda x: sr.array([x[1], 3.0 * x[0], 0.0, x[4] ** 2, x[3]]),
    "a row and a column that differ": lambda x: np.concatenate([[np.sum(x**3)], 2.0 * x[0] * x[1:]]),
    "entries that cancel in a product": lambda x: np.concatenate([[x[2] - x[3]], 0.0 * x[1:]]),
    "small beside its row": lambda x: np.concatenate([[1e9 * x[0] + 1e-3 * x[2]], x[1:]]),
    "small beside an entry of its colour": lambda x: np.concatenate([[1e9 * x[1] + x[2]], 1e9 * x[:1], x[2:]]),
    "not a number": lambda x: sr.array([x[0] + x[2] * (np.inf - np.inf), x[1], 0.0, 0.0, 0.0]),
    "values that are kept": lambda x: x * sr.stop_gradient(x[::-1]) + x[::-1],
}

ERRORS = ("a row and a column that differ", "entries that cancel in a product", "small beside an entry of its colour")


@pytest.mark.parametrize("by", ["vjp", "jvp"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_no_entry_is_lost(name, by):
    f = with_gradient(GRADIENTS[name], by)
    dense = hessian(f)(X)
    pattern = sparsity(grad(f))(X)
    dense[~pattern.toarray() & np.isnan(dense)] = 0.0  # zero times what is not a number
    np.testing.assert_array_equal(sparse_hessian(f)(X).toarray(), dense)
    np.testing.assert_array_equal(sparse_hessian(f, colouring(pattern, "columns"))(X).toarray(), dense)
    for way in ("columns", "rows", "both") if np.all(np.isfinite(dense)) else ("columns",):
        np.testing.assert_array_equal(sparse_jacobian(grad(f), colouring(pattern, way))(X).toarray(), dense)
    if name in ERRORS:
        with pytest.raises(ValueError, match=r'or the matrix is not symmetric.*give colouring\(pattern, "columns"\)'):
            sparse_hessian(f, pattern)(X)
    else:  # each entry is alone in its product
        np.testing.assert_array_equal(sparse_hessian(f, pattern)(X).toarray(), dense)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.floats(0.0, 0.7), st.sampled_from([0, 3, 8]))
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_random_matrices(seed, n, density, scales):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < density) * 10.0 ** rng.integers(-scales, 1, (n, n))
    if seed % 2:  # one entry alone makes it unsymmetric
        matrix = matrix + matrix.T
        matrix[rng.integers(n), rng.integers(n)] *= 2.0
    held = sparse.csr_array(matrix)
    f = with_gradient(lambda x: held @ x)
    x = np.ones(n)
    np.testing.assert_allclose(sparse_hessian(f)(x).toarray(), matrix, rtol=1e-11, atol=0.0)
    try:
        found = sparse_hessian(f, sparsity(grad(f))(x))(x).toarray()
    except ValueError:
        assert not np.array_equal(matrix, matrix.T)
    else:  # a difference that is small beside the entries of its product
        assert np.max(np.abs(found - matrix), initial=0.0) <= 1e-9 * np.max(np.abs(matrix), initial=0.0)


def test_structures():
    @sr.custom_vjp
    def f(p):
        return p["a"] * np.sum(p["b"])

    f.defvjp(lambda p: (f(p), p), lambda p, y_bar: ({"a": np.sum(p["b"] ** 2) * y_bar, "b": 0.0 * p["b"]},))
    found = sparse_hessian(f)({"a": 2.0, "b": X[:2]}).toarray()
    assert found.tolist() == [[0.0, 2.0 * X[0], 2.0 * X[1]], [0.0] * 3, [0.0] * 3]


def test_a_symmetric_matrix_takes_no_more_than_one_product_for_the_check(monkeypatch):
    rows = []

    def counted(linear, directions):
        rows.append(len(directions[0]))
        return at_once(linear, directions)

    at_once = jacobians.at_once
    monkeypatch.setattr(jacobians, "at_once", counted)
    sparse_hessian(lambda x: x[0] * np.sum(x**2))(X)
    sparse_hessian(with_gradient(GRADIENTS["a row and a column that differ"]))(X)
    assert rows == [3, 3, 5]


def test_what_may_be_on_one_side_only_is_found_on_both():
    pattern = np.triu(np.ones((5, 5)))
    found = sparse_hessian(lambda x: np.sum(x) ** 3, pattern)(X)
    np.testing.assert_allclose(found.toarray(), hessian(lambda x: np.sum(x) ** 3)(X))
    with pytest.raises(ValueError, match="needs a symmetric pattern"):
        sparse_hessian(np.sum, np.ones((5, 4)))


@pytest.mark.parametrize("by", ["rows", "both"])
def test_a_hessian_is_not_coloured_by_rows(by):
    arrow = np.eye(5)
    arrow[0] = 1.0
    with pytest.raises(ValueError, match=f'the colouring is by {by}; use colouring\\(pattern, "symmetric"\\)'):
        sparse_hessian(lambda x: x[0] * np.sum(x**2), colouring(arrow + arrow.T, by))


def test_a_lacking_entry_that_is_not_a_number_is_found():
    def f(x):
        return sr.array([2.0 * x[0], x[2] * (np.inf - np.inf)])

    with pytest.raises(ValueError, match="the pattern lacks an entry: element 1"):
        sparse_jacobian(f, np.diag([1.0, 0.0, 0.0, 0.0, 0.0])[:2])(X)
    assert np.isnan(sparse_jacobian(f)(X).toarray()).tolist() == [[False] * 5, [False, False, True, False, False]]


def test_a_lacking_entry_that_is_small_beside_its_row_is_found():
    def f(x):
        return sr.array([1e9 * x[0] + 1e-3 * x[1], x[0] * x[1]])

    pattern = np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    with pytest.raises(ValueError, match="the pattern lacks an entry: element 0"):
        sparse_jacobian(f, pattern)(np.ones(5))
