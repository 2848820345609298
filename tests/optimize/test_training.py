"""Training loops: steps on structures, schedules, and derivatives through them."""

import numpy as np
import pytest

from shiftreset_ad import grad, value_and_grad
from shiftreset_ad.optimize import adam, cosine_decay, exponential_decay, minimize, sgd, warmup

TARGET = {"w": np.array([1.0, -2.0]), "b": 0.5, "name": "a layer"}
OPTIMIZERS = {
    "sgd": sgd(0.1),
    "momentum": sgd(0.05, momentum=0.8),
    "nesterov": sgd(0.05, momentum=0.8, nesterov=True),
    "adam": adam(cosine_decay(0.1, 400, 1e-4)),
    "a schedule": sgd(warmup(exponential_decay(0.3, 100, 0.5), 10)),
}


def loss(x):
    return np.sum((x["w"] - TARGET["w"]) ** 2) + 2.0 * (x["b"] - TARGET["b"]) ** 2


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_loop(name):
    optimizer = OPTIMIZERS[name]
    x = {"w": np.zeros(2), "b": 0.0, "name": "a layer"}
    state = optimizer.init(x)
    for _ in range(400):
        x, state = optimizer.step(grad(loss)(x), x, state)
    np.testing.assert_allclose(x["w"], TARGET["w"], atol=1e-3)
    assert x["b"] == pytest.approx(0.5, abs=1e-3)
    assert x["name"] == "a layer"


def test_steps_are_those_of_the_definitions():
    g, x = 3.0, 1.0
    momentum = sgd(0.1, momentum=0.5)
    x, state = momentum.step(g, x, momentum.init(x))
    assert x == pytest.approx(0.7)
    x, state = momentum.step(g, x, state)
    assert x == pytest.approx(0.7 - 0.1 * (0.5 * 3.0 + 3.0))
    nesterov = sgd(0.1, momentum=0.5, nesterov=True)
    assert nesterov.step(g, 1.0, nesterov.init(1.0))[0] == pytest.approx(1.0 - 0.1 * (3.0 + 0.5 * 3.0))
    kingma = adam(0.1)
    x, state = kingma.step(2.0, 1.0, kingma.init(1.0))
    assert x == pytest.approx(0.9)
    x, _ = kingma.step(-1.0, x, state)
    mean, square = (0.9 * 0.2 - 0.1) / (1 - 0.81), (0.999 * 0.004 + 0.001) / (1 - 0.999**2)
    assert x == pytest.approx(0.9 - 0.1 * mean / np.sqrt(square), rel=1e-6)
    decaying = adam(0.1, decay=0.5)
    assert decaying.step(0.0, 2.0, decaying.init(2.0))[0] == pytest.approx(2.0 - 0.1 * 0.5 * 2.0)


@pytest.mark.slow
def test_torch_takes_the_same_steps():
    torch = pytest.importorskip("torch")
    pairs = [
        (adam(0.05, decay=0.01), lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.01)),
        (sgd(0.05, momentum=0.9), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
        (sgd(0.05, 0.9, nesterov=True), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True)),
    ]
    for ours, make in pairs:
        x = np.array([1.0, -3.0])
        theirs = torch.tensor(x.copy(), requires_grad=True)
        optimizer, state = make([theirs]), ours.init(x)
        for _ in range(20):
            gradient = grad(lambda x: np.sum(x**4) / 4)(x)
            x, state = ours.step(gradient, x, state)
            optimizer.zero_grad()
            (theirs**4).sum().div(4).backward()
            optimizer.step()
        np.testing.assert_allclose(x, theirs.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("make", [sgd, lambda rate: sgd(rate, 0.5), adam, lambda rate: adam(cosine_decay(rate, 10))])
def test_the_derivative_in_the_rate(make):
    """One of the variables never has a gradient, where the square root in Adam has no slope."""

    def after(rate):
        x = np.array([1.0, 3.0])
        return minimize(lambda x: np.sum((x - 3.0) ** 4), x, method=make(rate), rounds=5, derivative="unrolled").value

    h = 1e-6
    assert grad(after)(0.05) == pytest.approx((after(0.05 + h) - after(0.05 - h)) / (2 * h), rel=1e-5)


def test_the_derivative_in_the_rate_through_a_loop_of_floats():
    def after(rate):
        x, optimizer = 1.0, adam(rate)
        state = optimizer.init(x)
        for _ in range(3):
            _, gradient = value_and_grad(lambda x: (x - 3.0) ** 4)(x)
            x, state = optimizer.step(gradient, x, state)
        return x

    h = 1e-6
    assert grad(after)(0.05) == pytest.approx((after(0.05 + h) - after(0.05 - h)) / (2 * h), rel=1e-5)


def test_schedules():
    assert [exponential_decay(1.0, 2, 0.25)(k) for k in (0, 1, 2)] == pytest.approx([1.0, 0.5, 0.25])
    cosine = cosine_decay(1.0, 4, floor=0.2)
    assert [cosine(k) for k in (0, 2, 4, 9)] == pytest.approx([1.0, 0.6, 0.2, 0.2])
    warm = warmup(cosine, 2)
    assert [warm(k) for k in (0, 1, 2, 4)] == pytest.approx([0.5, 1.0, 1.0, 0.6])


def test_a_gradient_that_does_not_fit():
    optimizer = adam()
    with pytest.raises(ValueError, match=r"adam: the gradient\['w'\] has shape \(3,\)"):
        optimizer.step({"w": np.ones(3)}, {"w": np.ones(2)}, optimizer.init({"w": np.ones(2)}))
    with pytest.raises(TypeError, match="sgd: the gradient must have the structure of x"):
        sgd(0.1).step(1.0, {"w": np.ones(2)}, sgd(0.1).init({"w": np.ones(2)}))
