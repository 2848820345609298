"""Constants have a name each, and share it where they have the same elements."""

import numpy as np

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native.constants import SHORT, Constants
from tests.staging.native.natively import check, native, needs_native

RNG = np.random.default_rng(0)
A = RNG.normal(size=(6, 5))


def test_short_arrays_that_are_equal_share_a_number():
    constants = Constants()
    assert [constants.number(x) for x in (A, A.copy(), A.T, A.T.copy(), A + 1.0, A.copy())] == [0, 0, 1, 2, 3, 0]
    assert constants.arrays[0] is A
    assert len(constants.arrays) == 4


def test_bits_types_shapes_and_orders_tell_arrays_apart():
    zeros = np.zeros(4)
    others = [-zeros, zeros.astype(np.int64), zeros.reshape(2, 2), np.zeros((2, 2), order="F"), zeros[:3]]
    constants = Constants()
    assert [constants.number(x) for x in (zeros, *others)] == list(range(6))


def test_long_arrays_share_a_number_if_they_begin_at_one_element():
    long = RNG.normal(size=(SHORT, 2))
    constants = Constants()
    assert [constants.number(x) for x in (long, long.T, long.copy(), long[1:], long[:SHORT])] == [0, 0, 1, 2, 0]
    assert len(constants.arrays) == 3


@needs_native
def test_a_derivative_that_is_taken_many_times_names_what_it_sees_once():
    slope = grad(lambda w: np.sum(np.tanh(A @ w) ** 2))

    def descent(w):
        for _ in range(20):
            w = w - 0.1 * slope(w)
        return w

    code = check(descent, (RNG.normal(size=5),), (np.ones(5),))
    assert code.text.count("external global i8\n@constant") <= 3
    assert native(descent, np.ones(5)).text == code.text


def test_a_plain_array_that_changes_is_another_constant():
    def f(x):
        buffer = np.ones((3, 2))
        y = x * buffer.T
        buffer[0, 1] = 5.0
        return y + x * buffer.T * 2.0

    x = RNG.normal(size=(2, 3))
    g = staged(f)
    for _ in range(4):
        assert np.array_equal(g(x), f(x))
