"""The transpose of broadcasting: sums along the axes along which an array was broadcast."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import elementwise_grad, grad, staged, vjp
from shiftreset_ad.rules.broadcasting import unbroadcast

MANY = 2000  # rows; a product would take less time than NumPy's sum


def shapes_broadcast_to(given: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for added in range(len(given) + 1):
        for stretched in itertools.product([False, True], repeat=len(given) - added):
            yield tuple(1 if one else size for one, size in zip(stretched, given[added:], strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble, complex])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("given", [(7,), (4, 3), (1, 5, 2), (3, 1, 4), (2, 3, 4, 5)])
def test_each_sum_is_that_of_numpy(given: tuple[int, ...], order: Any, dtype: Any) -> None:
    y_bar = np.array(np.random.default_rng(0).integers(-9, 9, size=given), dtype, order=order)
    for shape in shapes_broadcast_to(given):
        added = len(given) - len(shape)
        axes = (*range(added), *(i for i in range(added, len(given)) if shape[i - added] != given[i]))
        found = unbroadcast(y_bar, shape)
        assert np.shape(found) == shape
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.sum(y_bar, axis=axes, keepdims=True).reshape(shape))


@pytest.mark.parametrize("size", [3, MANY + 1])
def test_an_operand_with_more_axes_gets_them_back(size: int) -> None:
    """As the item of `a[:] = item`, where a write leaves out first axes of size 1."""
    y_bar = np.arange(2.0 * size).reshape(2, size)
    np.testing.assert_array_equal(unbroadcast(y_bar, (1, 1, 2, size)), y_bar[None, None])
    np.testing.assert_array_equal(unbroadcast(y_bar, (1, 1, size)), y_bar.sum(0)[None, None])
    np.testing.assert_array_equal(unbroadcast(y_bar, (1, 2, 1)), y_bar.sum(1)[None, :, None])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_where_it_is(value: float) -> None:
    y_bar = np.ones((MANY, 4))
    y_bar[3, 2] = value
    np.testing.assert_array_equal(unbroadcast(y_bar, (4,)), [MANY, MANY, value, MANY])
    rows = np.full((MANY, 1), 4.0)
    rows[3] = value
    np.testing.assert_array_equal(unbroadcast(y_bar, (MANY, 1)), rows)


def test_bits_do_not_depend_on_the_number_of_directions_nor_on_staging() -> None:
    rng = np.random.default_rng(0)
    w, shift, x = rng.normal(size=20), rng.normal(size=20), rng.normal(size=MANY)

    def network(x: Any) -> Any:
        return np.tanh(np.multiply.outer(x, w) + shift) @ w

    slope = elementwise_grad(network)(x)  # it compares with what the cotangents of some elements alone give
    _, pullback = vjp(network, x)
    np.testing.assert_array_equal(slope, pullback(np.ones(MANY))[0])
    recorded = staged(elementwise_grad(network))
    for _ in range(3):
        np.testing.assert_array_equal(slope, recorded(x))


def test_the_gradient_of_a_bias() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(3 * MANY, 4)), rng.normal(size=(4, 4))

    def loss(b: Any) -> Any:
        return np.sum(np.tanh(x @ w + b) ** 2)

    b, step = rng.normal(size=4), 1e-6
    numeric = [(loss(b + step * e) - loss(b - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(grad(loss)(b), numeric, rtol=1e-6)
