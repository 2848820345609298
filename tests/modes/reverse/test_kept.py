"""Plain arrays that the program writes to after an operation has used them."""

import array
import tempfile
import tracemalloc
import warnings
import weakref
from collections import deque

import numpy as np
import pytest

from shiftreset_ad import ControlError, grad
from shiftreset_ad.modes.reverse.kept import SMALL, TINY, frozen
from shiftreset_ad.modes.reverse.number import ReverseTag
from shiftreset_ad.numbers.plain_arrays import is_read_only

CHANGES = {
    "multiply": lambda x, buffer: np.sum(x * buffer),
    "reflected": lambda x, buffer: np.sum(buffer * x),
    "ufunc": lambda x, buffer: np.sum(np.power(x, buffer)),
    "divide": lambda x, buffer: np.sum(x / buffer),
    "matmul": lambda x, buffer: x @ buffer,
    "rmatmul": lambda x, buffer: buffer @ x,
    "dot": lambda x, buffer: np.dot(x, buffer),
    "inner": lambda x, buffer: np.inner(x, buffer),
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


@pytest.mark.parametrize("name", sorted(set(CHANGES) - {"outer"}))
def test_a_large_buffer_can_be_refilled(name):
    n = SMALL + 1
    use, x = CHANGES[name], np.linspace(0.5, 2.5, n)
    np.testing.assert_array_equal(grad(refilled(use, n))(x), grad(refilled(use, n, writes=False))(x))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.float32, float, np.longdouble, np.complex64, complex])
def test_a_single_element_of_a_large_array_that_changes(dtype):
    n = SMALL + 1

    def f(x):
        total, buffer = 0.0, np.zeros(n, dtype)
        for k in range(3):
            buffer[7 * k + 1] = 1
            total = total + np.sum(np.real(x * buffer))
        return total

    expected = np.zeros(n)
    expected[[1, 8, 15]] = 3.0, 2.0, 1.0
    np.testing.assert_array_equal(grad(f)(np.ones(n)), expected)


def test_a_part_of_a_large_matrix_that_changes():
    def f(x):
        matrix, total = np.zeros((100, 200)), 0.0
        for k in range(3):
            part = matrix.T[: 2 * 41 : 2]
            part[k, k] = 1.0
            total = total + np.sum(part @ np.sin(x))
        return total

    expected = np.zeros(100)
    expected[:3] = 3.0, 2.0, 1.0
    np.testing.assert_array_equal(grad(f)(np.zeros(100)), expected)


def test_a_large_array_is_copied_once():
    n = 100_000
    c = np.ones(n)

    def f(x):
        for _ in range(20):
            x = x * c
        return np.sum(x)

    def peak():
        tracemalloc.start()
        try:
            grad(f)(np.ones(n))
            return tracemalloc.get_traced_memory()[1] / c.nbytes
        finally:
            tracemalloc.stop()

    assert peak() < 28  # 20 products and a few more
    c.flags.writeable = False
    assert not is_read_only(np.ones(3)[:2])
    assert is_read_only(c[5:])
    np.testing.assert_array_equal(grad(f)(np.ones(n)), 1.0)


@pytest.mark.parametrize("n", [TINY + 1, SMALL + 1])
def test_an_array_that_nobody_can_write_to_is_kept_as_it_is(n):
    tag, c = ReverseTag(), np.arange(n) / n
    view = c[:]
    view.flags.writeable = False
    assert frozen(c, tag) is not c
    assert frozen(view, tag) is not view  # the program can write to its memory
    c.flags.writeable = False
    assert frozen(c, tag) is c
    assert frozen(view, tag) is view
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.maximum(x * c, c)))(np.full(n, 2.0)), c)


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

    with pytest.raises(ControlError, match="wrote to an argument"):
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


class OfAnArray:
    """An object that NumPy's functions take for an array."""

    def __init__(self, elements):
        self.elements = np.array(elements)

    def __len__(self):
        return len(self.elements)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.elements, dtype)


def file_of(elements):
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=float, shape=(len(elements),))
    mapped[:] = elements
    return mapped


