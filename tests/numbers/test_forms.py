"""The forms of calls: one for each rule and types of arguments, and what the types do not say is asked of each call."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, value
from shiftreset_ad.numbers.forms import FORMS

X, C = np.array([1.0, 2.0]), np.array([3.0, 5.0])


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (lambda x: np.dot(C, x), lambda x: np.dot(np.array([x[0], x[1]]), x)),
        (lambda x: np.concatenate([x, C]), lambda x: np.concatenate([x, np.array([x[0], x[1]])])),
        (lambda x: np.concatenate([x, C]), lambda x: np.concatenate([x, [x[0], 2.0]])),
        (lambda x: np.concatenate([x, C]), lambda x: np.concatenate([C, C]) * x[0]),
        (lambda x: np.dot(x, [1.0, 2.0]), lambda x: np.dot(x, [x[0], 2.0])),
        (lambda x: np.reshape(x, (2, 1)), lambda x: np.reshape(x, (np.int8(2), np.array(1)))),
        (lambda x: np.where([True, False], x, C), lambda x: np.where([x[0] > 5, False], x, C)),
        (lambda x: np.einsum("i,i->i", C, x), lambda x: np.einsum("i,i->i", [x[0], x[1]], x)),
        (lambda x: np.einsum("i,i->i", C, x), lambda x: np.einsum("i,i->i", np.array([x[0], x[1]]), x)),
    ],
)
def test_a_usual_call_and_then_an_unusual_call_with_arguments_of_the_same_types(first, then):
    """The second call has objects, or numbers in a list, where the first call has plain arrays and scalars."""
    weights = np.array([1.0, 10.0, 100.0, 1000.0])

    def weighted(f):
        return lambda x: np.sum(np.ravel(f(x)) * weights[: np.size(value(f(x)))])

    for f in (first, then, first):
        found, step = grad(weighted(f))(X), 1e-6
        for i, unit in enumerate(np.eye(2)):
            rise = weighted(f)(X + step * unit) - weighted(f)(X - step * unit)
            assert found[i] == pytest.approx(rise / (2 * step), rel=1e-6)


def test_the_newest_number_is_found_in_each_call():
    def f(x):
        def g(y):
            return np.sum(np.dot(x, y) * np.dot(y, x)) * 2 + np.sum(np.concatenate([y, x]) * np.concatenate([x, y])) * 2

        return np.sum(grad(g)(2.0 * x))  # of g(y) = 2 (x y)^2 + 4 x y, so 8 |x|^2 x + 4 x

    np.testing.assert_allclose(grad(f)(X), 16 * X * X.sum() + 8 * X @ X + 4)


def test_a_buffer_that_a_list_holds_may_change_after_the_call():
    def f(x):
        buffer = np.ones(2)
        y = np.einsum("i,i->i", buffer, x) + np.dot(buffer, x) + np.where(buffer > 0, x, 0.0)
        buffer[:] = -7.0
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(X), [4.0, 4.0])


def test_the_table_does_not_keep_a_class_of_the_users():
    class Vector(list):
        """A class of its own."""

    grad(lambda x: np.sum(np.dot(x, Vector([1.0, 2.0]))))(X)
    assert not any(Vector in key for key in FORMS)
