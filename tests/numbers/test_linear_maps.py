"""Structured operations by their linear maps: where their operands may be."""

from collections import namedtuple

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, jvp, taylor

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