ARRAYS_TO_NUMPY = {
    "a subclass": lambda elements: np.array(elements).view(type("Subclass", (np.ndarray,), {})),
    "a file": file_of,
    "a masked array": np.ma.array,
    "objects": lambda elements: np.array(elements, object),
    "array.array": lambda elements: array.array("d", elements),
    "a memoryview": lambda elements: memoryview(np.array(elements)),
    "a deque": deque,
    "a list": list,
    "an object": OfAnArray,
}


@pytest.mark.parametrize("name", ["inner", "einsum", "tensordot", "outer"])
@pytest.mark.parametrize("make", ARRAYS_TO_NUMPY.values(), ids=ARRAYS_TO_NUMPY.keys())
def test_what_numpy_takes_for_an_array_can_be_refilled(make, name):
    function = CHANGES[name]

    def f(x, refills):
        total = 0.0
        for k in range(3):
            c = constant = make([1.0, 2.0, k + 0.5])
            total = total + function(x, constant) ** 2
            if refills:
                c = c.elements if isinstance(c, OfAnArray) else c
                c[1] = c[2] = 7.0
        return total

    expected = grad(lambda x: f(x, refills=False))(np.ones(3))
    np.testing.assert_array_equal(grad(lambda x: f(x, refills=True))(np.ones(3)), expected)


# Copies that operations share


def products(c, x, writes=None):
    for k in range(3):
        x = x * c
        if writes is not None:
            writes(k)
    return np.sum(x)


@pytest.mark.parametrize("n", [TINY + 1, SMALL, SMALL + 1])
def test_operations_on_an_array_that_does_not_change_share_one_copy(n):
    tag, c = ReverseTag(), np.arange(n) / n
    first = frozen(c, tag)
    assert first is not c
    assert frozen(c, tag) is frozen(c, tag) is first
    c[n // 2] = -0.0 if c[n // 2] == 0.0 else -c[n // 2]
    second = frozen(c, tag)
    assert second is not first
    assert frozen(c, tag) is second
    np.testing.assert_array_equal(second, c)
    assert first[n // 2] != second[n // 2]


@pytest.mark.parametrize("n", [TINY + 1, SMALL + 1])
def test_a_zero_that_changes_its_sign_is_a_change(n):
    tag, c = ReverseTag(), np.zeros(n)
    first, c[3] = frozen(c, tag), -0.0
    second = frozen(c, tag)
    assert second is not first
    assert np.signbit(second[3])


@pytest.mark.parametrize("n", [TINY + 1, SMALL + 1])
def test_an_array_that_is_gone_is_not_mixed_up_with_one_that_has_its_id(n):
    """The copies keep no array alive, so another array may have the id."""
    tag, c, d = ReverseTag(), np.ones(n), np.full(n, 2.0)
    first = frozen(c, tag)
    tag.copies[id(d)] = tag.copies.pop(id(c))
    second = frozen(d, tag)
    np.testing.assert_array_equal(second, 2.0)
    np.testing.assert_array_equal(first, 1.0)
    matrix = np.full((n, 1), 2.0)
    tag.copies[id(matrix)] = tag.copies[id(d)]
    assert frozen(matrix, tag).shape == (n, 1)


@pytest.mark.parametrize("n", [TINY + 1, SMALL + 1])
def test_neither_an_array_nor_its_copy_is_kept_alive(n):
    tag, c = ReverseTag(), np.ones(n)
    array, copy = weakref.ref(c), weakref.ref(frozen(c, tag))
    assert copy() is None
    np.testing.assert_array_equal(frozen(c, tag), 1.0)
    del c
    assert array() is None


@pytest.mark.parametrize("n", [TINY + 1, SMALL + 1])
def test_an_array_of_other_bits_in_the_same_memory_is_another(n):
    tag, c = ReverseTag(), np.arange(n) / n
    first = frozen(c, tag)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions of NumPy advise against this
        c.dtype = np.int64
    assert frozen(c, tag).dtype == np.int64
    assert first.dtype == np.float64


@pytest.mark.parametrize("n", [TINY + 1, SMALL + 1])
def test_a_constant_that_changes_and_changes_back(n):
    c, x = np.full(n, 2.0), np.ones(n)

    def f(x):
        return products(c, x, lambda k: c.fill((3.0, 2.0, 2.0)[k]))

    np.testing.assert_array_equal(grad(f)(x), np.full(n, 12.0))
