"""Sparse Jacobians and Hessians are the dense ones, in few passes; patterns are checked."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import colouring, grad, hessian, jacobian, sparse_hessian, sparse_jacobian, sparsity
from shiftreset_ad.transforms.sparse import colours, jacobians
from shiftreset_ad.transforms.sparse.colours import as_pattern

sparse = pytest.importorskip("scipy.sparse")

X = np.linspace(0.3, 1.2, 7)


def chain(x):
    return x[1:] * np.sin(x[:-1])


def arrow(x):
    """A dense first row and a dense first column."""
    return np.concatenate([[np.sum(x**2)], x[1:] * x[0] + x[1:] ** 3])


def tall(x):
    return np.concatenate([np.outer(x, [1.0, 2.0, 3.0]).ravel(), [x[0] * x[1]]])


def wide(x):
    return np.sum(np.reshape(x[:6], (3, 2)) ** 2, axis=1)


PROGRAMS = {
    "band": chain,
    "arrow": arrow,
    "tall": tall,
    "wide": wide,
    "dense": lambda x: np.sum(x) * x,
    "none": lambda x: 0.0 * x[:2],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("by", [None, "columns", "rows", "both"])
def test_the_jacobian(name, by):
    f = PROGRAMS[name]
    dense = jacobian(f)(X)
    found = sparse_jacobian(f)(X)
    assert type(found) is sparse.csr_array
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-14, atol=0.0)
    given = sparse_jacobian(f, colouring(sparsity(f)(X), by))
    for x in (X, X[::-1] + 1.0):
        np.testing.assert_allclose(given(x).toarray(), jacobian(f)(x), rtol=1e-13, atol=1e-15)


def energy(x):
    return np.sum(x[1:] ** 2 * x[:-1]) + x[0] * x[5] + np.exp(x[6])


ENERGIES = {
    "band": energy,
    "separable": lambda x: np.sum(np.sin(x)),
    "arrow": lambda x: x[0] * np.sum(x**2),
    "dense": lambda x: np.sum(x) ** 3,
    "grid": lambda x: np.sum(np.diff(np.reshape(x[:6], (2, 3)), axis=0) ** 4) + np.sum(np.diff(x[:3]) ** 4),
    "linear": lambda x: np.sum(x[:3]),
}


@pytest.mark.parametrize("name", ENERGIES)
def test_the_hessian(name):
    f = ENERGIES[name]
    dense = hessian(f)(X)
    np.testing.assert_allclose(sparse_hessian(f)(X).toarray(), dense, rtol=1e-13, atol=1e-14)
    given = sparse_hessian(f, sparsity(grad(f))(X))
    for x in (X, X[::-1] + 1.0):
        np.testing.assert_allclose(given(x).toarray(), hessian(f)(x), rtol=1e-12, atol=1e-13)


def test_structures_and_arguments():
    def f(scale, state):
        return {"sum": np.sum(state["x"]) * scale, "pair": [state["x"][:2] * state["y"], 3]}

    state = {"x": X[:3], "y": 2.0}
    found = sparse_jacobian(f, argnums=1)(2.0, state).toarray()
    assert found.tolist() == [[2.0, 0.0, 0.0, X[0]], [0.0, 2.0, 0.0, X[1]], [2.0, 2.0, 2.0, 0.0]] or found.tolist() == [
        [2.0, 2.0, 2.0, 0.0], [2.0, 0.0, 0.0, X[0]], [0.0, 2.0, 0.0, X[1]]]  # fmt: skip
    both = sparsity(lambda a, b: a * b, (0, 1))(X[:2], X[:2]).toarray().astype(int)
    assert both.tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    whole = sparse_hessian(lambda p: p["a"] * np.sum(p["b"] ** 2))({"a": 2.0, "b": X[:2]}).toarray()
    np.testing.assert_allclose(whole, [[0, 2 * X[0], 2 * X[1]], [2 * X[0], 4, 0], [2 * X[1], 0, 4]])
    assert sparse_jacobian(lambda x, scale: x * scale)(X, scale=3.0).toarray().tolist() == (3.0 * np.eye(7)).tolist()


# Colourings


def test_few_passes():
    band = sum(np.eye(50, k=k) for k in (-1, 0, 1))
    assert colouring(band).passes == colouring(band, "rows").passes == colouring(band, "symmetric").passes == 3
    assert colouring(np.ones((3, 40))).passes == colouring(np.ones((40, 3))).passes == 3
    arrowhead = np.eye(50)
    arrowhead[0] = arrowhead[:, 0] = 1.0
    found = [colouring(arrowhead, by).passes for by in ("columns", "rows", "both", "symmetric")]
    assert found == [50, 50, 3, 2]
    assert colouring(arrowhead).by == "both"
    assert colouring(np.zeros((2, 3))).passes == 0


def is_recovered(matrix, by):
    """Whether the products with the seeds of a colouring give all entries of a matrix."""
    colours = colouring(matrix, by)
    found = colours.entries(colours.seeds("columns") @ matrix.T, colours.seeds("rows") @ matrix)
    return np.allclose(found.toarray(), matrix)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.floats(0.0, 1.0))
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_random_patterns(seed, m, n, density):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(1.0, 2.0, (m, n)) * (rng.uniform(size=(m, n)) < density)
    assert all(is_recovered(matrix, by) for by in ("columns", "rows", "both", None))
    square = rng.uniform(1.0, 2.0, (n, n)) * (rng.uniform(size=(n, n)) < density)
    assert is_recovered(square + square.T, "symmetric")


def test_the_picture():
    svg = colouring(sparsity(arrow)(X))._repr_svg_()
    assert svg.count("<rect") == 1 + sparsity(arrow)(X).nnz
    assert "7 x 7, 19 entries, 3 passes by both" in svg
    assert repr(colouring(np.eye(3))) == "<a colouring: 3 x 3, 3 entries, 1 passes by columns>"
    with pytest.raises(ValueError, match="at most 20000 entries"):
        colouring(sparse.eye_array(20_001))._repr_svg_()


def test_a_pattern_may_be_any_array():
    for pattern in (np.eye(3), sparse.eye_array(3).tocoo(), np.eye(3, dtype=bool), sparse.csc_matrix(np.eye(3))):
        assert as_pattern(pattern).toarray().tolist() == np.eye(3).tolist()
    with_zero = sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert as_pattern(with_zero).nnz == 1


# Passes


def test_as_many_products_as_colours_and_all_at_once(monkeypatch):
    calls, rows = [], []

    def counted(linear, directions):
        calls.append(linear)
        rows.append(len(directions[0]))
        return at_once(linear, directions)

    at_once = jacobians.at_once
    monkeypatch.setattr(jacobians, "at_once", counted)
    band = sparsity(chain)(X)
    sparse_jacobian(chain, band, check=False)(X)
    sparse_jacobian(chain, band)(X)
    sparse_jacobian(arrow, sparsity(arrow)(X), check=False)(X)
    sparse_hessian(energy, sparsity(grad(energy))(X), check=False)(X)
    assert rows == [2, 3, 1, 2, colouring(sparsity(grad(energy))(X), "symmetric").passes]
    assert len(calls) == 5
    monkeypatch.setattr(jacobians, "AT_MOST", 14)  # two rows of seven elements at once
    np.testing.assert_allclose(sparse_jacobian(chain, band)(X).toarray(), jacobian(chain)(X))
    assert rows[5:] == [2, 1]


# Errors


def test_a_pattern_that_lacks_an_entry_is_found():
    for f, pattern in ((arrow, np.eye(7)), (chain, np.eye(6, 7)), (wide, np.eye(3, 7))):
        for by in ("columns", "rows", "both"):
            with pytest.raises(ValueError, match="the pattern lacks an entry: element"):
                sparse_jacobian(f, colouring(pattern, by))(X)
    with pytest.raises(ValueError, match="the pattern lacks an entry"):
        sparse_hessian(energy, np.eye(7))(X)
    assert sparse_jacobian(arrow, np.eye(7), check=False)(X).nnz == 7  # as it was asked for
    more = np.ones((7, 7))
    np.testing.assert_allclose(sparse_jacobian(arrow, more)(X).toarray(), jacobian(arrow)(X))


def test_wrong_calls():
    for pattern, by, said in (
        (
            np.eye(7, 6),
            None,
            "the pattern has 6 columns, and the argument has 7 elements; find the pattern by sparsity",
        ),
        (np.eye(6, 7), "columns", "the pattern has 6 rows, and the value has 7 elements"),
        (np.eye(8, 7), "rows", "the pattern has 8 rows, and the value has 7 elements"),
    ):
        with pytest.raises(ValueError, match=said):
            sparse_jacobian(arrow, colouring(pattern, by))(X)
    with pytest.raises(ValueError, match="the pattern has 6 columns"):
        sparse_hessian(energy, np.eye(6))(X)
    with pytest.raises(ValueError, match="needs a symmetric pattern; use pattern"):
        colouring(np.triu(np.ones((3, 3))), "symmetric")
    with pytest.raises(ValueError, match='by must be "columns", "rows", "both" or "symmetric", and is \'lines\''):
        colouring(np.eye(3), "lines")
    with pytest.raises(ValueError, match="must have two dimensions"):
        colouring(np.ones(3))
    for operator in (sparsity, sparse_jacobian, sparse_hessian):
        with pytest.raises(TypeError, match="Use jacobian or hessian inside another derivative"):
            grad(lambda x, operator=operator: np.sum(operator(lambda y: np.sum(y))(x)))(X)
        with pytest.raises(TypeError):
            operator(lambda x: "text")(X)
        with pytest.raises(TypeError, match="convert it"):
            operator(lambda x: x)(3)
    for f, x in ((lambda z: z, X * 1j), (lambda x: 1j * x, X)):
        with pytest.raises(TypeError, match="is complex; make a function of the real and imaginary parts"):
            sparse_jacobian(f)(x)
    with pytest.raises(TypeError, match="scalar"):
        sparse_hessian(lambda x: x)(X)


def test_the_functions_can_be_pickled():
    for made in (sparsity(chain), sparse_jacobian(chain, sparsity(chain)(X)), sparse_hessian(energy)):
        assert pickle.loads(pickle.dumps(made))(X).shape == made(X).shape


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_rounding_in_single_precision_is_no_lacking_entry(seed):
    x = np.random.default_rng(seed).uniform(0.1, 2.0, 2000).astype(np.float32)

    def f(x):
        return np.sin(x[1:] * x[:-1]) * np.exp(x[:-1])

    pattern = sparsity(f)(x)
    short = pattern.tolil()
    short[7, 7] = False
    for by in ("columns", "rows", "both"):
        assert sparse_jacobian(f, colouring(pattern, by))(x).dtype == np.float32
        with pytest.raises(ValueError, match="the pattern lacks an entry"):
            sparse_jacobian(f, colouring(short.tocsr(), by))(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[:0],
        lambda x: np.zeros_like(x) * np.sum(x[:0]),
        lambda x: np.sum(np.reshape(x[:0], (0, 3)) ** 2, axis=0),
        lambda x: np.concatenate([x[:0] * 2.0, np.zeros(2)]),
    ],
)
def test_a_pattern_without_entries(f):
    for x in (X, X[:0]):
        found = sparse_jacobian(f)(x)
        assert found.shape == (np.size(f(x)), np.size(x))
        assert found.nnz == 0
        assert sparse_hessian(lambda x: np.sum(f(x)))(x).toarray().tolist() == np.zeros((x.size, x.size)).tolist()
        assert sparse_jacobian(f, sparsity(f)(x))(x).nnz == 0


def test_a_pattern_without_entries_of_a_program_with_a_rule_of_its_own():
    @sr.custom_jvp
    def shifted(x):
        return x[::-1] * 2.0

    shifted.defjvp(
        lambda primals, tangents: (shifted(*primals), np.stack([tangents[0][3 - i] for i in range(4)]) * 2.0)
    )
    for f in (lambda x: shifted(np.floor(x[:4])), lambda x: np.fft.fft(np.zeros(2) * np.floor(x[0])).real):
        assert sparse_jacobian(f)(X).nnz == 0
    assert sparse_hessian(lambda x: np.sum(shifted(x[:4])))(X).nnz == 0


patterns = st.tuples(st.integers(0, 9), st.integers(0, 9)).flatmap(
    lambda shape: st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]).map(
        lambda entries: np.array(entries, bool).reshape(shape)
    )
)


@settings(max_examples=60, deadline=None)
@given(patterns)
def test_by_default_a_colouring_is_the_first_with_the_fewest_passes(pattern):
    found = [colouring(pattern, by) for by in ("columns", "rows", "both")]
    best = min(found, key=lambda one: one.passes)
    default = colouring(pattern)
    assert (default.by, default.passes) == (best.by, best.passes)
    assert np.array_equal(default.columns, best.columns)
    assert np.array_equal(default.rows, best.rows)


def test_the_search_ends_at_the_fewest_possible_colours(monkeypatch):
    """So many as the longest row has entries: neither another order nor another way can take fewer."""
    runs, in_order = [], colours._in_order
    monkeypatch.setattr(colours, "_in_order", lambda *args: runs.append(args) or in_order(*args))
    band = sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(50, 50))
    assert colouring(band).passes == 3
    assert len(runs) == 1
    runs.clear()
    assert colouring(sparsity(arrow)(np.linspace(0.3, 1.2, 50))).by == "both"
    assert len(runs) == 3  # of all columns, and of one row and what it leaves of the columns


def test_nobody_can_write_to_a_colouring():
    found = colouring(sparsity(arrow)(X))
    for array in (found.columns, found.rows, found.pattern.data, found.pattern.indices, found.seeds("rows", True)):
        assert not array.flags.writeable
        assert array.base is None or not array.base.flags.writeable
    for indices in (found.pattern.indices, found.pattern.indptr):
        assert indices.dtype == np.int32  # as SciPy's solvers take


def test_a_matrix_may_be_changed():
    given = sparse_jacobian(arrow, colouring(sparsity(arrow)(X)))
    for _ in range(2):
        found = given(X)
        np.testing.assert_allclose(found.toarray(), jacobian(arrow)(X), rtol=1e-14)
        found.data[:] = 0.0
        found.eliminate_zeros()
        assert found.nnz == 0


def test_the_product_of_a_band_makes_little_memory():
    """Counted in arrays of all directions: those of the program's own values, and no copies of the seeds."""
    x = np.linspace(0.0, 1.0, 20_000)

    def band(u):
        left, right = np.pad(u[:-1], (1, 0)), np.pad(u[1:], (0, 1))
        return np.exp(-u) * (left - 2.0 * u + right) + np.sin(u) * right

    fast = sparse_jacobian(band, colouring(sparsity(band)(x)), check=False)
    fast(x)
    tracemalloc.start()
    fast(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 7.3 * 3 * x.nbytes
