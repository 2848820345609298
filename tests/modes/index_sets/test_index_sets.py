"""Index sets through every rule: no element that a derivative depends on is missing."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from shiftreset_ad import (
    EscapedNumberError,
    array,
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    jacfwd,
    jacobian,
    scan,
    sparsity,
    zeros,
)
from shiftreset_ad.boundary import trees
from shiftreset_ad.modes.index_sets import IndexSets
from shiftreset_ad.modes.index_sets.sets import Sets
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.broadcasting import dtype_of
from tests.docs import examples_of_numpy, examples_of_scipy
from tests.modes.index_sets import patterns

sparse = pytest.importorskip("scipy.sparse")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")

EXAMPLES, POINTS, points_of = (getattr(examples_of_numpy(), name) for name in ("EXAMPLES", "POINTS", "points_of"))
ALL = {**EXAMPLES, **(examples_of_scipy().EXAMPLES if find_spec("scipy") else {})}
if not hasattr(np, "row_stack"):  # since NumPy 2.5
    del ALL["numpy.row_stack"]
SLOW = ("integrate.odeint", "integrate.solve_ivp", "integrate.dblquad", "integrate.nquad", "integrate.tplquad")
X = np.linspace(0.3, 1.2, 6)


def is_quick(name):
    return not name.endswith(SLOW) and not name.startswith("scipy.special")


def parts_of(answer):
    """The real parts of an answer, as one vector."""
    found = []
    for leaf in trees.flatten(answer)[0]:
        kind = dtype_of(leaf).kind
        found += [leaf] if kind == "f" else [np.real(leaf), np.imag(leaf)] if kind == "c" else []
    return [np.reshape(part, (-1,)) for part in found]


def look_at(name):
    """The pattern, structural and here, has each entry of the dense Jacobian that differs from zero."""
    example = ALL[name]
    xs = tuple(POINTS[point] if isinstance(point, str) and point in POINTS else point for point in points_of(example))
    argnums = tuple(range(len(xs)))
    dense = jacfwd(lambda *xs: parts_of(example(*xs)), argnums)(*xs)
    rows = [np.concatenate([np.reshape(b, (-1, np.size(x))) for b, x in zip(r, xs, strict=True)], 1) for r in dense]
    wanted = np.concatenate(rows) != 0.0
    whole, here = (sparsity(lambda *xs: parts_of(example(*xs)), argnums, here)(*xs).toarray() for here in (False, True))
    assert whole.shape == wanted.shape
    assert not np.any(wanted & ~here)
    assert not np.any(here & ~whole)


def has_derivative(name):
    """Whether the answer has a floating-point number with a derivative by forward mode."""
    example = ALL[name]
    xs = tuple(POINTS[point] if isinstance(point, str) and point in POINTS else point for point in points_of(example))
    try:
        return bool(jacfwd(lambda *xs: parts_of(example(*xs)), tuple(range(len(xs))))(*xs))
    except TypeError:
        return False


QUICK = [name for name in ALL if is_quick(name)]


@pytest.mark.parametrize("share", range(8))
def test_every_rule(share):
    looked_at = [name for name in QUICK[share::8] if has_derivative(name)]
    assert len(looked_at) > 0.9 * len(QUICK[share::8])
    for name in looked_at:
        look_at(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ALL if not is_quick(name) and "quad" not in name])
def test_every_slow_rule(name):
    if has_derivative(name):
        look_at(name)


def pattern(f, x=X, here=False):
    found = sparsity(f, here=here)(x).toarray()
    dense = np.reshape(jacobian(f)(x), found.shape) != 0.0
    assert not np.any(dense & ~found)
    return found.astype(int).tolist()


def band(n, *offsets):
    return sum(np.eye(n, k=k, dtype=int) for k in offsets).tolist()


def test_functions_that_move_elements_move_their_sets():
    assert pattern(lambda x: x[1:] * x[:-1]) == band(6, 0, 1)[:-1]
    assert pattern(lambda x: np.roll(x, 1)) == np.roll(np.eye(6, dtype=int), 1, axis=0).tolist()
    assert pattern(lambda x: np.reshape(x, (2, 3)).T) == np.eye(6, dtype=int)[[0, 3, 1, 4, 2, 5]].tolist()
    assert pattern(lambda x: array([x[2], 3.0, x[0] * x[1]]), X[:3]) == [[0, 0, 1], [0, 0, 0], [1, 1, 0]]
    assert pattern(lambda x: x[np.array([0, 0, 2])], X[:3]) == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert pattern(lambda x: np.sort(x), X[:2]) == band(2, 0)


def test_sums_unite_sets():
    assert pattern(np.sum, X[:3]) == [[1, 1, 1]]
    assert pattern(lambda x: np.mean(np.reshape(x, (2, 3)), axis=1)) == [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]
    assert pattern(np.cumsum, X[:3]) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert pattern(lambda x: np.trace(np.reshape(x, (2, 3)))) == [[1, 0, 0, 0, 1, 0]]
    assert pattern(lambda x: np.convolve(x, [1.0, 2.0], "same"), X[:4]) == band(4, 0, -1)
    assert pattern(lambda x: np.convolve(x, [1.0, 2.0]), X[:2]) == [[1, 0], [1, 1], [0, 1]]
    assert pattern(lambda x: np.convolve([1.0, 2.0, 3.0], x, "valid"), X[:4]) == [[1, 1, 1, 0], [0, 1, 1, 1]]


def test_empty_arrays():
    for f in (
        lambda x: np.sum(np.reshape(x[:0], (0, 3)), axis=0),
        lambda x: np.sum(np.reshape(x[:0], (3, 0)), axis=1) + x[:3],
        lambda x: np.reshape(x[:0], (3, 0)) @ np.ones((0, 2)),
        lambda x: np.sum(np.reshape(x[:0], (2, 0, 3)), axis=(0, 1)) * x[:3],
    ):
        found = sparsity(f)(X).toarray()
        dense = np.reshape(jacobian(f)(X), found.shape)
        assert not np.any((dense != 0.0) & ~found)


def test_products_unite_what_they_sum():
    ones = np.ones((3, 2))
    rows = [[1, 1, 1, 0, 0, 0]] * 2 + [[0, 0, 0, 1, 1, 1]] * 2
    for product in (
        lambda x: np.reshape(x, (2, 3)) @ ones,
        lambda x: np.dot(np.reshape(x, (2, 3)), ones),
        lambda x: np.inner(np.reshape(x, (2, 3)), ones.T),
        lambda x: np.tensordot(np.reshape(x, (2, 3)), ones, 1),
        lambda x: np.einsum("ij,jk->ik", np.reshape(x, (2, 3)), ones),
    ):
        assert pattern(product) == rows
    assert pattern(lambda x: np.linalg.solve(np.eye(3), np.reshape(x, (3, 2)))) == (
        np.kron(np.ones((3, 3), int), np.eye(2, dtype=int)).tolist()
    )
    batches = np.kron(np.eye(2, dtype=int), np.ones((2, 3), int)).tolist()
    assert pattern(lambda x: np.matmul(np.ones((2, 2, 3)), np.reshape(x, (2, 3, 1)))) == batches


def test_a_sparse_array_has_its_pattern():
    laplacian = sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(6, 6)).tocsr()
    assert pattern(lambda x: laplacian @ x) == band(6, -1, 0, 1)
    assert pattern(lambda x: laplacian[:2].T @ x, X[:2]) == laplacian[:2].T.toarray().astype(bool).astype(int).tolist()
    two = (laplacian @ np.reshape(X, (6, 1))).shape
    assert np.shape(pattern(lambda x: laplacian @ np.stack([x, x], axis=1))) == (2 * two[0], 6)


def test_both_sides_of_a_choice_count_unless_here():
    def choice(x):
        return np.where(x > 0.7, x, x[::-1])

    assert pattern(choice, X[:2]) == [[1, 1], [1, 1]]
    assert pattern(choice, X[:2], here=True) == [[0, 1], [1, 0]]
    assert pattern(lambda x: np.maximum(x, 0.7), here=True) == np.diag((X > 0.7).astype(int)).tolist()
    assert pattern(lambda x: np.maximum(x, 0.7)) == band(6, 0)
    assert pattern(lambda x: x * np.array([0.0, 1.0]), X[:2]) == band(2, 0)
    assert pattern(lambda x: x * np.array([0.0, 1.0]), X[:2], here=True) == [[0, 0], [0, 1]]
    assert pattern(lambda x: np.convolve(x, [1.0, 0.0, 1.0], "valid"), X[:3], here=True) == [[1, 0, 1]]


def test_writing_in_place():
    def program(x):
        y = zeros(3)
        for i in range(3):
            y[i] = x[i] * (y[i - 1] if i else 1.0)
        view = y[1:]
        view[0] = x[0]
        y[2:] = 4.0
        return y

    assert pattern(program, X[:3]) == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_writing_to_the_real_part_keeps_the_sets_of_the_imaginary_part():
    def program(x):
        z = x[:2] + 1j * x[2:4]
        z.real[...] = x[4:]
        return np.concatenate([np.real(z), np.imag(z)])

    found = np.array(pattern(program))
    assert found[0].tolist() == [1, 0, 1, 0, 1, 0]


def test_nested_derivatives():
    def energy(x):
        return np.sum(x[1:] * x[:-1] ** 2) + x[0] * x[5]

    hessian = np.array(pattern(grad(energy)))
    assert hessian.tolist() == (np.array(band(6, -1, 0, 1)) + np.eye(6, k=5, dtype=int) + np.eye(6, k=-5, dtype=int)
        - np.diag([0, 0, 0, 0, 0, 1])).tolist()  # fmt: skip
    assert pattern(lambda x: jacobian(lambda y: y * x)(x[:1] * 1.0), X[:2]) == [[1, 0], [0, 1]]
    assert pattern(checkpoint(lambda x: x[1:] * x[:-1]), X[:3]) == band(3, 0, 1)[:-1]
    assert pattern(lambda x: scan(lambda c, a: (c * a, c + a), 1.0, x)[1], X[:3]) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_custom_rules():
    @custom_jvp
    def shifted(x):
        return x[1:] * 2.0

    shifted.defjvp(lambda primals, tangents: (shifted(primals[0]), tangents[0][1:] * 2.0))
    assert pattern(shifted, X[:3]) == band(3, 1)[:-1]

    @custom_jvp
    def asking(x):
        return x * 2.0

    asking.defjvp(lambda primals, tangents: (asking(*primals), np.array([2.0 * float(t) for t in tangents[0]])))
    assert sparsity(asking)(X[:2]).toarray().tolist() == [[True, True], [True, True]]

    @custom_vjp
    def squared(x):
        return x * x

    squared.defvjp(lambda x: (x * x, x), lambda x, y_bar: (2.0 * x * y_bar,))
    assert not np.any(np.eye(3) > sparsity(squared)(X[:3]).toarray())

    @custom_jvp
    def wrong(x):
        return x

    wrong.defjvp(lambda primals, tangents: 1 + "a")
    with pytest.raises(TypeError, match="unsupported operand"):
        sparsity(wrong)(X)


def test_a_question_about_a_value_is_an_error():
    tag, sets = Tag.around([]), Sets()
    x = IndexSets(sets.single(0, 3), tag, sets, np.dtype(float), False)
    assert (len(x), x.shape, x.dtype, np.ndim(x)) == (3, (3,), np.float64, 1)
    assert [part.which for part in x] == [1, 2, 3]
    assert "IndexSets(array([1, 2, 3])" in repr(x)
    for ask in (lambda: x > 0.0, lambda: np.argmax(x), lambda: bool(x[0]), lambda: float(x[0])):
        with pytest.raises(TypeError, match=r"of a tangent or cotangent was asked for|would turn a number"):
            ask()
    tag.finish()
    with pytest.raises(EscapedNumberError):
        x * 2.0


@pytest.mark.slow
def test_random_programs():
    counts, texts = patterns.examine(0, 40)
    assert texts == []
    assert counts["sparse matrices of its gradient"] >= 30


@pytest.mark.slow
@pytest.mark.parametrize("share", range(8))
def test_many_random_programs(share):
    assert patterns.examine(250 + 30 * share, 30)[1] == []


def test_a_pattern_without_an_entry_is_found(monkeypatch):
    def lacking(f, here=False):
        def short(x):
            found = sparsity(f, here=here)(x).tolil()
            found[found.nonzero()[0][0], found.nonzero()[1][0]] = False
            return found.tocsr()

        return short

    monkeypatch.setattr(patterns, "sparsity", lacking)
    assert len(patterns.examine(0, 4)[1]) >= 12  # of each program, and of its gradient, here, everywhere and near
    monkeypatch.undo()
    monkeypatch.setattr(patterns, "sparse_hessian", lambda f: lambda x: sparse.csr_array((np.size(x), np.size(x))))
    assert any("the sparse matrix is" in text for text in patterns.examine(0, 4)[1])
