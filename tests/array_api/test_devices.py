"""Tensors of PyTorch on a device stay there: what goes to the host is counted, and memory is freed on the way back.

The counts are the same on every device, so they are tested without a graphics card, too.
"""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad.array_api import indexing
from tests.array_api.cases import CASES
from tests.array_api.test_derivatives import OPERATORS, rosenbrock, rosenbrock_in_a_loop
from tests.array_api.test_functions import case, derivatives

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")

from tests.array_api.libraries import Library  # noqa: E402
from tests.array_api.transfers import Transfers  # noqa: E402

DEVICES = [pytest.param(None, id="cpu"), pytest.param("cuda", id="cuda", marks=pytest.mark.gpu)]
devices = pytest.mark.parametrize("device", DEVICES)

# Shapes of their answers depend on the values.
BY_VALUE = ("unique_", "x[mask]")
# They ask whether matrices are singular or Hermitian, or whether values coincide: a bit each time.
ASKING = ("cholesky", "linalg.det", "eig", "matrix_norm 2", "matrix_norm -2", "pinv", "slogdet", "svd")
MOST_BITS = 4
# They compare a scalar: that the imaginary part is zero, and that the function has given its value again.
LOOKING = ("elementwise_grad", "checkpoint", "checkpointed_loop")


@devices
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(BY_VALUE)])
def test_no_array_goes_to_the_host(name, device):
    library = Library("torch", device)
    f, xs, x_dots = case(name)
    for mode, derivative in derivatives(f, library.arrays(xs), library.arrays(x_dots)).items():
        with Transfers() as transfers:
            derivative()
        bits = transfers.reads.pop("__bool__", 0)
        if not (name.startswith("sort") and mode == "grad of grad"):  # which looks at its order
            assert not transfers.reads, (mode, transfers.reads)
        assert bits <= (MOST_BITS if any(asking in name for asking in ASKING) else 0), (mode, bits)


@devices
@pytest.mark.parametrize("name", OPERATORS)
def test_no_operator_sends_an_array_to_the_host(name, device):
    library = Library("torch", device)
    x, v = (library.array(np.linspace(*ends, 5)) for ends in ((0.3, 1.1), (1.0, -0.5)))
    for f in (rosenbrock, rosenbrock_in_a_loop):
        with Transfers() as transfers:
            OPERATORS[name](f, x, v)
        scalars = transfers.reads.pop("__bool__", 0) + transfers.reads.pop("__float__", 0)
        assert not transfers.reads
        assert scalars <= (2 if name in LOOKING else 0)


def test_what_is_counted():
    x = torch.linspace(0.0, 1.0, 6, dtype=torch.float64)
    with Transfers() as transfers:
        np.from_dlpack(x), x.tolist(), float(x[1]), bool(x[1] > 0.0), x.numpy(), x.to("cpu")
        torch.asarray(np.ones(3)), torch.tensor([1.0])
    assert set(transfers.reads) == {"__dlpack__", "tolist", "__float__", "__bool__", "numpy", "to"}
    assert sum(transfers.sent.values()) == 2
    with Transfers() as transfers:
        sr.grad(lambda x: np.sum(x * float(sr.value(np.sum(x)))))(x)
    assert transfers.reads == {"__float__": 1}
    with Transfers() as transfers:
        sr.grad(lambda x: np.sum(np.unique_values(x) ** 2))(x)
    assert transfers.reads["__dlpack__"]


@devices
def test_scalars_are_not_sent(device):
    """The device fills its own memory with them. The cotangent of the sum is NumPy's until it meets a tensor."""
    x = Library("torch", device).array(np.linspace(0.3, 1.1, 5))
    with Transfers() as transfers:
        sr.grad(lambda x: np.sum(2.0 * np.tanh(x) / (1.0 + x**2) - np.float64(0.5)))(x)
    assert sum(transfers.sent.values()) <= 1
    assert not transfers.reads


def chain_that_looks(count, look):
    """A chain of so many functions; the way back calls `look` at its middle."""

    @sr.custom_vjp
    def middle(x):
        return x * 1.0

    def back(_, y_bar):
        look()
        return (y_bar,)

    middle.defvjp(lambda x: (x * 1.0, None), back)

    def f(x, seen):
        for i in range(count):
            x = middle(x) if i == count // 2 else np.tanh(x)
            seen(x)
        return np.sum(x)

    return f


