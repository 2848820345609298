from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.numpy.test_reductions import axes_of, distinct
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, examples, generators

INF, NAN = np.inf, np.nan


@st.composite
def ignoring(draw, function):
    """Of an array with NaNs among its elements, but in no line nothing else, and for `nanstd` two elements."""
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=3, max_side=4))
    options = {"axis": draw(axes_of(shape, tuples="cum" not in function.__name__))}
    if "cum" not in function.__name__:
        options["keepdims"] = draw(st.booleans())
        options["axis"] = None if options["axis"] == () else options["axis"]
    missing = np.zeros(shape, bool)
    if draw(st.booleans()):
        missing[(0,) * (len(shape) - 1) + (1,)] = True
    if function in (np.nanvar, np.nanstd):
        options["ddof"] = draw(st.sampled_from([0, 0.5]))
    return (lambda a: function(np.where(missing, NAN, a), **options)), shape


REDUCING = (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nancumsum, np.nancumprod)
EXTREMES = (np.nanmax, np.nanmin)
CASES = {
    **{function: ignoring(function) for function in REDUCING + EXTREMES},
    np.nan_to_num: st.sampled_from([(np.nan_to_num, ()), (lambda x: np.nan_to_num(x, nan=1.0), (2, 3))]),
}
some = settings(examples, max_examples=15)
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


