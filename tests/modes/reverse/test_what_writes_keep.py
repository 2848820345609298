"""A write keeps what it overwrites if an earlier operation reads it, and only then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import custom_vjp, grad, hvp, value, vjp
from shiftreset_ad.modes.reverse.shells import SMALL
from tests.peaks import peak_of

LARGE = 4 * SMALL
X = np.linspace(0.5, 1.5, LARGE)
W = np.linspace(-1.0, 1.0, LARGE)


def allocated(program: Callable[[], Any]) -> float:
    """The peak of memory, in arrays like `X`."""
    return peak_of(program) / X.nbytes


def smoothed(x: Any) -> Any:
    y = x.copy()
    for _ in range(50):
        y[1:-1] += 0.25 * (y[2:] - 2.0 * y[1:-1] + y[:-2])
    return np.sum(y * W)


def test_writes_to_memory_that_no_operation_reads_keep_nothing() -> None:
    assert allocated(lambda: grad(smoothed)(X)) < 12.0


def test_writes_after_an_operation_that_reads_the_memory_keep_their_elements() -> None:
    def squares(x: Any) -> Any:
        y = x.copy()
        total = 0.0
        for _ in range(50):
            total = total + np.sum(y**2)
            y *= 0.9
        return total

    assert allocated(lambda: grad(squares)(X)) > 50.0
    factor = sum(0.81**k for k in range(50))
    np.testing.assert_allclose(grad(squares)(X), 2.0 * factor * X, rtol=1e-12)


READERS: dict[str, Callable[[Any], Any]] = {
    "an elementwise function": lambda y: np.sum(np.sin(y)),
    "a function of two, as its first operand": lambda y: np.sum(np.arctan2(y, W)),
    "a function of two, as its second operand": lambda y: np.sum(np.arctan2(W, y)),
    "its own answer": lambda y: np.sum(np.exp(y)),
    "a small view": lambda y: np.sum(np.sin(y[:3])),
    "an element as a view": lambda y: np.sin(y[2:3].reshape(())),
    "a small view of a view": lambda y: np.sum(y[1:][:3] ** 2),
    "a large view": lambda y: np.sum(np.sin(y[1:])),
    "a view in another shape": lambda y: np.sum(np.sin(y.reshape(4, -1).T)),
    "a matrix product": lambda y: y @ y,
    "a product of small views": lambda y: y[:2] @ y[1:3],
    "the largest element": lambda y: np.max(y),
    "a quotient of a broadcast small view": lambda y: np.sum(W / y[1:2]),
    "a running maximum": lambda y: np.sum(np.maximum.accumulate(y)),
    "a norm": lambda y: np.linalg.norm(y),
    "an element": lambda y: y[1] * y[1],
    "an inner derivative": lambda y: np.sum(grad(lambda z: np.sum(z * z * y))(W)),
    "an inner derivative of the memory": lambda y: np.sum(grad(lambda z: np.sum(np.sin(z)))(y)),
    "its plain value": lambda y: np.sum(y * value(y)),
}


def overwriting(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[...] = 2.0 * x
        y[::2] = x[::2] * W[::2]
        before = read(y)
        y[1:5] = 0.0
        y *= 3.0
        y[:3] = np.exp(y[:3])
        after = read(y)
        y[...] = 1.0
        return before + after * 2.0

    return f


def copying(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same program without writes to memory that has been read."""

    def f(x: Any) -> Any:
        y = np.where(np.arange(LARGE) % 2 == 0, x * W, 2.0 * x)
        before = read(y + 0.0)
        z = np.where((np.arange(LARGE) >= 1) & (np.arange(LARGE) < 5), 0.0, y) * 3.0
        z = np.concatenate([np.exp(z[:3]), z[3:]])
        return before + read(z + 0.0) * 2.0

    return f


def test_a_structured_function_may_read_its_answer() -> None:
    size = int(LARGE**0.5)
    matrix = np.eye(size) * 3.0 + np.cos(np.arange(size * size)).reshape(size, size) / size

    def f(m: Any) -> Any:
        inverse = np.linalg.inv(m)
        total = np.sum(inverse)
        inverse[...] = 0.0
        return total

    np.testing.assert_allclose(grad(f)(matrix), grad(lambda m: np.sum(np.linalg.inv(m)))(matrix), rtol=1e-12)


class Holder:
    """An object, in whose attributes nobody looks for numbers."""

    y: Any


def test_a_rule_of_the_user_may_read_any_array_on_the_way_back() -> None:
    def f(x: Any) -> Any:
        held = Holder()
        held.y = x * 2.0

        @custom_vjp
        def product(z: Any) -> Any:
            return z * value(held.y)

        product.defvjp(lambda z: (z * value(held.y), None), lambda _, y_bar: (y_bar * value(held.y),))
        z = product(x * 1.0)
        held.y[...] = 0.0
        return np.sum(z)

    np.testing.assert_allclose(grad(f)(X), 2.0 * X)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_what_was_read_is_right_whatever_is_written_later(read: Callable[[Any], Any]) -> None:
    f, g = overwriting(read), copying(read)
    expected = grad(g)(X)
    np.testing.assert_allclose(grad(f)(X), expected, rtol=1e-12, atol=1e-12)
    _, pullback = vjp(f, X)
    for _ in range(3):
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(hvp(f, (X,), (W,)), hvp(g, (X,), (W,)), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        grad(lambda x: np.sum(grad(f)(x) * W))(X), grad(lambda x: np.sum(grad(g)(x) * W))(X), rtol=1e-10, atol=1e-10
    )
