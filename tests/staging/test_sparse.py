"""Sparse arrays as answers of staged functions: each answer is new, and nobody can tell it from the function's own."""

import re
import warnings

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import colouring, grad, sparse_hessian, sparse_jacobian, sparsity, staged, vmap
from shiftreset_ad.staging import StagingWarning

sparse = pytest.importorskip("scipy.sparse")

X = np.linspace(0.3, 1.2, 7)


def band(x):
    left, right = np.pad(x[:-1], (1, 0)), np.pad(x[1:], (0, 1))
    return np.exp(-x) * (left - 2.0 * x + right) + np.sin(x) * right


def arrow(x):
    return np.append(x[1:] * x[0] + x[1:] ** 3, np.sum(x**2))


def energy(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum(x**3)


def linear(x):
    return np.append(2.0 * x[1:] - x[:-1], 3.0 * x[0])


def branching(x):
    return np.sin(x) * x[::-1] if np.sum(x) > 0.0 else x**3


OPERATORS = {
    "a band": lambda check: sparse_jacobian(band, colouring(sparsity(band)(X)), check=check),
    "by rows and columns": lambda check: sparse_jacobian(arrow, colouring(sparsity(arrow)(X), "both"), check=check),
    "by rows": lambda check: sparse_jacobian(arrow, colouring(sparsity(arrow)(X), "rows"), check=check),
    "a constant": lambda check: sparse_jacobian(linear, colouring(sparsity(linear)(X)), check=check),
    "a Hessian": lambda check: sparse_hessian(energy, colouring(sparsity(grad(energy))(X), "symmetric"), check=check),
    "a branch": lambda check: sparse_jacobian(branching, np.eye(len(X)) + np.eye(len(X))[::-1], check=check),
}


def assert_same(found, expected):
    assert type(found) is sparse.csr_array
    assert found.shape == expected.shape
    for name in ("indices", "indptr"):
        assert getattr(found, name).dtype == getattr(expected, name).dtype
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-13, atol=1e-15)
    assert found.has_canonical_format == expected.has_canonical_format


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_answers_are_those_of_the_function(name, check):
    operator = OPERATORS[name](check)
    f = staged(operator)
    for k in range(8):
        x = X * (1.0 + 0.1 * k) * (-1.0) ** k
        assert_same(f(x), operator(x))
    assert len(f.sources) == 1


def test_an_answer_is_new_in_each_call():
    f = staged(OPERATORS["a band"](False))
    for _ in range(4):
        expected, found = f(X).toarray(), f(X)
        assert np.array_equal(found.toarray(), expected)
        found.data[:] = 7.0
        found.indices[:] = 0
        found.indptr[:] = 0
        found.eliminate_zeros()
        assert np.array_equal(f(X).toarray(), expected)


def test_the_steps_do_not_look_at_the_pattern():
    """Nobody can write to the arrays of a colouring, so they are not compared in each call; the seeds are constants."""
    f = staged(OPERATORS["a band"](True))
    for _ in range(3):
        f(X)
    ((signature,), (text,)) = f._calls._signatures.values(), f.ir
    assert not signature.guards._arrays
    assert "zeros_like" not in text
    assert "write" not in text
    assert len(re.findall(r": float64\[4, 7\]", text)) == 10  # that work on the tangents


def test_it_is_native_code_without_a_check():
    pytest.importorskip("llvmlite")
    for name in ("a band", "by rows and columns", "a Hessian"):
        f = staged(OPERATORS[name](False))
        f(X)
        assert "no native code" not in "".join(f.llvm), name


def test_a_lacking_entry_is_found_in_each_call():
    f = staged(sparse_jacobian(lambda x: x * (1.0 + x[0] * x[1]), np.eye(7)))
    zero = X * (np.arange(7) > 1)  # where the derivative has the pattern
    for _ in range(4):
        with np.errstate(all="ignore"):
            assert_same(f(zero), sparse.csr_array(np.eye(7)))
    with pytest.raises(ValueError, match="the pattern lacks an entry"):
        f(X)


def test_beside_other_answers():
    operator = OPERATORS["a band"](False)
    f = staged(lambda x: {"value": band(x), "jacobian": operator(x), "at": (operator(2.0 * x), 3)})
    for k in range(5):
        found = f(X + k)
        assert np.array_equal(found["value"], band(X + k))
        assert_same(found["jacobian"], operator(X + k))
        assert_same(found["at"][0], operator(2.0 * (X + k)))
        assert found["at"][1] == 3


KEPT = sparse.csr_array(np.eye(3))


def twice(x):
    matrix = OPERATORS["a band"](False)(x)
    return matrix, matrix


def with_its_indices(x):
    matrix = OPERATORS["a band"](False)(x)
    return matrix, matrix.indices


def with_indices_from_outside(x):
    return sparse.csr_array((KEPT.data * 2.0, KEPT.indices, KEPT.indptr), shape=(3, 3)), x * 2.0


def from_outside(x):
    return KEPT, x * 2.0


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (twice, "a csr_array twice"),
        (with_its_indices, "shares its indices"),
        (with_indices_from_outside, "shares its indices"),
        (from_outside, "shares its indices|csr_array twice"),
        (lambda x: sparse.csc_array(np.eye(3)), "returns a csc_array"),
    ],
)
def test_what_is_refused(f, reason):
    g = staged(f)
    with pytest.warns(StagingWarning, match=reason):
        g(X)
    assert f is not from_outside or g(X)[0] is KEPT


def test_what_the_warnings_say_is_staged():
    """The array once, and copies of its indices."""
    operator = OPERATORS["a band"](False)

    def f(x):
        matrix = operator(x)
        return matrix, matrix.indices.copy(), matrix.data * 2.0

    g = staged(f)
    for k in range(4):
        (matrix, indices, data), expected = g(X + k), operator(X + k)
        assert_same(matrix, expected)
        assert not np.shares_memory(matrix.indices, indices)
        assert np.array_equal(indices, expected.indices)
        assert np.array_equal(data, expected.data * 2.0)
    assert len(g.sources) == 1


def test_indices_that_depend_on_an_argument_are_refused():
    def f(x):
        matrix = OPERATORS["a band"](False)(x)
        matrix.indices = matrix.indices + np.int32(0) * np.astype(x[:1], np.int32)
        return matrix

    with pytest.warns(StagingWarning, match="whose indices depend on its arguments"):
        staged(f)(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda matrix: matrix @ np.ones(7),
        lambda matrix: matrix.T.toarray(),
        lambda matrix: (2.0 * matrix).sum(),
        lambda matrix: sparse.linalg.spsolve(matrix.tocsc() + sparse.eye_array(7) * 9.0, np.ones(7)),
        lambda matrix: np.sum(matrix.data),
        lambda matrix: matrix.toarray() if sparse.issparse(matrix) else None,
    ],
)
def test_a_sparse_array_may_be_used_in_the_function(use):
    """By the function itself, where SciPy asks for the data: the answer is right, staged or not."""
    operator = OPERATORS["a band"](False)

    def f(x):
        return np.asarray(use(operator(x))) * 1.0

    g = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        for k in range(4):
            np.testing.assert_allclose(g(X + k), f(X + k), rtol=1e-12)


def test_vmap_says_that_it_has_no_rows_of_sparse_arrays():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        with pytest.raises(TypeError):
            vmap(OPERATORS["a band"](False))(np.stack([X, X]))


def test_inside_a_derivative_the_function_itself_runs():
    with pytest.raises(TypeError, match="a sparse array cannot hold numbers"):
        sr.jvp(lambda x: staged(sparse_jacobian(band))(x).sum(), (X,), (X,))
