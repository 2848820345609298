from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.rules.numpy.accumulations import (
    recurrence,
    recurrence_from_the_end,
    running_maximum,
    running_minimum,
    running_product,
)
from shiftreset_ad.rules.table import functions_of
from tests.rules.numpy.test_reductions import axes_of, distinct
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, check_values, examples, generators

NAN = np.nan


@st.composite
def running(draw, function):
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    axis = draw(axes_of(shape, tuples=False))
    return (lambda a: function(a, axis)), shape


@st.composite
def cumulative(draw, function):
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
    axis = draw(axes_of(shape, tuples=False))
    axis = 0 if axis is None and len(shape) > 1 else axis
    options = {"axis": axis, "include_initial": draw(st.booleans())}
    return (lambda x: function(x, **options)), shape


def along_the_last(function):
    shapes = array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=9)
    return shapes.map(lambda shape: (function, shape))


PRODUCTS = {
    np.cumprod: running(np.cumprod),
    running_product: along_the_last(lambda a: running_product(a)),
    **{function: cumulative(function) for function in functions_of("cumulative_sum", "cumulative_prod")},
}
EXTREMES = {
    running_maximum: along_the_last(lambda a: running_maximum(a)),
    running_minimum: along_the_last(lambda a: running_minimum(a)),
}
CASES = {**PRODUCTS, **EXTREMES}
some = settings(examples, max_examples=20)
few = settings(examples, max_examples=6)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@some
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, shape = data.draw(CASES[function])
    check(f, distinct(shape, generator), generator=generator)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_taylor(function, data, generator):
    f, shape = data.draw(CASES[function])
    check_taylor(f, distinct(shape, generator), generator=generator)


@pytest.mark.parametrize("function", PRODUCTS, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_of_complex_numbers(function, data, generator):
    f, shape = data.draw(CASES[function])
    at_complex_points(f, distinct(shape, generator), generator=generator)


@some
@given(shape=array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=9), generator=generators)
def test_recurrences(shape, generator):
    a, b = generator.normal(size=(2, *shape))
    forwards, backwards = np.zeros(shape), np.zeros(shape)
    for i in range(shape[-1]):
        forwards[..., i] = b[..., i] + (a[..., i] * forwards[..., i - 1] if i else 0.0)
        j = shape[-1] - 1 - i
        backwards[..., j] = b[..., j] + (a[..., j + 1] * backwards[..., j + 1] if i else 0.0)
    np.testing.assert_allclose(recurrence(a, b), forwards, atol=1e-13)
    np.testing.assert_allclose(recurrence_from_the_end(a, b), backwards, atol=1e-13)
    check(recurrence, a, b, generator=generator, dtypes=False)


def test_products_with_zeros():
    """To the second order, without a division."""
    generator = np.random.default_rng(0)
    np.testing.assert_array_equal(grad(lambda x: np.cumprod(x)[-1])(np.array([0.0, 2.0, 5.0])), [10, 0, 0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.cumprod(x)))(np.array([2.0, 0.0, 5.0])), [1, 12, 0])
    for x in (np.array([0.0, 2.0, 0.0, 3.0, 1.0]), np.zeros(4), np.arange(12.0).reshape(3, 4) % 3):
        check(lambda a: np.cumprod(a, axis=-1), x, generator=generator, dtypes=False)
        check(lambda a: np.cumprod(a), x, generator=generator, dtypes=False)
    hessian = sr.hessian(lambda x: np.cumprod(x)[2])(np.array([0.0, 2.0, 0.0]))
    np.testing.assert_array_equal(hessian, [[0, 0, 2], [0, 0, 0], [2, 0, 0]])


def test_long_products():
    x = np.random.default_rng(0).uniform(0.9, 1.1, 100_000)
    weights = np.sin(np.arange(x.size))
    products = np.cumprod(x)
    expected = np.cumsum((weights * products)[::-1])[::-1] / x
    np.testing.assert_allclose(grad(lambda x: np.sum(np.cumprod(x) * weights))(x), expected, rtol=1e-6, atol=1e-6)


def test_dtype_of_the_result():
    x = np.array([1.5, 2.0], np.float32)
    for function in (np.cumsum, np.cumprod):
        check_values(lambda a, f=function: f(a, dtype=np.float64), x)
        assert grad(lambda a, f=function: np.sum(f(a, dtype=np.float64)))(x).dtype == np.float32
        assert grad(lambda a, f=function: (a[0], f(a, dtype=int)), has_aux=True)(x)[1].dtype == int


def test_running_extremes_share_ties():
    """As `max` and `min` do: all those so far that tie share equally."""
    x = np.array([2.0, 1.0, 2.0, 2.0, 3.0])
    rows = sr.jacobian(lambda x: running_maximum(x))(x)
    thirds = [1 / 3, 0, 1 / 3, 1 / 3, 0]
    np.testing.assert_allclose(rows, [[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0], thirds, [0, 0, 0, 0, 1]])
    np.testing.assert_allclose(sr.jacobian(lambda x: running_minimum(x))(-x), rows)
    last = grad(lambda x: running_maximum(x)[-1])(np.array([2.0, 3.0, 3.0]))
    np.testing.assert_array_equal(last, grad(np.max)(np.array([2.0, 3.0, 3.0])))


def test_running_extremes_of_nan():
    found = grad(lambda x: np.sum(running_maximum(x)))(np.array([1.0, NAN, 2.0]))
    assert np.all(np.isnan(found))
    with pytest.raises(TypeError, match="order"):
        grad(lambda x: np.sum(np.real(running_maximum(x * 1j))))(np.ones(2))


@pytest.mark.parametrize("call", [lambda a: np.cumprod(a, axis=2), lambda a: np.cumprod(a[0, 0], axis=1)])
def test_wrong_axes_raise_as_in_numpy(call):
    x = np.ones((2, 2))
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(type(expected.value)):
        grad(lambda a: np.sum(call(a)))(x)


@pytest.mark.parametrize("function", functions_of("cumulative_sum", "cumulative_prod"), ids=lambda f: f.__name__)
def test_cumulative_functions_need_an_axis(function):
    with pytest.raises(ValueError, match="axis"):
        grad(lambda a: np.sum(function(a)))(np.ones((2, 2)))
