"""Plain arrays that the program writes to after an operation has used them."""

import numpy as np
import pytest

from shiftreset_ad import ControlError, grad
from shiftreset_ad.constants import SMALL

CHANGES = {
    "multiply": lambda x, buffer: np.sum(x * buffer),
    "reflected": lambda x, buffer: np.sum(buffer * x),
    "ufunc": lambda x, buffer: np.sum(np.power(x, buffer)),
    "divide": lambda x, buffer: np.sum(x / buffer),
    "matmul": lambda x, buffer: x @ buffer,
    "rmatmul": lambda x, buffer: buffer @ x,
    "dot": lambda x, buffer: np.dot(x, buffer),
    "inner": lambda x, buffer: np.inner(buffer, x),
    "tensordot": lambda x, buffer: np.tensordot(x, buffer, 1),
    "einsum": lambda x, buffer: np.einsum("i,i->", x, buffer),
    "outer": lambda x, buffer: np.sum(np.outer(x, buffer)),
    "where": lambda x, buffer: np.sum(np.where(buffer > 2.5, x, 2 * x)),
    "maximum": lambda x, buffer: np.sum(np.maximum(x, buffer)),
    "mask": lambda x, buffer: np.sum(x[buffer > 2.5]),
    "indices": lambda x, buffer: np.sum(x[buffer.astype(int) % len(buffer)]),
}


def refilled(use, n, writes=True):
    """A program that uses one buffer three times over, or a fresh one each time."""

    def f(x):
        buffer = np.zeros(n)
        total = 0.0
        for k in range(3):
            if not writes:
                buffer = np.zeros(n)
            buffer[:] = np.arange(n) % 3 + k + 1
            total = total + use(x, buffer)
        return total

    return f


@pytest.mark.parametrize("use", CHANGES.values(), ids=CHANGES.keys())
def test_a_small_buffer_can_be_refilled(use):
    x = np.array([0.5, 1.5, 2.5])
    np.testing.assert_array_equal(grad(refilled(use, 3))(x), grad(refilled(use, 3, writes=False))(x))


def test_a_mask_array_can_be_refilled():
    def f(x):
        mask = np.array([True, False])
        y = np.where(mask, x, 0.0)
        z = x[mask]
        mask[:] = True
        return np.sum(y) + np.sum(z)

    np.testing.assert_array_equal(grad(f)(np.ones(2)), [2.0, 0.0])


@pytest.mark.parametrize("name", ["multiply", "reflected", "divide", "matmul", "dot", "einsum", "maximum"])
def test_a_large_buffer_that_is_refilled_is_an_error_that_names_the_remedy(name):
    n = SMALL + 1
    with pytest.raises(ControlError, match=rf"shape \({n},\).*written to.*x \* array.copy\(\)"):
        grad(refilled(CHANGES[name], n))(np.ones(n))
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_a_large_array_that_is_left_alone_is_none():
    n = SMALL + 1
    x, c = np.full(n, 2.0), np.full(n, np.nan)
    c[1:] = 3.0
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * c))(x), c)


def test_an_addition_needs_no_old_values():
    n = SMALL + 1
    np.testing.assert_array_equal(grad(refilled(lambda x, buffer: np.sum(x + buffer), n))(np.ones(n)), np.full(n, 3.0))


@pytest.mark.parametrize("n", [2, SMALL + 1])
def test_an_argument_that_is_written_to_inside_is_an_error(n):
    argument = np.ones(n)

    def f(x):
        y = np.sum(x * x)
        argument[:] = 5.0
        return y

    with pytest.raises(ControlError, match="written to"):
        grad(f)(argument)


def test_an_inner_derivative_looks_after_its_own_constants():
    def f(x):
        buffer = np.array([1.0, 2.0])

        def inner(t):
            y = np.sum(t * t * buffer * x)
            buffer[:] = 0.0
            return y

        return np.sum(grad(inner)(np.array([1.0, 1.0])))

    np.testing.assert_array_equal(grad(f)(np.array([3.0, 4.0])), [2.0, 4.0])
