"""Structured operations by their linear maps: where their operands may be."""

from collections import namedtuple

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jvp, taylor, vjp
from shiftreset_ad.testing import check_grads

Pair = namedtuple("Pair", "first second")


class OwnList(list):
    """A list by another name."""


SEQUENCES = {
    "list": lambda x, y: [x, y],
    "tuple": lambda x, y: (x, y),
    "named tuple": Pair,
    "class of its own": lambda x, y: OwnList([x, y]),
}
X, V = np.array([0.5, 2.0]), np.array([1.0, -3.0])


@pytest.mark.parametrize("function", [np.stack, np.concatenate, np.hstack, np.vstack, np.column_stack])
@pytest.mark.parametrize("kind", SEQUENCES)
def test_a_sequence_of_any_class_holds_operands(kind, function):
    def f(x):
        return np.sum(function(SEQUENCES[kind](x, x * x)) ** 2)

    assert np.allclose(grad(f)(X), 2 * X + 4 * X**3)
    assert np.allclose(jvp(f, (X,), (V,))[1], V @ (2 * X + 4 * X**3))
    assert np.allclose(hvp(f, (X,), (V,)), (2 + 12 * X**2) * V)
    assert np.allclose(taylor(lambda t: f(X + t * V), 0.0, 2)[2], V @ ((2 + 12 * X**2) * V) / 2)


# Where a function is linear in its only number, all levels of the number take the same map.

C = np.array([0.7, -0.4])
MASK = np.array([True, False])

LINEAR = {
    "reshape": lambda x: np.reshape(x, (2, 1)),
    "transposed view": lambda x: np.transpose(np.reshape(x, (2, 1))),
    "sum": np.sum,
    "mean": lambda x: np.mean(x, keepdims=True),
    "max": np.max,
    "where": lambda x: np.where(MASK, x, C),
    "where on the right": lambda x: np.where(MASK, C, x),
    "clip": lambda x: np.clip(x, -0.4, 0.9),
    "concatenate": lambda x: np.concatenate([C, x]),
    "stack": lambda x: np.stack([x, C], axis=1),
    "einsum": lambda x: np.einsum("i,j->ij", C, x),
    "dot": lambda x: np.dot(x, C),
    "solve": lambda x: np.linalg.solve(np.array([[2.0, 1.0], [0.5, 3.0]]), x),
    "real part": lambda x: np.real((1.0 + 2.0j) * x),
    "fft": lambda x: np.abs(np.fft.fft(x)),
}


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", LINEAR)
def test_all_levels_of_a_number_take_the_same_map(name):
    def f(x):
        y = LINEAR[name](x * x + x)
        return np.sum(y * y * y) + np.sum(np.sin(LINEAR[name](y * 0.5 if np.shape(y) == (2,) else x)))

    check_grads(f, (X,), order=3)


def test_a_constant_that_the_maps_read_may_be_overwritten():
    def f(x):
        buffer, y = np.empty(2), 0.0
        for k in (1.0, 2.0):
            buffer[:] = k * C
            y = y + np.dot(buffer, x) ** 3 + np.sum(np.einsum("i,j->ij", buffer, x)) ** 2
        return y

    check_grads(f, (X,), order=3)
    assert np.allclose(jvp(grad(f), (X,), (V,))[1], grad(lambda x: grad(f)(x) @ V)(X))


def test_an_operand_whose_values_the_maps_read_may_be_overwritten():
    def f(x):
        y = x * x
        largest = np.max(y)
        y[0] = 7.0 * y[1]
        return largest**2 * np.sum(np.clip(y, 1.0, 5.0) ** 3)

    check_grads(f, (X,), order=3)


@pytest.mark.parametrize(
    "largest", [np.max, lambda y: np.sum(np.clip(y, 1.0, 50.0) * y), lambda y: np.sum(np.maximum(y, 2.0))]
)
def test_an_outer_program_may_overwrite_what_an_inner_recording_has_compared(largest):
    def overwritten(x):
        y = x * x
        _, pullback = vjp(largest, y)
        y[0] = 100.0
        return pullback(1.0)[0] @ x**2 + np.sum(y[1:])

    def copied(x):
        y = x * x
        return vjp(largest, y * 1.0)[1](1.0)[0] @ x**2 + np.sum(y[1:])

    assert np.array_equal(grad(overwritten)(X), grad(copied)(X))
