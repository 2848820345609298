"""PyTorch's kernels are called as often as PyTorch calls them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn
from shiftreset_ad.nn import maxima

torch = pytest.importorskip("torch")


def kernels_called(program):
    """How often the program calls each kernel of PyTorch's."""
    from torch.utils._python_dispatch import TorchDispatchMode

    calls = Counter()

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            calls[function.overloadpacket.__name__] += 1
            return function(*args, **(kwargs or {}))

    with Counted(), nn.kernels("torch"):
        program()
    return calls


def normal(*shape):
    return np.random.default_rng(list(shape)).normal(size=shape).astype(np.float32)


X, W, BIAS = normal(2, 4, 8, 8), normal(6, 4, 3, 3), normal(6)
ARRAYS = {"on the memory of NumPy's arrays": np.copy, "tensors": torch.from_numpy}


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("places", [(0,), (1,), (0, 1), (0, 1, 2), (1, 2)])
def test_one_kernel_gives_all_cotangents_of_a_convolution(kind, places):
    xs = [ARRAYS[kind](x) for x in (X, W, BIAS)]
    gradients = []
    calls = kernels_called(
        lambda: gradients.extend(sr.grad(lambda *xs: (nn.conv(*xs, padding=1) ** 2).sum(), places)(*xs))
    )
    assert calls["convolution"] == calls["convolution_backward"] == 1
    theirs = [torch.tensor(x, requires_grad=True) for x in (X, W, BIAS)]
    (torch.nn.functional.conv2d(*theirs, padding=1) ** 2).sum().backward()
    for place, gradient in zip(places, gradients, strict=True):
        np.testing.assert_allclose(np.asarray(gradient), theirs[place].grad.numpy(), rtol=1e-4, atol=1e-4)


def test_each_way_back_of_a_recording_calls_the_kernel_again():
    _, pullback = sr.vjp(lambda x, w: nn.conv(x, w, padding=1), X, W)
    y_bars = [normal(2, 6, 8, 8), 2.0 * normal(2, 6, 8, 8)]
    found = []
    assert kernels_called(lambda: found.extend(map(pullback, y_bars)))["convolution_backward"] == 0
    with nn.kernels("torch"):
        _, pullback = sr.vjp(lambda x, w: nn.conv(x, w, padding=1), X, W)
    again = []
    assert kernels_called(lambda: again.extend(map(pullback, y_bars)))["convolution_backward"] == 2
    for ours, theirs in zip(found, again, strict=True):
        for x_bar, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x_bar, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_relu_of_a_large_array_is_pytorchs_kernel(dtype):
    x = normal(5000).astype(dtype)
    x[:4] = -np.inf, np.inf, np.nan, -0.0
    found = []
    calls = kernels_called(lambda: found.extend([nn.relu(x), sr.grad(lambda x: np.sum(3.0 * nn.relu(x)))(x)]))
    assert calls["relu"] == (0 if dtype is np.float16 else 2)
    assert kernels_called(lambda: nn.relu(x[:100]))["relu"] == 0
    np.testing.assert_array_equal(found[0], nn.relu(x))
    np.testing.assert_array_equal(found[1], np.where(x <= 0, 0.0, 3.0))


def test_relu_keeps_the_order_of_its_array_with_pytorchs_kernels():
    """Whether a reshape of the answer is a view depends on the order."""
    x = np.asfortranarray(normal(100, 100))
    with nn.kernels("torch"):
        assert nn.relu(x).flags.f_contiguous
        assert nn.relu(np.ascontiguousarray(x)).flags.c_contiguous
        found = sr.grad(lambda x: np.sum(np.sin(nn.relu(x))))(x)
    np.testing.assert_allclose(found, np.where(x > 0, np.cos(x), 0.0), rtol=1e-6)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_one_kernel_gives_the_largest_elements_and_their_positions(stride, monkeypatch):
    monkeypatch.setattr(maxima, "_elements", lambda *args: pytest.fail("the elements were taken by their positions"))
    found = []
    calls = kernels_called(lambda: found.append(sr.grad(lambda x: np.sum(nn.max_pool(x, 2, stride) ** 2))(np.copy(X))))
    assert sum(calls.values()) - calls["detach"] - calls["lift_fresh"] == 1
    theirs = torch.tensor(X, requires_grad=True)
    (torch.nn.functional.max_pool2d(theirs, 2, stride) ** 2).sum().backward()
    np.testing.assert_allclose(found[0], theirs.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("stride", [1, 2])
def test_what_no_window_chose_does_not_count(library, stride):
    """The root has an infinite derivative at 0, where no maximum is."""
    x = np.array([[[0.0, 4.0, 0.0, 4.0]]])
    with nn.kernels(library):
        gradient = sr.grad(lambda x: np.sum(nn.max_pool(np.sqrt(x), 2, stride)))(x)
    np.testing.assert_array_equal(gradient, [[[0.0, 0.25 * (2 if stride == 1 else 1), 0.0, 0.25]]])
