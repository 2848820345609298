"""Fusion: the derivatives are those of the function itself, and one operation is kept."""

from __future__ import annotations

import functools
import gc
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiftreset_ad import (
    ControlError,
    NumR,
    grad,
    hessian,
    hvp,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from shiftreset_ad.transforms.checkpointing.fusion import fuse

examples = settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
X = np.array([0.5, -1.0, 2.0])
STEPS = [
    lambda a, b: (a + b, a * b),
    lambda a, b: (np.sin(a), b),
    lambda a, b: (a * 0.5, np.tanh(b) + a),
    lambda a, b: (b, a),
    lambda a, b: (np.where(a > b, a, b * 2.0), b),
    lambda a, b: (a, np.cumsum(b * 0.1)),
]


def close(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def program(steps, wrap):
    """A random program that uses a function to a scalar several times."""

    def energy(a, b):
        for i in steps:
            a, b = STEPS[i](a, b)
        return np.sum(a * b)

    energy = wrap(energy)

    def whole(x):
        y = energy(x, 0.5)
        return energy(np.sin(x), y) * energy(x * 0.1 * y, x)

    return whole


@examples
@given(st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=4))
def test_random_programs(steps) -> None:
    plain = program(steps, lambda energy: energy)
    for wrap in (fuse, lambda energy: fuse(fuse(energy))):
        f = program(steps, wrap)
        value, gradient = value_and_grad(f)(X)
        assert value == plain(X)
        close(gradient, grad(plain)(X))
        v = np.array([0.3, 1.0, -0.7])
        expected = grad(lambda x: np.dot(grad(plain)(x), v))(X)  # noqa: B023
        close(grad(lambda x: np.dot(grad(f)(x), v))(X), expected, 1e-11)  # noqa: B023
        close(hvp(f, (X,), (v,)), expected, 1e-11)
        close(grad(lambda x: jvp(f, (x,), (v,))[1])(X), expected, 1e-11)  # noqa: B023
        close(jvp(lambda x: jvp(f, (x,), (v,))[1], (X,), (v,))[1], np.dot(expected, v), 1e-11)  # noqa: B023


def test_third_order() -> None:
    def f(x):
        return np.sin(x) * x * x

    assert grad(grad(grad(fuse(f))))(0.7) == pytest.approx(grad(grad(grad(f)))(0.7), rel=1e-13)


def test_structures_keywords_and_constants() -> None:
    def f(tree, name, *, scale, n=2):
        assert name == "kept"
        return np.sum(tree["a"] * tree["b"][0]) * scale * n

    def whole(f, x):
        return f({"a": x, "b": (2.0 * x, "other")}, "kept", scale=x[0]) ** 2

    close(grad(functools.partial(whole, fuse(f)))(X), grad(functools.partial(whole, f))(X))
    assert fuse(f)({"a": X, "b": (X,)}, "kept", scale=1.0, n=1) == np.sum(X * X)
    assert grad(lambda x: x * fuse(lambda x: 3)(x))(2.0) == 3.0
    assert grad(lambda x: x * fuse(lambda x: np.float64(x > 1.0))(x))(2.0) == 1.0


@pytest.mark.slow
def test_one_operation_is_kept() -> None:
    def long(x):
        y = x
        for _ in range(1000):
            y = np.sin(y)
        return np.sum(y)

    def kept(f):
        counts = []

        def count():
            gc.collect()
            counts.append(sum(type(o) is NumR for o in gc.get_objects()))

        def whole(x):
            count()
            y = f(x)
            count()
            return y

        grad(whole)(0.5)
        return counts[1] - counts[0]

    assert kept(long) > 1000
    assert kept(fuse(long)) < 5


@pytest.mark.slow
def test_memory() -> None:
    def f(x):
        y = x
        for _ in range(20):
            y = np.sin(y)
        return np.sum(y)

    def peak(f):
        x = np.linspace(0.0, 1.0, 20_000)
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            grad(lambda x: f(x) * f(x + 1.0) * f(x + 2.0) * f(x + 3.0) * f(x + 4.0))(x)
            return (tracemalloc.get_traced_memory()[1] - before) / x.nbytes
        finally:
            tracemalloc.stop()

    assert peak(f) > 100
    assert peak(fuse(f)) < 40


def test_what_the_function_closes_over() -> None:
    def whole(wrap, w, b):
        def loss(x, scale=b):
            return np.sum(np.tanh(w * x) * scale)

        loss = wrap(loss)
        return loss(X) * loss(w)

    def gradients(wrap):
        return grad(functools.partial(whole, wrap), argnums=(0, 1))(np.array([1.0, 2.0, 3.0]), 0.5)

    for found, expected in zip(gradients(fuse), gradients(lambda f: f), strict=True):
        close(found, expected)


def test_nonlocal_variables() -> None:
    def whole(x):
        calls, last = 0, None

        def counts(x):
            nonlocal calls
            calls += 1
            return x * x

        y = fuse(counts)(x)
        assert calls == 1

        def keeps(x):
            nonlocal last
            last = 2.0 * x
            return x * x

        with pytest.raises(TypeError, match=r"fuse\(keeps\): .* has more than one result; use checkpoint"):
            fuse(keeps)(x)
        assert last is None
        return y

    assert grad(whole)(3.0) == 6.0


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda x: x * X, r"an array of shape \(3,\) and dtype float64"),
        (lambda x: (x, x), r"\(NumR"),
        (lambda x: None, "None"),
        (lambda x: "text", "'text'"),
        (lambda x: np.exp(1j * x), r"an array of shape \(\) and dtype complex128"),
    ],
)
def test_a_value_that_is_no_real_scalar(f, kind) -> None:
    with pytest.raises(TypeError, match=f"the function returned {kind}.*use checkpoint .* or jacobian"):
        grad(lambda x: fuse(f)(x) and x)(2.0)
    assert grad(fuse(lambda x: x * x))(3.0) == 6.0


