"""Outer products that are contributions to one matrix are kept, and summed by one product of matrices."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from shiftreset_ad import (
    checkpoint,
    cond,
    fori_loop,
    grad,
    hvp,
    jacobian,
    scan,
    staged,
    value_and_grad,
    vjp,
    while_loop,
    zeros,
)
from shiftreset_ad.modes.reverse import unsettled
from shiftreset_ad.modes.reverse.unsettled import TOGETHER, Held
from shiftreset_ad.nn import linear
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.testing import check_grads

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(80, 60)) / 8.0, RNG.normal(size=(5, 60))
V = RNG.normal(size=(80, 60))


def squares(w, rows=X):
    return sum(np.sum(np.tanh(w @ x) ** 2) for x in rows)


def by_matrices(w, rows=X):
    return np.sum(np.tanh(rows @ w.T) ** 2)


def test_the_gradient_is_that_of_a_product_of_matrices():
    assert np.allclose(grad(squares)(W), grad(by_matrices)(W), rtol=1e-12)
    assert np.allclose(
        grad(lambda w: sum(np.sum(np.sin(x @ w)) for x in X))(W.T), grad(lambda w: np.sum(np.sin(X @ w)))(W.T)
    )
    assert np.allclose(grad(lambda w: np.sum(np.dot(w, X[0]) ** 2))(W), 2.0 * np.outer(W @ X[0], X[0]))


SQUARE, VECTOR = RNG.normal(size=(70, 70)), RNG.normal(size=70)


@pytest.mark.parametrize(
    "product",
    [
        lambda w: np.tensordot(w, VECTOR, ([0], [0])),
        lambda w: np.tensordot(w, VECTOR, ([1], [0])),
        lambda w: np.tensordot(VECTOR, w, ([0], [0])),
        lambda w: np.tensordot(VECTOR, w, ([0], [1])),
        lambda w: np.tensordot(w, VECTOR, 0)[:, :, 3],
        lambda w: np.inner(w, VECTOR),
        lambda w: np.inner(VECTOR, w),
        lambda w: np.dot(VECTOR, w),
        lambda w: VECTOR @ w,
    ],
)
def test_the_factors_are_in_the_order_of_the_axes_of_the_matrix(product):
    """Of a square matrix, another order would be wrong without an error."""
    found = grad(lambda w: np.sum(np.sin(product(w))))(SQUARE)
    step = 1e-6 * np.sin(np.arange(4900.0)).reshape(70, 70)
    slope = np.sum(np.sin(product(SQUARE + step))) - np.sum(np.sin(product(SQUARE - step)))
    assert np.isclose(np.sum(found * step), slope / 2, rtol=1e-5)


@pytest.mark.parametrize("count", [unsettled.TOGETHER - 1, unsettled.TOGETHER, 2 * unsettled.TOGETHER + 3])
def test_many_contributions_are_summed_in_parts(count):
    rows = RNG.normal(size=(count, 60))
    assert np.allclose(grad(squares)(W, rows), grad(by_matrices)(W, rows), rtol=1e-10)


@pytest.mark.parametrize(
    "f",
    [
        lambda w, s: s(w) + np.sum(w * w),
        lambda w, s: np.sum(w * w) + s(w),
        lambda w, s: s(w) + w[3, 4] * w[0, 0],
        lambda w, s: np.sum(w[2] ** 3) + s(w) + np.sum(w[1:5] ** 2),
        lambda w, s: s(w) + np.sum(np.where(w > 0, np.sqrt(np.abs(w)), 0.0)),
        lambda w, s: np.sum(np.where(w > 0, w, 0.0)) + s(w),
        lambda w, s: s(2.0 * w) + s(w.copy()),
        lambda w, s: s(w) * s(w),
    ],
)
def test_beside_contributions_of_every_other_kind(f):
    assert np.allclose(grad(lambda w: f(w, squares))(W), grad(lambda w: f(w, by_matrices))(W), rtol=1e-10)


@pytest.mark.parametrize("product", [squares, by_matrices])
def test_of_a_matrix_that_is_written_to(product):
    def f(w):
        u = w * 1.0
        total = product(u)
        u[2:5] = u[1] * 2.0
        total = total + product(u)
        u[0] += u[3]
        return total + product(u) * np.sum(u[0])

    expected = grad(lambda w: _written_anew(w))(W)
    assert np.allclose(grad(f)(W), expected, rtol=1e-10)


def _written_anew(w):
    total = by_matrices(w)
    u = np.concatenate([w[:2], np.stack([w[1] * 2.0] * 3), w[5:]])
    total = total + by_matrices(u)
    u = np.concatenate([(u[0] + u[3])[None], u[1:]])
    return total + by_matrices(u) * np.sum(u[0])


def into_one_buffer(w, s):
    """A vector that each round writes anew."""
    x, total = zeros(60), 0.0
    for k in range(3):
        x[:] = np.sin(s * (k + 1.0) + np.arange(60.0))
        total = total + np.sum(np.tanh(w @ x) ** 2)
    return total


def grown_in_place(w, s):
    """A constant vector that each round multiplies in place."""
    x, total = np.sin(np.arange(60.0)), 0.0
    for _ in range(3):
        x *= 1.5
        total = total + np.sum(np.tanh(w @ x) ** 2) * s
    return total


def answers_written_to(w, s):
    """The answers of the products are written to, and what they were before has a part in the gradient."""
    y = w @ np.sin(np.arange(60.0)) * s
    y *= 2.0
    y[3:] = y[:-3] * s
    x = y[:60]
    total = np.sum(np.tanh(w @ x) ** 2)
    x[:30] = np.cos(x[30:])
    return total + np.sum(np.tanh(w @ x) ** 2)


@pytest.mark.parametrize("f", [into_one_buffer, grown_in_place, answers_written_to])
def test_of_vectors_that_are_written_to(f):
    """The way back undoes the writes before it sums the products."""
    steps = 1e-6 * V
    for argnums in (0, (0, 1)):
        found = grad(f, argnums)(W, 0.3)
        of_w = found if argnums == 0 else found[0]
        difference = f(W + steps, 0.3) - f(W - steps, 0.3)
        np.testing.assert_allclose(np.sum(of_w * V), difference / 2e-6, rtol=1e-6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # staging may say that it does not record the program
            step = staged(grad(f, argnums))
            for _ in range(3):
                of_w = step(W, 0.3)
            np.testing.assert_allclose(of_w if argnums == 0 else of_w[0], found if argnums == 0 else found[0])


def test_in_every_operator():
    _, pullback = vjp(squares, W)
    first, second = pullback(1.0), pullback(2.0)
    assert np.allclose(2.0 * first[0], second[0])
    assert np.allclose(hvp(squares, (W,), (V,)), hvp(by_matrices, (W,), (V,)))
    assert np.allclose(grad(lambda w: np.sum(grad(squares)(w) * V))(W), hvp(by_matrices, (W,), (V,)))
    assert np.allclose(jacobian(lambda w: np.tanh(w @ X[0])[:3])(W), jacobian(lambda w: np.tanh(X[:1] @ w.T)[0, :3])(W))
    step = staged(grad(squares))
    for scale in (1.0, 2.0, 3.0):
        assert np.allclose(step(scale * W), grad(by_matrices)(scale * W))
    check_grads(lambda x: np.sum(np.tanh(W @ x)), (X[0],), order=2)


def test_in_single_precision_and_of_complex_numbers():
    w = W.astype(np.float32)
    found = grad(lambda w: squares(w, X.astype(np.float32)))(w)
    assert found.dtype == np.float32
    assert np.allclose(found, grad(by_matrices)(W), rtol=1e-3, atol=1e-4)
    z = W + 1j * V
    found = grad(lambda z: sum(np.sum(np.abs(z @ x) ** 2) for x in X))(z)
    assert np.allclose(found, grad(lambda z: np.sum(np.abs(X @ z.T) ** 2))(z))


def test_arguments_stay_as_they_are():
    w, x = W.copy(), X[0].copy()

    def f(w, x):
        y = w @ x
        return np.sum(y * y) + np.sum(y) + np.sum(w @ x)

    gradient = grad(f, argnums=(0, 1))(w, x)
    assert np.array_equal(w, W)
    assert np.array_equal(x, X[0])
    assert np.allclose(gradient[0], np.outer(2.0 * (W @ X[0]) + 2.0, X[0]))


@pytest.mark.of_sizes
def test_no_outer_product_is_made_for_a_large_matrix(monkeypatch):
    kept = []
    add = unsettled.Held.add_outer
    monkeypatch.setattr(unsettled.Held, "add_outer", lambda self, *pair: kept.append(pair) or add(self, *pair))
    value_and_grad(squares)(W)
    assert len(kept) == len(X)
    kept.clear()
    value_and_grad(squares)(W[:5])  # so small a product is quicker made
    assert not kept


def test_no_more_are_kept_than_are_summed_at_once():
    held, products = Held(ZERO), 2 * TOGETHER + 3
    for i in range(products):
        held.add_outer(np.array([1.0, i]), np.ones(3))
        assert len(held.factors) < TOGETHER
    x = SimpleNamespace(primal=np.zeros((2, 3)), adjoint=held, owns=False)
    expected = np.outer([products, products * (products - 1) / 2], np.ones(3))
    assert np.array_equal(held.settle(x), expected)


def test_a_real_matrix_times_a_complex_vector_has_a_real_derivative():
    z = W[0] + 1j * W[1]
    expected = 2.0 * np.real(np.outer(W @ z, np.conj(z)))
    assert np.allclose(grad(lambda w: np.sum(np.abs(w @ z) ** 2))(W), expected)
    assert np.allclose(grad(lambda w: np.sum(np.abs(linear(z, w)) ** 2))(W), expected)
    assert np.allclose(grad(lambda w: np.sum(np.abs(linear(z, w, np.zeros(len(w)))) ** 2))(W), expected)


def test_a_staged_step_sums_them_by_one_product_too():
    """To the last bit as without staging, and in fewer steps than products that are added one by one."""
    step = staged(grad(squares))
    for scale in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(step(scale * W), grad(squares)(scale * W))
    (signature,) = step._calls._signatures.values()
    (way,) = signature.ways
    assert way.ir.count("= stack(") == 1  # of the cotangents; the rows are constants
    assert way.ir.count(f"float64[{W.shape[0]}, {W.shape[1]}]\n") == 2  # the argument, and the sum


@pytest.mark.parametrize(
    "f",
    [
        lambda w, s: fori_loop(0, 4, lambda k, h: np.tanh(w @ h[:60] * s), np.ones(80)),
        lambda w, s: while_loop(lambda h: np.sum(h * h) < 1e5, lambda h: 2.0 * (w @ h[:60]) + s, np.ones(80)),
        lambda w, s: scan(lambda h, x: (np.tanh(w @ h[:60] + x), h[0]), np.ones(80), np.ones((6, 80)) * s)[0],
        lambda w, s: cond(s > 0.5, lambda h: np.tanh(w @ h), lambda h: w @ (h * s), X[0]) + w @ X[1],
        lambda w, s: checkpoint(lambda w, x: np.tanh(w @ x))(w, X[0]) * s + w @ X[1],
        lambda w, s: np.concatenate([np.float32(1.0) * (w.astype(np.float32) @ np.float32(X[0])), w @ X[1] * s]),
        lambda w, s: np.abs((w + 1j * s) @ X[0]) + w @ X[1],
    ],
)
def test_of_recorded_blocks(f):
    gradient = grad(lambda w, s: np.sum(f(w, s) ** 2), (0, 1))
    step = staged(gradient)
    hessian = staged(lambda w, s: hvp(lambda w: np.sum(f(w, s) ** 2), (w,), (V,)))
    for s in (0.3, 0.4, 0.6, 0.7):
        for found, expected in zip(step(W, s), gradient(W, s), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
        expected = hvp(lambda w, s=s: np.sum(f(w, s) ** 2), (W,), (V,))
        np.testing.assert_allclose(hessian(W, s), expected, rtol=1e-6, atol=1e-6)
    difference = np.sum(f(W + 1e-4 * V, 0.6) ** 2) - np.sum(f(W - 1e-4 * V, 0.6) ** 2)
    np.testing.assert_allclose(np.sum(gradient(W, 0.6)[0] * V), difference / 2e-4, rtol=1e-3)
