"""Functions of networks on tensors of PyTorch: kernels of PyTorch's compute them, in every mode and order."""

import math

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("array_api_compat")

LENGTHS = np.array([5, 3])


def rnn(x, w_ih, w_hh, nonlinearity):
    return nn.rnn(x, (w_ih, w_hh), lengths=LENGTHS, nonlinearity=nonlinearity)[0]


def normalized(x, weight, bias):
    return nn.batch_norm_in_training(x, np.zeros(3), np.ones(3), weight, bias)


def ctc(x):
    return nn.ctc_loss(nn.log_softmax(x), [[1, 2, 2], [3, 1, 1]], LENGTHS, [3, 2])


PROGRAMS = {
    "sigmoid": (nn.sigmoid, [(3, 4)]),
    "relu": (lambda x: nn.relu(x) ** 2, [(3, 4)]),
    "max_pool 1d": (lambda x: nn.max_pool(x, 2, padding=1) ** 2, [(2, 2, 6)]),
    "max_pool 2d": (lambda x: nn.max_pool(x, 3, stride=2, dilation=(1, 2)) ** 2, [(2, 2, 6, 7)]),
    "max_pool 3d": (lambda x: nn.max_pool(x, 2, stride=1) ** 2, [(1, 2, 3, 4, 3)]),
    "adaptive_max_pool": (lambda x: nn.adaptive_max_pool(x, 3) ** 2, [(2, 2, 7)]),
    "batch_norm": (
        lambda x, w, b: nn.batch_norm_in_training(x, np.zeros(3), np.ones(3), w, b)[0] ** 2,
        [(4, 3, 2), (3,), (3,)],
    ),
    "statistics": (
        lambda x, w, b: nn.batch_norm_in_training(x, np.zeros(3), np.ones(3), w, b)[2] ** 2,
        [(4, 3, 2), (3,), (3,)],
    ),
    "rnn, tanh": (lambda *xs: rnn(*xs, "tanh"), [(5, 2, 3), (4, 3), (4, 4)]),
    "rnn, relu": (lambda *xs: rnn(*xs, "relu") ** 2, [(5, 2, 3), (4, 3), (4, 4)]),
    "ctc_loss": (ctc, [(5, 2, 4)]),
    "lstm": (lambda x, *p: nn.lstm(x, p)[0], [(3, 2, 3), (16, 3), (16, 4)]),
    "gru": (lambda x, *p: nn.gru(x, p)[0], [(3, 2, 3), (12, 3), (12, 4)]),
}


def arguments(name):
    generator = np.random.default_rng(3)
    f, shapes = PROGRAMS[name]
    xs = tuple(generator.permuted(np.linspace(-1.2, 1.3, math.prod(shape))).reshape(shape) for shape in shapes)
    return f, xs, tuple(generator.normal(size=shape) for shape in shapes)


def derivatives(f, xs, x_dots):
    """The value and the derivatives to the second order, in forward and in reverse mode."""
    every = tuple(range(len(xs)))

    def scalar(*xs):
        return np.sum(np.sin(f(*xs)))

    return {
        "value": f(*xs),
        "jvp": sr.jvp(f, xs, x_dots),
        "grad": sr.grad(scalar, argnums=every)(*xs),
        "hvp": sr.hvp(scalar, xs, x_dots),
        "reverse of reverse": sr.grad(lambda *xs: sum(np.sum(g**2) for g in sr.grad(scalar, every)(*xs)), every)(*xs),
        "jacobian": sr.jacrev(f)(*xs),
    }


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_of_arrays(name, device):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no graphics card that PyTorch can use")
    f, xs, x_dots = arguments(name)
    tensors, directions = (tuple(torch.tensor(x, device=device) for x in arrays) for arrays in (xs, x_dots))
    expected = derivatives(f, xs, x_dots)
    for mode, found in derivatives(f, tensors, directions).items():
        for x, y in zip(flat(found), flat(expected[mode]), strict=True):
            assert type(x) is torch.Tensor, mode
            assert x.device.type == device, mode
            np.testing.assert_allclose(x.cpu().numpy(), y, rtol=1e-9, atol=1e-10, err_msg=mode)


def flat(answer):
    return [answer] if not isinstance(answer, tuple) else [part for parts in answer for part in flat(parts)]