@devices
def test_memory_is_freed_as_the_way_back_goes(device):
    """In the middle of it the tensors of the second half are gone."""
    x = Library("torch", device).array(np.linspace(0.3, 1.1, 5))
    tensors, alive = [], []

    def seen(y):
        tensors.append(weakref.ref(sr.value(y).array))

    def look():
        alive.append(sum(tensor() is not None for tensor in tensors))

    sr.grad(chain_that_looks(40, look))(x, seen)
    assert len(tensors) == 40
    assert alive[0] <= 23
    assert sum(tensor() is not None for tensor in tensors) == 0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[::-1] * x,
        lambda x: x[1:, ::-2, None] * x[:2, 2::-2, None],
        lambda x: x[np.array([2, 0, 1, 1]), np.arange(4)] + x[np.array([1, 1, 1, -1]), 0],
    ],
    ids=["x[::-1]", "x[:, ::-2, None]", "x[rows, columns]"],
)
def test_indices_need_no_position_of_each_element(f, monkeypatch):
    """The way back of a slice, or of rows, does not enumerate all elements of the array on the host."""
    expected = sr.grad(lambda x: np.sum(np.sin(f(x))))(np.arange(12.0).reshape(3, 4))
    monkeypatch.setattr(indexing, "sums_at", None)
    found = sr.grad(lambda x: np.sum(np.sin(f(x))))(torch.arange(12.0, dtype=torch.float64).reshape(3, 4))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.gpu
def test_memory_of_the_card_is_freed_as_the_way_back_goes():
    if not torch.cuda.is_available():
        pytest.skip("there is no graphics card that PyTorch can use")
    x = torch.linspace(0.3, 1.1, 1 << 20, device="cuda", dtype=torch.float64)
    torch.cuda.synchronize()
    before, peaks = torch.cuda.memory_allocated(), []
    sr.grad(chain_that_looks(40, lambda: peaks.append(torch.cuda.memory_allocated() - before)))(x, lambda y: None)
    assert peaks[0] < 28 * x.nbytes
    assert torch.cuda.memory_allocated() - before < 2 * x.nbytes


def test_all_operations_are_called_in_the_thread_of_the_caller():
    """PyTorch keeps the current stream of each thread, so operations go to the stream of the caller."""
    threads = set()

    class Where(Transfers):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            threads.add(threading.get_ident())
            return super().__torch_function__(function, types, args, kwargs)

    x = torch.linspace(0.3, 1.1, 5, dtype=torch.float64)
    with Where():
        sr.hessian(lambda x: np.sum(np.sin(x) * x))(x)
    assert threads == {threading.get_ident()}


@pytest.mark.gpu
def test_operations_go_to_the_current_stream():
    if not torch.cuda.is_available():
        pytest.skip("there is no graphics card that PyTorch can use")
    x, stream, streams = torch.linspace(0.3, 1.1, 5, device="cuda", dtype=torch.float64), torch.cuda.Stream(), set()
    stream.wait_stream(torch.cuda.current_stream())

    def f(x):
        streams.add(torch.cuda.current_stream())
        return np.sum(np.sin(x) * x)

    with torch.cuda.stream(stream):
        found = sr.grad(f)(x)
    torch.cuda.current_stream().wait_stream(stream)
    assert streams == {stream}
    torch.testing.assert_close(found, torch.cos(x) * x + torch.sin(x))


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype:UserWarning")
def test_no_operation_waits_for_the_card():
    if not torch.cuda.is_available():
        pytest.skip("there is no graphics card that PyTorch can use")
    x = torch.linspace(0.3, 1.1, 12, device="cuda", dtype=torch.float64).reshape(3, 4)

    def f(x):
        return np.sum(np.tanh(x @ x.T)[:, 1:] * np.max(x, axis=1, keepdims=True)) + np.mean(np.where(x > 0.5, x, 2.0))

    sr.hvp(f, (x,), (x,))  # PyTorch prepares its products
    torch.cuda.set_sync_debug_mode("error")
    try:
        sr.grad(f)(x)
        sr.hvp(f, (x,), (x,))
    finally:
        torch.cuda.set_sync_debug_mode("default")
