"""Products of one large matrix with vectors that do not need one another are one product of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, staged, value_and_grad
from shiftreset_ad.staging.python.grouping import FOURS, LEAST, MANY, MOST, QUICK

SIZE = 190
W, V = (np.random.default_rng(seed).normal(size=(SIZE, SIZE)) / SIZE for seed in range(2))
XS = list(np.random.default_rng(2).normal(size=(6, SIZE)))
assert LEAST < W.size < QUICK // MOST


def same_up_to_rounding(f, *args, bits=False):
    """The staged function, called until it has native code. Each answer is that of the function."""
    expected, g = f(*args), staged(f)
    leaves = lambda x: x if type(x) in (tuple, list) else [x]  # noqa: E731
    for _ in range(4):
        for y, other in zip(leaves(g(*args)), leaves(expected), strict=True):
            if bits:
                np.testing.assert_array_equal(y, other)
            else:
                np.testing.assert_allclose(y, other, rtol=1e-11, atol=1e-13)
    return g


def products_in(g):
    """How many columns each product with a matrix of this size has, in order; 1 for a vector."""
    (text,) = g.ir
    found = []
    for line in text.splitlines():
        if "matmul(" in line:
            shape = [int(n) for n in line.rpartition("[")[2].partition("]")[0].split(", ")]
            found.append(1 if len(shape) == 1 else min(shape))
    return found


def of_all(w, xs):
    total = 0.0
    for x in xs:
        total = total + np.sum(np.tanh(w @ x))
    return total


def test_vectors_that_do_not_need_one_another_share_a_product():
    assert products_in(same_up_to_rounding(of_all, W, XS)) == [6]
    assert products_in(same_up_to_rounding(lambda w: of_all(w, XS), W)) == [6]  # the vectors are constants
    assert products_in(same_up_to_rounding(lambda xs: of_all(W, xs), XS)) == [6]  # the matrix is a constant
    products = [
        lambda w, xs: [x @ w for x in xs],
        lambda w, xs: [w.T @ x for x in xs],
        lambda w, xs: [x @ w.T for x in xs],
    ]
    for f in products:
        assert products_in(same_up_to_rounding(f, W, XS[:2])) == [2]
    assert products_in(same_up_to_rounding(of_all, np.asfortranarray(W), XS)) == [6]


@pytest.mark.parametrize(("count", "products"), [(3, [4]), (5, [5]), (7, [8]), (18, [16, 2]), (19, [16, 4])])
def test_the_last_vector_stands_twice_where_one_is_missing_for_a_multiple_of_four(count, products):
    xs = list(np.random.default_rng(3).normal(size=(count, SIZE)))
    for f in (lambda w, xs: [w @ x for x in xs], lambda w, xs: [x @ w for x in xs]):
        assert products_in(same_up_to_rounding(f, W, xs)) == products
        assert products_in(same_up_to_rounding(lambda w, f=f: f(w, xs), W)) == products


@pytest.mark.parametrize("size", [350, 500])
def test_a_larger_matrix_has_fewer_vectors_at_a_time_but_all_of_many(size):
    w = np.random.default_rng(4).normal(size=(size, size)) / size
    together = QUICK // w.size // FOURS * FOURS
    assert together in (4, 8)
    few, many = together + 2, -(-MANY // w.size)
    xs = list(np.random.default_rng(5).normal(size=(many, size)))
    for f in (lambda w, xs: [w @ x for x in xs], lambda w, xs: [x @ w for x in xs]):
        for matrix in (w, np.asfortranarray(w)):
            assert products_in(same_up_to_rounding(f, matrix, xs[:few])) == [together, 2]
            assert products_in(same_up_to_rounding(f, matrix, xs)) == [many]
        assert len(products_in(same_up_to_rounding(f, w, xs[:-1]))) > 1
    constant = same_up_to_rounding(lambda w: [w @ x for x in xs], w)
    assert products_in(constant) == [many]
    assert f"matmul(a constant float64[{many}, {size}], " in constant.ir[0]  # the vectors are rows


def test_a_gradient_shares_them_on_both_ways():
    def loss(w, xs):
        hidden = [np.tanh(w @ x) for x in xs]
        return np.sum(np.tanh(w @ (hidden[0] * hidden[1])) * np.tanh(w @ (hidden[2] + hidden[3])))

    g = same_up_to_rounding(lambda w, xs: value_and_grad(loss)(w, xs)[1], W, XS[:4])
    assert products_in(g)[:3] == [4, 2, 2]  # there, and back through the later two
    h = staged(value_and_grad(loss, (0, 1)))
    for _ in range(4):
        for x_bar, other in zip(h(W, XS[:4])[1][1], grad(loss, 1)(W, XS[:4]), strict=True):
            np.testing.assert_allclose(x_bar, other, rtol=1e-10, atol=1e-13)


def test_products_that_need_one_another_stay_apart():
    def chain(w, x):
        for _ in range(5):
            x = np.tanh(w @ x)
        return x

    assert products_in(same_up_to_rounding(chain, W, XS[0], bits=True)) == [1] * 5


def test_two_matrices_whose_products_wait_for_one_another_by_turns():
    def f(w, v, x, y):
        first = v @ np.tanh(w @ x)
        second = w @ np.tanh(v @ y)
        return np.sum(first * second), w @ x, np.tanh(v @ y)

    same_up_to_rounding(f, W, V, *XS[:2])


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    random = np.random.default_rng([7, seed])

    def f(w, v, xs):
        choose, known = np.random.default_rng(seed), list(xs)
        for _ in range(12):
            a, b = (known[choose.integers(len(known))] for _ in range(2))
            kind, m = choose.integers(4), (w, v, W, w.T, V.T)[choose.integers(5)]
            if kind < 2:
                known.append(m @ a if kind else a @ m)
            else:
                known.append(np.tanh(a) * b if kind == 2 else a - 0.5 * b)
        return known[-4:]

    xs = list(random.normal(size=(3, SIZE)))
    same_up_to_rounding(f, W, V, xs)
    same_up_to_rounding(lambda w, v, xs: grad(lambda *args: sum(map(np.sum, f(*args))), 0)(w, v, xs), W, V, xs)


@pytest.mark.parametrize("size", [64, 512])
def test_small_matrices_and_few_products_of_very_large_ones_have_the_bits_of_the_function(size):
    w = np.random.default_rng(0).normal(size=(size, size)) / size
    xs = [np.resize(x, size) for x in XS]
    assert products_in(same_up_to_rounding(of_all, w, xs, bits=True)) == [1] * 6


def test_many_products_of_a_very_large_matrix_share_a_copy_of_it():
    w = np.random.default_rng(0).normal(size=(600, 600)) / 600
    assert w.size > QUICK // FOURS
    assert 9 * w.size < MANY <= 10 * w.size
    xs = list(np.random.default_rng(1).normal(size=(10, 600)))
    assert products_in(same_up_to_rounding(of_all, w, xs)) == [10]
    assert products_in(same_up_to_rounding(of_all, w, xs[:9], bits=True)) == [1] * 9


def test_the_answers_have_memory_of_their_own():
    g = staged(lambda w, x, y: (w @ x, w @ y, x @ w, y @ w))
    for _ in range(4):
        answers = g(W, *XS[:2])
        assert products_in(g) == [2, 2]
        for y in answers:
            assert y.base is None
            assert y.flags.writeable
            y[:] = 7.0
    np.testing.assert_allclose(g(W, *XS[:2])[1], W @ XS[1], rtol=1e-12)


def writing(w, x, y):
    z = w @ x
    z[0] = 1.0
    return z + w @ y


def asking(w, x, y):
    z = w @ x
    if z[0] > 100.0:
        return z
    return z + w @ y


@pytest.mark.parametrize("f", [writing, asking])
def test_steps_that_write_or_ask_keep_the_order(f):
    g = staged(f)
    for _ in range(4):
        np.testing.assert_array_equal(g(W, *XS[:2]), f(W, *XS[:2]))
    assert 2 not in [n for text in g.ir for n in map(len, text.split("stack("))]
    assert all("stack(" not in text for text in g.ir)


def test_an_error_of_a_product_is_raised_as_before():
    def f(w, x, y):
        with np.errstate(all="raise"):
            return np.sum(w @ x) + np.sum(np.exp(w @ y))

    g = staged(f)
    for _ in range(4):
        assert g(W, *XS[:2]) == f(W, *XS[:2])
    assert "stack(" not in g.ir[0]
    with pytest.raises(FloatingPointError):
        g(W, XS[0], 1e9 * XS[1])


def test_a_program_that_needs_little_memory_goes_on_needing_little(monkeypatch):
    monkeypatch.setattr("shiftreset_ad.staging.python.grouping.SPARE", 0)

    def f(w, x):
        total = 0.0
        for k in range(12):
            large = np.sin(np.outer(x * (k + 1.0), x))
            total = total + np.sum(large * np.tanh(w @ large[0]), axis=0)
        return total

    assert products_in(same_up_to_rounding(f, W, XS[0], bits=True)) == [1] * 12
    monkeypatch.undo()
    assert products_in(same_up_to_rounding(f, W, XS[0])) == [12]


def test_a_number_that_is_not_finite_goes_its_way():
    x = XS[0].copy()
    x[3] = np.inf
    with np.errstate(invalid="ignore"):
        same_up_to_rounding(lambda w, x, y: (np.tanh(w @ x), np.tanh(w @ y)), np.abs(W), x, XS[1])