@pytest.mark.parametrize("function", [*REDUCING, np.nan_to_num], ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_of_complex_numbers(function, data, generator):
    f, shape = data.draw(CASES[function])
    at_complex_points(f, distinct(shape, generator), generator=generator)


@pytest.mark.parametrize("function", REDUCING + EXTREMES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_the_derivative_is_that_without_the_missing_elements(function, dtype):
    x = np.array([3.0, NAN, 1.5, 2.0, NAN], dtype)
    valid = ~np.isnan(x)
    plain = getattr(np, function.__name__.removeprefix("nan"))
    found = grad(lambda x: np.sum(function(x) * 1.0))(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[~valid], 0.0)
    if "cum" not in function.__name__:
        np.testing.assert_allclose(found[valid], grad(lambda x: np.sum(plain(x)))(x[valid]), rtol=1e-3)
    value = grad(lambda x: (np.sum(x), function(x)), has_aux=True)(x)[1]
    expected = function(x)
    assert sr.value(value).dtype == expected.dtype
    np.testing.assert_allclose(sr.value(value), expected, rtol=1e-3)


@pytest.mark.parametrize("function", [np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin])
def test_where(function):
    x, where = np.array([[3.0, NAN, 1.5], [2.0, 4.0, 7.0]]), np.array([[True, True, True], [True, True, False]])
    options = {"axis": 1, "where": where} | (
        {"initial": 2.5} if function not in (np.nanmean, np.nanvar, np.nanstd) else {}
    )
    found = grad(lambda x: np.sum(function(x, **options)))(x)
    assert np.all(np.isfinite(found))
    assert found[0, 1] == found[1, 2] == 0.0
    value = grad(lambda x: (np.sum(x), function(x, **options)), has_aux=True)(x)[1]
    np.testing.assert_allclose(sr.value(value), function(x, **options))
    numbers = np.where(np.isnan(x), 9.0, x)
    plain = getattr(np, function.__name__.removeprefix("nan"))
    options["where"] = where & ~np.isnan(x)
    np.testing.assert_allclose(found, grad(lambda x: np.sum(plain(x, **options)))(numbers))


NOTHING = np.array([[NAN, NAN], [1.0, 3.0]])


@pytest.mark.parametrize(
    ("function", "warning", "row"),
    [
        (np.nansum, None, [0, 0]),
        (np.nanprod, None, [0, 0]),
        (np.nanmean, "Mean of empty slice", [0, 0]),
        (np.nanvar, "Degrees of freedom <= 0", [0, 0]),
        (np.nanstd, "Degrees of freedom <= 0", [0, 0]),
        (np.nanmax, "All-NaN slice", [NAN, NAN]),
        (np.nanmin, "All-NaN slice", [NAN, NAN]),
    ],
)
def test_all_nan(function, warning, row):
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        expected = function(NOTHING, axis=1)
        silent = len(caught)
        found, value = grad(lambda x: (np.sum(function(x, axis=1)), function(x, axis=1)), has_aux=True)(NOTHING)
    assert bool(silent) == bool(len(caught) - silent) == bool(warning)
    assert warning is None or warning in str(caught[-1].message)
    np.testing.assert_array_equal(sr.value(value), expected)
    np.testing.assert_array_equal(found[0], row)
    assert np.all(np.isfinite(found[1]))


def test_variance_without_degrees_of_freedom():
    x = np.array([[NAN, 2.0], [1.0, 3.0]])
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
        found = grad(lambda x: np.sum(np.nanvar(x, axis=1, ddof=1)))(x)
    assert np.isnan(found[0, 1])
    np.testing.assert_array_equal(found[1], [-2.0, 2.0])


def test_nan_variance_with_options():
    x = np.array([[NAN, 2.0, 3.0], [1.0, 3.0, 8.0]])
    mean = np.nanmean(x, axis=1, keepdims=True)
    found = grad(lambda x: np.sum(np.nanvar(x, axis=1, mean=mean, correction=1)))(x)
    np.testing.assert_allclose(found, grad(lambda x: np.sum(np.nanvar(x, axis=1, ddof=1)))(x), atol=1e-15)
    for function in (np.nanmean, np.nanvar):
        with pytest.raises(TypeError, match="dtype must be inexact"):
            grad(lambda x, function=function: function(x, dtype=int))(x)


# Replacement


def test_nan_to_num_replaces_values_and_derivatives():
    x = np.array([NAN, INF, -INF, 2.0, -0.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.nan_to_num(x)))(x), [0, 0, 0, 1, 1])

    def f(x, fill, top):
        return np.sum(np.nan_to_num(x, nan=fill, posinf=top, neginf=top) * [1.0, 10.0, 100.0, 1000.0, 10000.0])

    found = grad(f, argnums=(0, 1, 2))(x, 3.0, 5.0)
    np.testing.assert_array_equal(found[0], [0, 0, 0, 1000, 10000])
    assert found[1:] == (1.0, 110.0)
    for dtype in (np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128):
        typed = x.astype(dtype)
        for options in ({}, {"nan": 7.0, "posinf": np.float64(3.0), "neginf": [1, 2, 3, 4, 5]}):
            value = grad(lambda x, o=options: (np.sum(np.real(x)), np.nan_to_num(x, **o)), has_aux=True)(typed)[1]
            expected = np.nan_to_num(typed, **options)
            assert sr.value(value).dtype == expected.dtype
            np.testing.assert_array_equal(sr.value(value), expected)
    assert grad(np.nan_to_num)(NAN) == 0.0
    z = grad(lambda z: np.real(np.sum(np.nan_to_num(z))))(np.array([complex(NAN, 1.0), complex(1.0, INF)]))
    np.testing.assert_array_equal(z, [0, 1])


def test_nan_to_num_writes_where_it_is_told_to():
    def f(x):
        y = x * x
        z = np.nan_to_num(y[:2], copy=False, nan=7.0)
        return np.sum(y) + z[0]

    np.testing.assert_array_equal(grad(f)(np.array([np.nan, 2.0, 3.0])), [0.0, 4.0, 6.0])
    with pytest.raises(TypeError, match=r"numpy\.nan_to_num\(x, copy=False\): the memory of x is an argument"):
        grad(lambda x: np.sum(np.nan_to_num(x, copy=False)))(np.ones(2))


@pytest.mark.parametrize("function", [np.nanvar, np.nanstd, np.nansum, np.nanprod, np.nanmax, np.nanmin])
@pytest.mark.parametrize("axis", [0, -1])
def test_an_array_without_dimensions_has_a_first_axis_as_in_numpy(function, axis):
    def f(x):
        return function(x[0, ...] * 1.0, axis=axis) + x[0]

    x = np.array([2.0, 3.0])
    slope = 1.0 if function in (np.nanvar, np.nanstd) else 2.0
    assert function(np.array(2.0), axis=axis) + 2.0 == sr.value_and_grad(f)(x)[0]
    np.testing.assert_array_equal(sr.grad(f)(x), [slope, 0.0])
