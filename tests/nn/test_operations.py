"""The functions that are one operation each: they equal the compositions that they stand for, in every way."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn
from shiftreset_ad.modes.reverse import answers
from shiftreset_ad.modes.reverse.unsettled import Held
from shiftreset_ad.nn.alignments import Labelling, alignment_losses
from shiftreset_ad.nn.gates import Activated, relu_of, sigmoid_of
from shiftreset_ad.nn.layers import affine
from shiftreset_ad.nn.likelihoods import log_likelihood
from shiftreset_ad.nn.scans import states_of
from shiftreset_ad.nn.standardized import standardized
from shiftreset_ad.nn.units import gated_step, simple_step
from shiftreset_ad.rules.numpy.products import LARGE
from shiftreset_ad.rules.table import COMPOSITE
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.three_ways import check

TIME, BATCH, HIDDEN = 5, 3, 2
LENGTHS = np.array([5, 2, 0])
GOES_ON = (np.arange(TIME)[:, None] < LENGTHS)[:, :, None]
LABELLING = Labelling(
    np.array([[False, False, False, True, False], [False] * 5, [False] * 5]), np.array([5, 4, 5]), np.array([2, 1, 0])
)


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def all_of(library):
    """The means and variances count, too."""

    def f(standardized, x, weight, bias):
        y, mean, var = standardized(x, weight, bias, 1e-3, library)
        return np.concatenate([y.ravel(), mean * 2.0, var * 3.0])

    return f


SCAN = (normal(TIME, BATCH, HIDDEN), normal(HIDDEN, HIDDEN), normal(BATCH, HIDDEN))


def of_unit(gates, *batch):
    rows = gates * HIDDEN
    return [normal(*batch, rows), normal(*batch, HIDDEN, seed=1), normal(rows, HIDDEN), normal(rows, seed=2)]


# Of each: the operation, a program that calls it or its composition, and the arrays.
OPERATIONS = {
    "sigmoid": (sigmoid_of, lambda f, x: f(x), [normal(4, 3)]),
    "relu": (relu_of, lambda f, x: f(x), [normal(4, 3)]),
    "linear, of a vector": (affine, lambda f, *xs: f(*xs), [normal(3), normal(2, 3), normal(2)]),
    "linear, of a matrix": (affine, lambda f, *xs: f(*xs), [normal(4, 3), normal(2, 3), normal(2)]),
    "linear, of a stack": (affine, lambda f, *xs: f(*xs), [normal(2, 4, 3), normal(2, 3), normal(2)]),
    "tanh": (states_of, lambda f, *xs: f(*xs, None, True), SCAN),
    "relu over times": (states_of, lambda f, *xs: f(*xs, None, False), SCAN),
    "padded tanh": (states_of, lambda f, *xs: f(*xs, GOES_ON, True), SCAN),
    "padded relu": (states_of, lambda f, *xs: f(*xs, GOES_ON, False), SCAN),
    "simple step": (simple_step, lambda f, *xs: f(*xs, True), of_unit(1)),
    "simple step by relu": (simple_step, lambda f, *xs: f(*xs, False), of_unit(1, 3)),
    "simple step without a bias": (simple_step, lambda f, *xs: f(*xs, None, True), of_unit(1, 3)[:3]),
    "gated step": (gated_step, lambda f, *xs: f(*xs), of_unit(3)),
    "gated step of a batch": (gated_step, lambda f, *xs: f(*xs), of_unit(3, 3)),
    "gated step without a bias": (gated_step, lambda f, *xs: f(*xs, None), of_unit(3)[:3]),
    "log likelihood": (log_likelihood, lambda f, x: f(x, np.array([0, 2, 2, 1]), 1), [normal(4, 3)]),
    "log likelihood of one": (log_likelihood, lambda f, x: f(x, np.array(1), 0), [normal(3)]),
    "log likelihood of times": (log_likelihood, lambda f, x: f(x, np.array([[0, 1], [2, 2]]), 1), [normal(2, 3, 2)]),
    "batch norm": (standardized, all_of("numpy"), [normal(3, 2, 4), normal(2), normal(2)]),
    "batch norm of a matrix": (standardized, all_of("numpy"), [normal(4, 3), normal(3), normal(3)]),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_equals_its_composition(name):
    operation, program, xs = OPERATIONS[name]
    check(lambda *xs: program(operation, *xs), *xs, generator=np.random.default_rng(0), dtypes="batch" not in name)
    equals_its_composition(operation, program, xs)


def equals_its_composition(operation, program, xs, rtol=1e-11):
    def composed(*xs):
        return program(COMPOSITE[operation], *xs)

    def fused(*xs):
        return program(operation, *xs)

    places = tuple(range(len(xs)))
    expected = composed(*xs)
    np.testing.assert_allclose(fused(*xs), expected, rtol=rtol, atol=rtol)
    weights = normal(*expected.shape)
    for derivative in (sr.grad, lambda f, places: sr.staged(sr.grad(f, places))):
        found, wanted = (derivative(lambda *xs, f=f: np.sum(f(*xs) * weights), places)(*xs) for f in (fused, composed))
        for x_bar, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x_bar, other, rtol=rtol, atol=rtol)
    rows = [np.stack([x, 0.5 * x]) for x in xs]
    np.testing.assert_allclose(sr.vmap(fused)(*rows)[1], composed(*[0.5 * x for x in xs]), rtol=rtol, atol=rtol)


def test_the_loss_over_alignments_equals_its_composition():
    xs = [np.log(np.random.default_rng(0).dirichlet(np.ones(5), size=(TIME, BATCH)))]

    def program(f, x):
        return f(x, *LABELLING)

    operation = next(f for f in COMPOSITE if getattr(f, "__module__", "") == "shiftreset_ad.nn.alignments")
    np.testing.assert_array_equal(operation(xs[0], *LABELLING), alignment_losses(xs[0], LABELLING))
    equals_its_composition(operation, program, xs)


def test_batch_norm_by_pytorchs_kernels_has_derivatives_of_all_its_answers():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    xs = [normal(3, 2, 4), normal(2), normal(2)]
    check(lambda *xs: all_of("torch")(standardized, *xs), *xs, generator=np.random.default_rng(0), dtypes=False)
    equals_its_composition(standardized, all_of("torch"), xs, rtol=1e-9)


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("update_last", [False, True])
def test_memory_cells(count, update_last):
    gates, cells = normal(2, (count + 3) * 2), [normal(2, 2, seed=k) for k in range(count)]

    def ours(gates, *cells):
        return np.concatenate(nn.memory_cell(gates, *cells, update_last=update_last))

    def of_torch(torch, gates, *cells):
        i, *forget, u, o = gates.chunk(count + 3, dim=-1)
        u, o = (o, u) if update_last else (u, o)
        c = torch.sigmoid(i) * torch.tanh(u)
        c = c + sum(torch.sigmoid(f) * cell for f, cell in zip(forget, cells, strict=True))
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c])

    check(ours, gates, *cells, generator=np.random.default_rng(0))
    assert_like_pytorch(ours, of_torch, gates, *cells, joins=True)


def test_a_memory_cell_of_wrong_shapes_is_an_error_that_names_the_shapes():
    for gates, cells in ((normal(7), []), (normal(8), [normal(3)]), (normal(2, 8), [normal(2)])):
        with pytest.raises(ValueError, match=r"nn.memory_cell: gates has the shape"):
            nn.memory_cell(gates, *cells)


CELLS = [((2,), 0), ((2,), 1), ((3, 2), 2), ((1, 2, 2), 3)]


@pytest.mark.parametrize(("widths", "count"), CELLS)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_cells_of_a_tree(widths, count, batch):
    rows = (count + 3) * 2
    arrays = [normal(*batch, n) for n in widths], [normal(*batch, 2, seed=k) for k in range(count)]
    xs = [normal(rows, sum(widths)), normal(rows), *arrays[0], *arrays[1]]

    def ours(w, bias, *rest):
        return np.concatenate(nn.tree_lstm_cell(rest[: len(widths)], w, bias, rest[len(widths) :]))

    def composed(w, bias, *rest):
        gates = nn.linear(np.concatenate(rest[: len(widths)], axis=-1), w, bias)
        return np.concatenate(nn.memory_cell(gates, *rest[len(widths) :]))

    check(ours, *xs, generator=np.random.default_rng(0))
    places, weights = tuple(range(len(xs))), normal(*ours(*xs).shape)
    np.testing.assert_array_equal(ours(*xs), composed(*xs))
    expected = sr.grad(lambda *xs: np.sum(composed(*xs) * weights), places)(*xs)
    for derivative in (sr.grad, lambda f, places: sr.staged(sr.grad(f, places))):
        found = derivative(lambda *xs: np.sum(ours(*xs) * weights), places)(*xs)
        for x_bar, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(x_bar, other, rtol=1e-11, atol=1e-12)
    rows = [np.stack([x, 0.5 * x]) for x in xs]
    np.testing.assert_allclose(sr.vmap(ours)(*rows)[1], composed(*[0.5 * x for x in xs]), rtol=1e-11)


def chain_of_cells(rounds, write=False):
    """A program of the hidden state, the cell and the matrix: many nodes, of vectors that may be overwritten later."""

    def f(h, c, w):
        for _ in range(rounds):
            before = h * 1.0
            h, c = nn.tree_lstm_cell([before, before], w, np.zeros(len(w)), [c, c])
            if write:
                before[...] = 7.0  # which the matrix has met
        return np.sum(h * c)

    return f


@pytest.mark.parametrize("write", [False, True])
def test_the_matrix_of_many_cells_gets_one_product_of_matrices(write, monkeypatch):
    size = 24
    xs = [0.5 * normal(size), normal(size), 0.1 * normal(5 * size, 2 * size)]
    assert xs[2].size >= LARGE
    products = []
    summed = Held._products

    def noted(held):
        products.append((len(held.factors), summed(held)))
        return products[-1][1]

    monkeypatch.setattr(Held, "_products", noted)
    found = sr.grad(chain_of_cells(6, write), (0, 1, 2))(*xs)
    ((count, product),) = products
    assert count == 6
    assert found[2] is product  # and no copy of it
    for x, x_bar, place in zip(xs, found, range(3), strict=True):
        direction = normal(*x.shape, seed=1)
        steps = [[y + e * direction if i == place else y for i, y in enumerate(xs)] for e in (1e-6, -1e-6)]
        slope = (chain_of_cells(6)(*steps[0]) - chain_of_cells(6)(*steps[1])) / 2e-6
        np.testing.assert_allclose(np.sum(x_bar * direction), slope, rtol=1e-6)
    value, pull = sr.vjp(chain_of_cells(6, write), *xs)
    for _ in range(2):  # a way back that goes twice begins with no products
        for x_bar, other in zip(pull(np.ones_like(value)), found, strict=True):
            np.testing.assert_allclose(x_bar, other, rtol=1e-12)


@pytest.mark.parametrize("name", ["rnn", "gru"])
def test_a_step_of_a_recurrent_network_is_one_operation_and_its_matrices_get_one_product(name, monkeypatch):
    size, rows = 64, (3 if name == "gru" else 1) * 64
    p = [0.1 * normal(rows, size, seed=k) for k in range(2)] + [normal(rows, seed=k) for k in range(2)]
    inputs, first, cell = normal(5, size), normal(size), getattr(nn, f"{name}_cell")
    assert p[0].size >= LARGE
    captured, products, summed = [], [], Held._products
    monkeypatch.setattr(answers, "capture", lambda *args, f=answers.capture: captured.append(1) or f(*args))
    monkeypatch.setattr(Held, "_products", lambda held: products.append(len(held.factors)) or summed(held))

    def f(h, *p):
        for x in inputs:
            h = cell(x, h, *p)
        return np.sum(h * h)

    found = sr.grad(f, tuple(range(5)))(first, *p)
    assert len(captured) == 5  # beside the linear maps of the inputs
    assert products == [5, 5]
    for place, x_bar in enumerate(found):
        direction = normal(*x_bar.shape, seed=9)
        steps = [[y + e * direction if i == place else y for i, y in enumerate((first, *p))] for e in (1e-6, -1e-6)]
        np.testing.assert_allclose(np.sum(x_bar * direction), (f(*steps[0]) - f(*steps[1])) / 2e-6, rtol=1e-5)


def test_what_the_gates_of_a_tree_get_on_the_way_back_is_computed_once(monkeypatch):
    found = []
    to_gates = Activated.to_gates
    monkeypatch.setattr(Activated, "to_gates", lambda *args: found.append(1) or to_gates(*args))
    xs = [normal(10, 4), normal(10), normal(2), normal(2), normal(2), normal(2)]

    def f(w, bias, a, b, *cells):
        return np.sum(nn.tree_lstm_cell([a, b], w, bias, cells)[0])

    for places in ((0, 1, 2, 3, 4, 5), (0, 2), (3, 2), (4,)):
        found.clear()
        sr.grad(f, places)(*xs)
        assert len(found) == 1


def test_a_cell_of_a_tree_of_wrong_shapes_is_an_error_that_names_the_shapes():
    w, bias, x, cells = normal(10, 2), normal(10), normal(2), [normal(2), normal(2)]
    wrong = [([], w, bias), ([normal(3)], w, bias), ([x, normal(2, 1)], w, bias), ([x], bias, bias), ([x], w, x)]
    for inputs, w_, bias_ in [*wrong, ([np.array(1.0)], w, bias), ([x], w, normal(3, 10))]:
        for f in (nn.tree_lstm_cell, lambda i, w, b, c: sr.grad(lambda b: np.sum(nn.tree_lstm_cell(i, w, b, c)[0]))(b)):
            with pytest.raises(ValueError, match=r"nn.tree_lstm_cell: the inputs have the shapes"):
                f(inputs, w_, bias_, cells)
    with pytest.raises(ValueError, match=r"nn.memory_cell: gates has the shape"):
        nn.tree_lstm_cell([x], w, bias, cells[:1])


def test_the_sigmoid_is_exact_where_it_is_very_small():
    for dtype in (np.float16, np.float32, np.float64):
        x = np.array([-np.inf, -16.0, -1.0, 0.0, 3.0, 80.0, np.inf, np.nan], dtype)
        exact = 1.0 / (1.0 + np.exp(-x.astype(np.longdouble)[1:6]))
        y = nn.sigmoid(x)
        assert y.dtype == dtype
        np.testing.assert_allclose(y[1:6], exact, rtol=3 * np.finfo(dtype).eps, atol=np.finfo(dtype).smallest_subnormal)
        assert (y[0], y[6]) == (0.0, 1.0)
        assert np.isnan(y[7])
    assert nn.sigmoid(np.array([-100.0], np.float32))[0] == np.exp(np.float32(-100.0)) > 0.0
    for kind in (int, bool, np.uint8):  # whose negative is no number of the kind
        assert nn.sigmoid(np.array([1], kind)) == nn.sigmoid(1.0)
    with pytest.raises(TypeError, match=r"nn\.sigmoid: complex numbers"):
        nn.sigmoid(np.array([1j]))


def test_a_staged_sigmoid_has_the_bits_of_the_function():
    x = np.concatenate([normal(200) * 30.0, [np.inf, -np.inf, 0.0, -0.0, np.nan]])
    for f in (nn.sigmoid, sr.grad(lambda x: np.sum(nn.sigmoid(x) * normal(205)))):
        g = sr.staged(f)
        for _ in range(4):
            np.testing.assert_array_equal(g(x), f(x))


def test_relu_keeps_an_infinite_derivative_out_where_it_is_zero():
    np.testing.assert_array_equal(sr.grad(lambda x: np.sum(nn.relu(np.sqrt(x) - 1.0)))(np.array([0.0, 4.0])), [0, 0.25])
    assert np.isnan(nn.relu(np.array([np.nan])))[0]


def test_the_cotangents_of_a_pass_are_not_written_to_where_an_operand_has_others_already():
    """The pass has one solution for all its operands; that of `x` must not become the place of a sum."""
    (x, w, h), c = SCAN, normal(TIME * BATCH * HIDDEN)

    def f(states_of):
        def loss(x, w, h):
            states = states_of(x, w, h, None, True)
            return np.sum(states * states) + np.sum(np.reshape(x, (-1,)) * c)  # the cotangent of the last is a view

        return loss

    found, wanted = (sr.grad(f(g), (0, 1, 2))(x, w, h) for g in (states_of, COMPOSITE[states_of]))
    for x_bar, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x_bar, other, rtol=1e-12)


@pytest.mark.parametrize("name", ["tanh", "padded relu", "batch norm", "linear, of a stack"])
def test_a_pullback_may_be_called_again_with_the_same_array_after_a_write(name):
    operation, program, xs = OPERATIONS[name]
    y, pull = sr.vjp(lambda *xs: program(operation, *xs), *xs)
    bar = normal(*y.shape)
    first = pull(bar)
    bar *= 2.0
    for doubled, single in zip(pull(bar), first, strict=True):
        np.testing.assert_allclose(doubled, 2.0 * single, rtol=1e-12, atol=1e-14)


def test_a_large_matrix_that_is_overwritten_gets_its_cotangent_all_the_same():
    size = 24
    h, c, w = 0.5 * normal(size), normal(size), 0.1 * normal(5 * size, 2 * size)
    assert w.size >= LARGE

    def f(writes):
        def loss(w):
            own, total = w * 1.0, 0.0
            for _ in range(3):
                total = total + np.sum(nn.tree_lstm_cell([h, h], own, np.zeros(len(w)), [c, c])[0])
                if writes:
                    own[:7] = 2.0 * own[7:14]
                else:
                    own = np.concatenate([2.0 * own[7:14], own[7:]])
            return total

        return loss

    np.testing.assert_allclose(sr.grad(f(True))(w), sr.grad(f(False))(w), rtol=1e-11, atol=1e-13)
