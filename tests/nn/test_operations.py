"""The functions that are one operation each: they equal the compositions that they stand for, in every way."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn
from shiftreset_ad.nn.alignments import Labelling, alignment_losses
from shiftreset_ad.nn.gates import relu_of, sigmoid_of
from shiftreset_ad.nn.layers import _affine
from shiftreset_ad.nn.scans import states_of
from shiftreset_ad.nn.standardized import standardized
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


# Of each: the operation, a program that calls it or its composition, and the arrays.
SCAN = (normal(TIME, BATCH, HIDDEN), normal(HIDDEN, HIDDEN), normal(BATCH, HIDDEN))
OPERATIONS = {
    "sigmoid": (sigmoid_of, lambda f, x: f(x), [normal(4, 3)]),
    "relu": (relu_of, lambda f, x: f(x), [normal(4, 3)]),
    "linear, of a vector": (_affine, lambda f, *xs: f(*xs), [normal(3), normal(2, 3), normal(2)]),
    "linear, of a matrix": (_affine, lambda f, *xs: f(*xs), [normal(4, 3), normal(2, 3), normal(2)]),
    "linear, of a stack": (_affine, lambda f, *xs: f(*xs), [normal(2, 4, 3), normal(2, 3), normal(2)]),
    "tanh": (states_of, lambda f, *xs: f(*xs, None, True), SCAN),
    "relu over times": (states_of, lambda f, *xs: f(*xs, None, False), SCAN),
    "padded tanh": (states_of, lambda f, *xs: f(*xs, GOES_ON, True), SCAN),
    "padded relu": (states_of, lambda f, *xs: f(*xs, GOES_ON, False), SCAN),
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
    assert nn.sigmoid(np.array([1])) == nn.sigmoid(1.0)


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