class Model:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def __call__(self, x):
        return self.weight * x


def test_a_number_found_nowhere_else_is_an_error() -> None:
    with pytest.raises(ControlError, match=r"fuse\(Model\): the result depends on a number .* Pass it as an argument"):
        grad(lambda w: fuse(Model(w))(w * 2.0))(3.0)
    with pytest.raises(ControlError, match="Pass it as an argument"):
        grad(lambda w: fuse(Model(w))(2.0))(3.0)
    with pytest.raises(TypeError, match="cannot be called"):
        fuse(3.0)


def test_exceptions() -> None:
    def f(x):
        if x > 1.0:
            raise ZeroDivisionError
        return x * x

    def whole(x):
        try:
            return fuse(f)(x + 1.0)
        except ZeroDivisionError:
            return fuse(f)(x)

    assert grad(whole)(0.5) == 1.0
    with pytest.raises(ZeroDivisionError) as caught:
        grad(fuse(f))(2.0)
    assert caught.traceback[-1].name == "f"


def test_going_back_several_times_and_along_many_directions() -> None:
    def f(x):
        return np.sum(np.sin(x) * x)

    g = fuse(f)
    y, pullback = vjp(lambda x, w: g(w * x), X, 2.0)
    assert y == f(2.0 * X)
    expected = vjp(lambda x, w: f(w * x), X, 2.0)[1](1.0)
    for scale in (1.0, -2.0, 1.0):
        for found, wanted in zip(pullback(scale), expected, strict=True):
            close(found, scale * wanted)

    def vector(f):
        return lambda x: np.stack([f(x), f(2.0 * x), f(x * x), f(x) ** 2])

    for operator in (jacobian, jacrev, lambda f: jacrev(jacrev(f)), hessian):
        close(operator(vector(g))(X), operator(vector(f))(X))
    _, pushforward = linearize(vector(g), X)
    close(pushforward(X), jacobian(vector(f))(X) @ X)


def test_what_nobody_uses_is_not_zero_times_infinity() -> None:
    assert grad(lambda x: fuse(lambda a, b: b * 2.0)(np.sqrt(x), x))(0.0) == 2.0

    def whole(x):
        unused = fuse(np.sqrt)(x)
        assert unused == 0.0
        return 2.0 * x

    assert grad(whole)(0.0) == 2.0


def test_complex_arguments() -> None:
    def f(z):
        return np.abs(np.exp(z) * z) ** 2

    close(grad(lambda z: fuse(f)(z * z))(0.3 - 0.4j), grad(lambda z: f(z * z))(0.3 - 0.4j))


def test_in_threads() -> None:
    f, found = fuse(lambda x: functools.reduce(lambda y, _: np.sin(y), range(100), x)), {}

    def work(i):
        found[i] = {grad(lambda x: f(f(x)))(0.1 * i) for _ in range(5)}

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plain = grad(lambda x: functools.reduce(lambda y, _: np.sin(y), range(200), x))
    for i in range(4):
        (gradient,) = found[i]
        assert gradient == pytest.approx(plain(0.1 * i), rel=1e-13)
