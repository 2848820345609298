"""Choices between operands: `clip` is `maximum` and then `minimum`, also where it is one operation, and ties share."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, hvp, jacfwd, jacrev, jvp, vjp
from shiftreset_ad.rules import masked
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


SMALL_OPERANDS = [
    *(0.0, -0.0, 2.5, 3, np.nan, np.float64(1.5), np.float32(1.5)),
    *(np.array([1.0, -0.0, np.nan, 4.0]), np.arange(4), np.arange(4, dtype=np.float32), np.arange(8.0)[::2]),
    *(
        np.arange(16.0).reshape(4, 4),
        np.arange(16.0).reshape(4, 4).T,
        np.array(2.0),
        np.array([7.0]),
        np.zeros((2, 1, 4)),
    ),
]
SMALL_MASKS = [
    *(np.array([True, False, True, False]), np.array([0, 1, 0, 2]), np.array([[True], [False]])[:, :, None]),
    *(np.array(True), True, [True, False, False, True], np.tri(4, dtype=bool), np.tri(4, dtype=bool).T),
]


@pytest.mark.parametrize("condition", SMALL_MASKS)
def test_what_stands_for_where_has_the_bits_the_type_and_the_layout_of_where(condition):
    for x, y in product(SMALL_OPERANDS, repeat=2):
        expected, found = np.where(condition, x, y), choosing.chosen_of(condition, x, y)
        assert type(found) is type(expected)
        assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
        assert found.tobytes() == expected.tobytes()
        assert not any(np.may_share_memory(found, operand) for operand in (x, y))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [4, 40, 400])
@pytest.mark.parametrize("seed", range(10))
def test_choices_of_choices_with_ties_go_back_as_they_go_forward(size, dtype, seed):
    """Values of few levels tie often. Forward mode multiplies by shares; reverse mode halves in place, under masks."""
    rng = np.random.default_rng(seed)

    def levels(*shape):
        return rng.integers(0, 4, shape).astype(dtype)

    masks, constants, kinds = rng.random((8, size)) < 0.6, levels(8, size), rng.integers(0, 6, 8)

    def f(x):
        for mask, c, kind in zip(masks, constants, kinds, strict=True):
            steps = [
                lambda x, m=mask, c=c: np.where(m, x, c),
                lambda x, m=mask: np.where(m, 1.0, x),
                lambda x, c=c: np.maximum(x, c),
                lambda x, c=c: np.fmin(c, x) + np.minimum(x, 2.0),
                lambda x: np.clip(x, 1.0, 2.0) + x,
                lambda x, c=c: np.clip(x, c, c[::-1]),
            ]
            x = steps[kind](x)
        return x

    x, v, w = levels(size), rng.integers(-8, 8, size).astype(dtype), rng.integers(-8, 8, size).astype(dtype)
    _, y_dot = jvp(f, (x,), (v,))
    _, pullback = vjp(f, x)
    (x_bar,) = pullback(w)
    assert x_bar.dtype == dtype
    np.testing.assert_allclose(np.sum(y_dot * w), np.sum(x_bar * v), rtol=1e-12)  # few bits, so no sum is rounded
    np.testing.assert_array_equal(x_bar, [jvp(f, (x,), (e,))[1] @ w for e in np.eye(size, dtype=dtype)])
    second = hvp(lambda x: np.sum(f(x) ** 2 * w), (x,), (v,))
    np.testing.assert_allclose(second, 2.0 * pullback((y_dot * w).astype(dtype))[0], rtol=1e-12)


@pytest.mark.parametrize("size", [4, 1000])
def test_clip_between_bounds_of_more_dimensions_halves_at_ties(size):
    x = np.linspace(0.0, 1.0, size)
    lowest, highest = np.stack([np.full(size, 0.1), np.roll(x, 1)]), x.copy()
    for bounds in ((lowest, 2.0), (lowest - 2.0, 1.0), (0.0, lowest + 3.0), (0.0, lowest + highest)):
        f = lambda x, bounds=bounds: np.clip(x, *bounds)  # noqa: E731
        (x_bar,) = vjp(f, x)[1](np.ones((2, size)))
        by_ufuncs = vjp(lambda x, b=bounds: np.minimum(np.maximum(x, b[0]), b[1]), x)[1](np.ones((2, size)))
        np.testing.assert_array_equal(x_bar, by_ufuncs[0])


@pytest.mark.parametrize("size", [3, 300])
def test_largest_elements_of_rows_that_count_in_part(size):
    """As many elements are chosen as rows count, but of another shape."""
    x = np.arange(2.0 * size).reshape(2, size) + 1.0
    for counts in (np.array([[True], [False]]), np.array([[True], [True]])):
        gradient = grad(lambda x, c=counts: np.sum(np.where(c, np.max(x, axis=1, keepdims=True), 0.0) * [2.0, 3.0]))(x)
        expected = np.zeros((2, size))
        expected[:, -1:] = 5.0 * counts
        np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("size", [4, 1000])
def test_what_was_chosen_already_is_not_chosen_again(size, monkeypatch):
    """The way back through choices of the same elements selects once, whatever the functions."""
    selections = []
    for name in ("selected", "PUT"):
        usual = getattr(masked, name)
        monkeypatch.setattr(masked, name, lambda *args, f=usual: selections.append(f) or f(*args))
    x = np.linspace(-1.0, 1.0, size)

    def f(x):
        y = np.where(x > 0, x, 0.5)
        return np.where(x > 0, np.maximum(np.where(x > 0, -y, 0.0), -2.0), 1.0)

    gradient = grad(lambda x: np.sum(f(x)))(x)
    assert len(selections) <= 2  # `selected` itself may write by `PUT`
    np.testing.assert_array_equal(gradient, -1.0 * (x > 0))
