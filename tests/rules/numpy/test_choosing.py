"""Choices between operands: `clip` is `maximum` and then `minimum`, also where it is one operation, and ties share."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, hvp, jacfwd, jacrev, jvp, vjp
from shiftreset_ad.rules.numpy import choosing

SPECIAL = [np.nan, -np.inf, np.inf, -1.0, -0.0, 0.0, 0.5, 1.0]
TRIPLES = np.array(list(product(SPECIAL, repeat=3))).T  # an operand and its bounds, also with the bounds exchanged
WEIGHTS = np.linspace(-2.0, 3.0, TRIPLES.shape[1])

pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


def in_two_steps(a, lowest, highest):
    return np.minimum(np.maximum(a, lowest), highest)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("bounds", [TRIPLES[1:], (0.0, 1.0), (1.0, 0.0), (0.5, 0.5), (np.nan, 1.0), (-np.inf, np.inf)])
def test_clip_is_a_maximum_and_a_minimum(bounds, order):
    """With the same values, tangents and gradients, at ties of the operand with one bound and with both."""
    a = TRIPLES[0]

    def derivatives(clip):
        def f(x):
            return clip(x, *bounds) * WEIGHTS

        def g(x):
            return np.sum(f(x) * x)

        if order == 1:
            return *jvp(f, (a,), (WEIGHTS,)), grad(lambda x: np.sum(f(x)))(a), *vjp(f, a)[1](WEIGHTS)
        return hvp(g, (a,), (WEIGHTS,)), grad(lambda x: np.sum(grad(g)(x) * WEIGHTS))(a)

    for found, expected in zip(derivatives(np.clip), derivatives(in_two_steps), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_clip_between_lists_that_cross_in_one_place(kind):
    """There the answer is the upper bound, whatever the operand."""
    x, lowest, highest = np.array([0.2, 0.4]), kind([0.0, 0.5]), kind([1.0, 0.4])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.clip(x, lowest, highest)))(x), [1.0, 0.0])


@pytest.mark.parametrize("by_name", [False, True])
def test_bounds_of_clip_may_change_after_the_call(by_name):
    """They become bounds that each element ties with, and shares its derivative with, if they are read too late."""
    x = np.array([0.5, 0.6, 0.7])

    def loss(x):
        lowest, highest = np.zeros(3), np.ones(3)
        y = np.clip(x, min=lowest, max=highest) if by_name else np.clip(x, lowest, highest)
        lowest[:] = highest[:] = [0.5, 0.6, 0.7]
        return np.sum(y**2)

    np.testing.assert_array_equal(grad(loss)(x), 2 * x)
    np.testing.assert_array_equal(hessian(loss)(x), 2 * np.eye(3))
    np.testing.assert_array_equal(hvp(loss, (x,), (x,)), 2 * x)


def test_clip_of_many_elements_along_all_directions():
    x = np.linspace(-1.0, 2.0, 300)
    expected = np.diag(np.where((x > 0) & (x < 1), 1.0, 0.0))
    expected[x == 0, x == 0] = expected[x == 1, x == 1] = 0.5
    for jacobian in (jacfwd, jacrev):
        np.testing.assert_array_equal(jacobian(lambda x: np.clip(x, 0.0, 1.0))(x), expected)
    np.testing.assert_allclose(
        hessian(lambda x: np.sum(np.clip(x, 0.0, 1.0) ** 2))(x[50:150]), 2 * expected[50:150, 50:150] ** 2
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_clip_keeps_the_precision(dtype):
    x = np.array([-1, 0, 0.25, 1, 2], dtype)
    gradient = grad(lambda x: np.sum(np.clip(x, 0.0, 1.0)))(x)
    assert gradient.dtype == dtype
    assert gradient.tolist() == [0.0, 0.5, 1.0, 0.5, 0.0]


def test_the_bounds_may_change_after_the_call():
    def f(x):
        lowest = np.zeros(3)
        y = np.clip(x, lowest, 1.0)
        lowest += 0.75
        return np.sum(y)

    assert grad(f)(np.array([-0.5, 0.25, 2.0])).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("function", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_both_operands_get_their_shares_of_special_values(function):
    a, b = TRIPLES[:2]
    found = grad(lambda a, b: np.sum(function(a, b) * WEIGHTS), (0, 1))(a, b)
    y = function(a, b)
    for derivative, x, other in zip(found, (a, b), (b, a), strict=True):
        np.testing.assert_array_equal(derivative, np.where(x == other, 0.5, x == y) * WEIGHTS)
    tangent = jvp(lambda a, b: function(a, b), (a, b), (WEIGHTS, 2 * WEIGHTS))[1]
    np.testing.assert_array_equal(tangent, found[0] + 2 * found[1])


@pytest.mark.parametrize("size", [4, 1000])
def test_an_infinite_cotangent_of_what_was_not_chosen_does_not_count(size):
    x = np.linspace(-1.0, 1.0, size)
    for clipped in (lambda x: np.clip(x, 0.0, 2.0), lambda x: np.maximum(x, 0.0), lambda x: np.where(x > 0, x, 0.0)):
        gradient = grad(lambda x, clipped=clipped: np.sum(np.sqrt(clipped(x))))(x)
        np.testing.assert_array_equal(gradient[x < 0], 0.0)
        np.testing.assert_allclose(gradient[x > 0], 0.5 / np.sqrt(x[x > 0]))


@pytest.mark.parametrize("few", [0, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
@pytest.mark.parametrize("zero", [0.0, -0.0, 0, 1.0, np.float64(0.0), np.zeros(12)])
def test_a_choice_beside_zero_has_the_bits_of_numpys(zero, dtype, few, monkeypatch):
    monkeypatch.setattr(choosing, "FEW", few)
    values = np.array([np.nan, -np.inf, np.inf, -1.0, -0.0, 0.0] * 2 if dtype != np.int64 else range(12), dtype)
    condition = np.arange(12) < 6
    for mask, x in ((condition, values), (condition.reshape(3, 4).T, values.reshape(4, 3)), (condition[0], values)):
        beside = zero.reshape(x.shape) if isinstance(zero, np.ndarray) else zero
        for found, expected in (
            (choosing.or_zero(mask, beside, x), np.where(mask, beside, x)),
            (choosing.or_zero(mask, x, beside), np.where(mask, x, beside)),
        ):
            assert found.dtype == expected.dtype
            assert found.strides == expected.strides
            assert found.tobytes() == expected.tobytes()
