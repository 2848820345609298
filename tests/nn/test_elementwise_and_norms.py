"""Activations, softmax, normalization and the layers, in every way and as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.three_ways import check

pytest.importorskip("scipy")  # for the error function

POINTS = np.array([-30.0, -6.5, -2.3, -0.7, 0.4, 1.9, 3.5, 6.2, 25.0]).reshape(3, 3)
KINKS = np.array([-3.0, -1.0, 0.0, 1.0, 3.0, 6.0])

ACTIVATIONS = {
    **{name: (getattr(nn, name), name) for name in ("relu", "relu6", "leaky_relu", "elu", "celu", "selu", "silu")},
    **{name: (getattr(nn, name), name) for name in ("mish", "softsign", "gelu")},
    "hard_tanh": (nn.hard_tanh, "hardtanh"),
    "hard_sigmoid": (nn.hard_sigmoid, "hardsigmoid"),
    "hard_swish": (nn.hard_swish, "hardswish"),
    "sigmoid": (nn.sigmoid, "sigmoid"),
    "log_sigmoid": (nn.log_sigmoid, "logsigmoid"),
    "softplus": (nn.softplus, "softplus"),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    ours, of_torch = ACTIVATIONS[name]
    in_scipy = name == "gelu"  # whose error function does not have every precision
    check(ours, POINTS / 5.0, generator=np.random.default_rng(0), dtypes=not in_scipy)
    assert sr.grad(lambda x: np.sum(ours(x)))(POINTS.astype(np.float32)).dtype == np.float32
    assert ours(POINTS.astype(np.float32)).dtype == np.float32
    tolerance = 1e-7 if name == "hard_sigmoid" else 1e-9  # PyTorch takes 1 / 6 in single precision
    for points in (POINTS, KINKS[[0, 1, 3]] if name == "hard_swish" else KINKS):
        assert_like_pytorch(
            ours, lambda torch, x: getattr(torch.nn.functional, of_torch)(x), points, tolerance=tolerance
        )


def test_activations_with_options():
    generator = np.random.default_rng(0)
    x, w = POINTS / 5.0, np.array([0.25, 0.5, 0.75])
    check(nn.prelu, x, w, generator=generator)
    assert_like_pytorch(nn.prelu, lambda torch, x, w: torch.nn.functional.prelu(x, w), x, w)
    assert_like_pytorch(
        lambda x: nn.gelu(x, "tanh"), lambda torch, x: torch.nn.functional.gelu(x, approximate="tanh"), POINTS
    )
    assert_like_pytorch(
        lambda x: nn.softplus(x, 2.0), lambda torch, x: torch.nn.functional.softplus(x, 2.0, 100.0), POINTS
    )


@pytest.mark.parametrize("axis", [0, -1])
def test_softmax_and_its_logarithm(axis):
    for name in ("softmax", "log_softmax", "logsumexp"):
        ours = getattr(nn, name)
        check(lambda x, ours=ours: ours(x, axis), POINTS / 10.0, generator=np.random.default_rng(0))
        assert_like_pytorch(
            lambda x, ours=ours: ours(x, axis),
            lambda torch, x, name=name: getattr(torch, name)(x, axis),
            50.0 * POINTS,
        )


def test_logsumexp_of_nothing_has_the_gradient_zero():
    x = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    np.testing.assert_array_equal(nn.logsumexp(x), [-np.inf, 0.0])
    np.testing.assert_array_equal(sr.grad(lambda x: nn.logsumexp(x)[0])(x), np.zeros((2, 2)))
    np.testing.assert_array_equal(sr.grad(lambda x: nn.logsumexp(x)[1])(x), [[0.0, 0.0], [1.0, 0.0]])
    assert nn.logsumexp(np.array([np.inf, 0.0])) == np.inf


def arrays(*shapes):
    generator = np.random.default_rng(0)
    return [generator.normal(size=shape) for shape in shapes]


MEAN, VAR = np.array([0.5, -0.25]), np.array([0.5, 2.0])
NORMS = {
    "batch_norm": (
        lambda x, w, b: nn.batch_norm(x, MEAN, VAR, w, b),
        lambda functional, x, w, b: functional.batch_norm(x, *map(x.new_tensor, (MEAN, VAR)), w, b),
        [(4, 2, 3), (2,), (2,)],
    ),
    "batch_norm_in_training": (
        lambda x, w, b: nn.batch_norm_in_training(x, None, None, w, b)[0],
        lambda functional, x, w, b: functional.batch_norm(x, None, None, w, b, training=True),
        [(4, 2, 3), (2,), (2,)],
    ),
    "layer_norm": (
        lambda x, w, b: nn.layer_norm(x, 2, w, b),
        lambda functional, x, w, b: functional.layer_norm(x, (2, 3), w, b),
        [(4, 2, 3), (2, 3), (2, 3)],
    ),
    "group_norm": (
        lambda x, w, b: nn.group_norm(x, 2, w, b),
        lambda functional, x, w, b: functional.group_norm(x, 2, w, b),
        [(2, 4, 3), (4,), (4,)],
    ),
    "instance_norm": (
        lambda x, w, b: nn.instance_norm(x, w, b),
        lambda functional, x, w, b: functional.instance_norm(x, weight=w, bias=b),
        [(2, 4, 3), (4,), (4,)],
    ),
    "rms_norm": (
        lambda x, w: nn.rms_norm(x, w),
        lambda functional, x, w: functional.rms_norm(x, (3,), w, eps=1e-6),
        [(2, 4, 3), (3,)],
    ),
    "linear": (nn.linear, lambda functional, x, w, b: functional.linear(x, w, b), [(2, 4, 3), (5, 3), (5,)]),
}


@pytest.mark.parametrize("name", NORMS)
def test_normalization_and_linear(name):
    ours, of_torch, shapes = NORMS[name]
    xs = arrays(*shapes)
    check(ours, *xs, generator=np.random.default_rng(1))
    assert_like_pytorch(ours, lambda torch, *xs: of_torch(torch.nn.functional, *xs), *xs)


def test_batch_norm_in_its_statistics():
    x, mean, var = arrays((4, 2, 3), (2,), (2,))
    check(
        lambda x, mean, var: nn.batch_norm(x, mean, var * var + 0.1), x, mean, var, generator=np.random.default_rng(1)
    )


def test_running_statistics_are_pytorchs():
    torch = pytest.importorskip("torch")
    x, mean, var = arrays((4, 2, 3), (2,), (2,))
    _, new_mean, new_var = nn.batch_norm_in_training(x, mean, var * var, momentum=0.3)
    m, v = torch.from_numpy(mean.copy()), torch.from_numpy(var * var)
    torch.nn.functional.batch_norm(torch.from_numpy(x), m, v, training=True, momentum=0.3)
    np.testing.assert_allclose(new_mean, m)
    np.testing.assert_allclose(new_var, v)


def test_embedding():
    (w,) = arrays((5, 3))
    indices = np.array([[0, 2], [2, 4]])
    check(lambda w: nn.embedding(indices, w), w, generator=np.random.default_rng(0))

    def of_torch(torch, w):
        return torch.nn.functional.embedding(torch.from_numpy(indices), w, padding_idx=2)

    assert_like_pytorch(lambda w: nn.embedding(indices, w, padding_idx=2), of_torch, w)


def test_dropout():
    (x,) = arrays((50, 40))
    y, x_bar = nn.dropout(x, np.random.default_rng(0), 0.25), None
    x_bar = sr.grad(lambda x: np.sum(nn.dropout(x, np.random.default_rng(0), 0.25)))(x)
    assert set(np.unique(x_bar.round(12))) == {0.0, round(4.0 / 3.0, 12)}
    np.testing.assert_allclose(y, x * x_bar)
    assert 0.2 < np.mean(x_bar == 0.0) < 0.3
    assert nn.dropout(x.astype(np.float32), np.random.default_rng(0)).dtype == np.float32
    np.testing.assert_array_equal(nn.dropout(x, np.random.default_rng(0), 1.0), 0.0 * x)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.gelu(1.0, "erf"), "nn.gelu: approximate is 'erf'"),
        (lambda: nn.batch_norm(np.ones(3), 1, 1), "nn.batch_norm: x has the shape"),
        (lambda: nn.batch_norm(np.ones((2, 3)), np.ones(2), np.ones(3)), "nn.batch_norm: mean has the shape"),
        (lambda: nn.batch_norm_in_training(np.ones((1, 3))), "one element in a channel"),
        (lambda: nn.layer_norm(np.ones(3), 2), "nn.layer_norm: ndim is 2"),
        (lambda: nn.layer_norm(np.ones(3), 1, np.ones(2)), "nn.layer_norm: weight has the shape"),
        (lambda: nn.group_norm(np.ones((2, 3)), 2), "nn.group_norm: groups is 2"),
        (lambda: nn.linear(np.ones(3), np.ones((3, 2))), "nn.linear: x has the shape"),
        (lambda: nn.embedding(np.array([2]), np.ones((2, 2))), "nn.embedding: indices"),
        (lambda: nn.dropout(np.ones(2), np.random.default_rng(0), 2.0), "nn.dropout: p is 2.0"),
    ],
)
def test_wrong_input_is_an_error_that_names_the_remedy(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_group_norm_of_an_empty_batch():
    x = np.zeros((0, 4, 3))
    assert sr.grad(lambda x: np.sum(nn.group_norm(x, 2)))(x).shape == nn.instance_norm(x).shape == x.shape
