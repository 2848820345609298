"""Functions of networks on tensors of PyTorch: kernels of PyTorch's compute them, in every mode and order."""

import math

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("array_api_compat")
TorchDispatchMode = pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode

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


class Operators(TorchDispatchMode):
    """In this context the names of all operators of PyTorch's that compute."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


KERNELS = {
    "relu": ["relu"],
    "sigmoid": ["sigmoid"],
    "max_pool 1d": ["max_pool2d_with_indices", "max_pool2d_with_indices_backward"],
    "max_pool 2d": ["max_pool2d_with_indices", "max_pool2d_with_indices_backward"],
    "max_pool 3d": ["max_pool3d_with_indices", "max_pool3d_with_indices_backward"],
    "batch_norm": ["native_batch_norm", "native_batch_norm_backward"],
    "rnn, tanh": ["addmm"] * 10,
    "ctc_loss": ["logaddexp"] * (2 * 2 * 4 + 1),  # a sum and a skip for each time but one, there and back, and the end
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_pytorch_compute(name):
    """There and back, each as often as it must; and no element is written to a position that the host has made."""
    f, xs, _ = arguments(name)
    gradient = sr.grad(lambda *xs: np.sum(f(*xs)), tuple(range(len(xs))))
    with Operators() as operators:
        gradient(*map(torch.from_numpy, xs))
    expected = KERNELS[name]
    assert [operator for operator in operators.names if operator in expected] == expected
    assert name == "ctc_loss" or not {"index_put", "_index_put_impl_"} & set(operators.names)


@pytest.mark.parametrize("function", [nn.relu, nn.sigmoid])
def test_integers_become_floats_as_in_numpy(function):
    found, expected = function(torch.tensor([-1, 0, 2])), function(np.array([-1, 0, 2]))
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-15)


def test_a_labelling_without_an_alignment():
    """It is too long for its input: its loss is infinity, and its gradient is zero."""

    def losses(x):
        return nn.ctc_loss(nn.log_softmax(x), [[1, 1, 1], [1, 2, 3]], [3, 5], [3, 3], reduction="none")

    x = torch.from_numpy(arguments("ctc_loss")[1][0])
    value = losses(x)
    assert value.tolist() == [math.inf, pytest.approx(float(losses(x.numpy())[1]))]
    (gradient,) = sr.vjp(losses, x)[1](torch.ones(2, dtype=torch.float64))
    assert not gradient[:, 0].any()
    expected = sr.grad(lambda x: losses(x)[1])(x.numpy())
    np.testing.assert_allclose(gradient[:, 1].numpy(), expected[:, 1], rtol=1e-9)
