"""Functions that call a function for parts of an array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from shiftreset_ad import grad
from tests.rules.three_ways import check, check_call, check_values, every_call, examples, generators

few = settings(examples, max_examples=15)

# For each function, calls of it, each with the shapes of its operands.
CASES = {
    np.apply_along_axis: [
        (lambda a: np.apply_along_axis(np.sum, 0, a), (2, 3)),
        (lambda a: np.apply_along_axis(lambda row: row * row[0], -1, a), (2, 3)),
        (lambda a: np.apply_along_axis(lambda row: row[:, None] * row, 1, a), (2, 3, 2)),
        (lambda a: np.apply_along_axis(lambda row, c, d: c * row[1:] + d, 0, a, 2.0, d=1.0), (3, 2)),
        (lambda a: np.apply_along_axis(lambda row: [row[0], 1.0, row[0] * row[1]], 0, a), (3, 2)),
        (lambda a: np.apply_along_axis(np.cumsum, 0, a), (3,)),
        (lambda a, b: np.apply_along_axis(lambda row: row * b, 1, a), (2, 3), (3,)),
        (lambda a: np.apply_along_axis(lambda row: row[:0], 1, a), (2, 3)),
        (lambda a: a + np.apply_along_axis(lambda row: 2.0, 1, a)[:, None], (2, 3)),
    ],
    np.apply_over_axes: [
        (lambda a: np.apply_over_axes(np.sum, a, [0, -1]), (2, 3, 2)),
        (lambda a: np.apply_over_axes(np.mean, a, 1), (2, 3)),
        (lambda a: np.apply_over_axes(np.cumsum, a, (0, 1)), (2, 3)),
        (lambda a: np.apply_over_axes(lambda a, axis: np.sum(a * a, axis, keepdims=True), a, (0, 1)), (2, 3)),
        (lambda a: np.apply_over_axes(np.sum, a, ()), (2, 3)),
    ],
}


@every_call(CASES)
def test_three_ways(f, shapes, seed):
    check_call(f, shapes, seed)


@few
@given(shape=array_shapes(max_dims=3, max_side=3), data=st.data(), generator=generators)
def test_axes_at_random(shape, data, generator):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    several = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1)))
    for f in (
        lambda a: np.apply_along_axis(lambda row: np.stack([row * row, np.sin(row)]), axis, a),
        lambda a: np.apply_along_axis(np.prod, axis, a),
        lambda a: np.apply_over_axes(np.sum, a, several),
    ):
        check(f, generator.uniform(-1.0, 1.0, shape), generator=generator, dtypes=False)


def test_the_first_answer_says_what_all_are_like():
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)

    def first_in_single(row):
        return row * row if row[0] == 1.0 else row.astype(float) * row[0]

    check_values(lambda a: np.apply_along_axis(first_in_single, 1, a), x)
    check_values(lambda a: np.apply_along_axis(lambda row: row if row[0] == 1.0 else row[0], 1, a), x)

    def sometimes_an_integer(row):
        return 0 if row[0] == 1.0 else row[0] * row[1]

    with pytest.raises(TypeError, match=r"numpy\.apply_along_axis: the first answer .*int64.* always return floats"):
        grad(lambda a: np.sum(np.apply_along_axis(sometimes_an_integer, 1, a)))(x)


def test_answers_without_a_derivative():
    x = np.array([[1.0, 2.0], [4.0, 3.0]])

    def f(a):
        places = np.apply_along_axis(np.argmax, 1, a)
        assert type(places) is np.ndarray
        np.testing.assert_array_equal(places, [1, 0])
        return np.sum(np.take_along_axis(a, places[:, None], 1))

    np.testing.assert_array_equal(grad(f)(x), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda a: np.apply_along_axis(np.sum, 2, a), np.exceptions.AxisError),
        (lambda a: np.apply_along_axis(np.sum, 0, a[:, :0]), ValueError),
        (lambda a: np.apply_along_axis(lambda row: row[:1] if row[0] == 1.0 else row, 1, a), ValueError),
        (lambda a: np.apply_over_axes(lambda a, axis: np.sum(a), a, 0), ValueError),
        (lambda a: np.apply_over_axes(np.sum, a, 2), np.exceptions.AxisError),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call, error):
    x = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    with pytest.raises(error):
        call(x)
    with pytest.raises(error):
        grad(lambda a: np.sum(call(a)))(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.frompyfunc(lambda x: x * x, 1, 1)(x),
        lambda x: np.apply_along_axis(lambda row: row * x, 0, np.ones((2, 2))),
        lambda x: np.nditer(x),
    ],
)
def test_functions_that_numpy_does_not_dispatch_make_no_constants(call):
    """They fail, or give an array of objects, which goes on computing with numbers."""
    found, message = None, ""
    try:
        found = grad(lambda x: np.sum(call(x)) * 1.0)(3.0)
    except (TypeError, NotImplementedError) as error:
        message = str(error)
    assert found in (4.0, 6.0) or "shiftreset_ad" in message
    assert grad(lambda x: x * x)(3.0) == 6.0
