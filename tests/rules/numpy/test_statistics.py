from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.numpy.test_reductions import axes_of, distinct, reductions
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, check_values, examples, generators

INF, NAN = np.inf, np.nan
METHODS = {
    "interpolating": (
        *("linear", "hazen", "weibull", "interpolated_inverted_cdf"),
        *("median_unbiased", "normal_unbiased"),
    ),
    "jumping": (
        *("inverted_cdf", "averaged_inverted_cdf", "closest_observation"),
        *("lower", "higher", "midpoint", "nearest"),
    ),
}
ALL_METHODS = sum(METHODS.values(), ())


@st.composite
def averages(draw):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    axis, keepdims = draw(axes_of(shape)), draw(st.booleans())
    returned = draw(st.booleans())
    options = {"axis": axis, "keepdims": keepdims, "returned": returned}
    kind = draw(st.sampled_from(["none", "full", "axes"]))
    if kind == "none" or (axis is None and kind == "axes"):
        return (lambda a: np.average(a, **options)), shape
    axes = (axis,) if isinstance(axis, int) else axis
    weights_shape = shape if kind == "full" else tuple(shape[i] for i in axes)
    return (lambda a, w: np.average(a, weights=np.exp(w), **options)), shape, weights_shape


@st.composite
def covariances(draw, function):
    # Three numbers are often so nearly in a line with three others that the correlation is clipped at 1.
    rows, columns = draw(st.integers(1, 3)), draw(st.integers(4 if function is np.corrcoef else 3, 5))
    rowvar = draw(st.booleans())
    shape = draw(st.sampled_from([(columns,), (rows, columns) if rowvar else (columns, rows)]))
    if function is np.corrcoef:
        options = {"rowvar": rowvar}
    else:
        options = {"rowvar": rowvar, "bias": draw(st.booleans()), "ddof": draw(st.sampled_from([None, 0, 1]))}
        if draw(st.booleans()):
            options["fweights"] = draw(st.lists(st.integers(1, 3), min_size=columns, max_size=columns))
    weighed = function is np.cov and draw(st.booleans())
    if draw(st.booleans()):
        return (
            lambda m: function(m, **options, **({"aweights": np.arange(1.0, columns + 1)} if weighed else {}))
        ), shape
    if weighed:
        return (lambda m, y, w: function(m, y, aweights=np.exp(w), **options)), shape, shape, (columns,)
    return (lambda m, y: function(m, y, **options)), shape, shape


@st.composite
def quantiles(draw, function):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    method = draw(st.sampled_from(ALL_METHODS))
    options = {"axis": draw(axes_of(shape)), "keepdims": draw(st.booleans()), "method": method}
    q_shape = draw(st.sampled_from([(), (2,), (0,)] + ([(2, 2)] if function in (np.quantile, np.percentile) else [])))
    top = 100 if "percentile" in function.__name__ else 1
    if method in METHODS["interpolating"] and draw(st.booleans()):
        # Inside of (0, 1), and not where an element is met, for the shapes above.
        return (lambda a, u: function(a, top * (0.5123 + 0.041 * u), **options)), shape, q_shape
    q = draw(st.sampled_from([0.0, 0.25, 0.31, 0.5, 0.97, 1.0]))
    q = top * (q if q_shape == () else np.full(q_shape, q))
    if method == "inverted_cdf" and draw(st.booleans()):
        weights = np.random.default_rng(5).integers(1, 4, shape)
        return (lambda a: function(a, q, weights=weights, **options)), shape
    return (lambda a: function(a, q, **options)), shape


CASES = {
    np.average: averages(),
    np.cov: covariances(np.cov),
    np.corrcoef: covariances(np.corrcoef),
    np.ptp: reductions(np.ptp, min_side=1),
    **{function: reductions(function, min_side=1) for function in (np.median, np.nanmedian)},
    **{function: quantiles(function) for function in (np.quantile, np.percentile, np.nanquantile, np.nanpercentile)},
}
some = settings(examples, max_examples=25)
few = settings(examples, max_examples=6)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@some
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    # The correlation of evenly spaced numbers may be 1, at which it is clipped.
    drawn = generator.normal if function is np.corrcoef else lambda size: distinct(size, generator)
    check(f, *(drawn(size=shape) for shape in shapes), generator=generator)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_taylor(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    check_taylor(f, *(distinct(shape, generator) for shape in shapes), generator=generator)


@few
@given(data=st.data(), generator=generators)
@pytest.mark.parametrize("function", [np.average, np.cov, np.corrcoef], ids=lambda f: f.__name__)
def test_of_complex_numbers(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    real = tuple(range(1, len(shapes))) if function is np.average else (2,)
    at_complex_points(f, *(distinct(shape, generator) for shape in shapes), generator=generator, real=real)


def test_median_of_complex_numbers_is_in_their_order():
    z = np.array([2 + 1j, 1 - 3j, 2 - 1j])
    assert np.median(z) == 2 - 1j
    np.testing.assert_array_equal(grad(lambda z: np.real(np.median(z)))(z), [0, 0, 1])
    with pytest.raises(TypeError, match="real"):
        grad(lambda z: np.real(np.quantile(z, 0.5)))(z)
    with pytest.raises(TypeError, match="order"):
        grad(lambda z: np.real(np.ptp(z)))(z)


# Variance and standard deviation


@pytest.mark.parametrize("x", [np.ones(3), np.full(3, 0.1), np.full((2, 3), 1e-200), np.float64(2.0)])
def test_std_of_equal_elements_has_derivative_zero(x):
    """As |x| has at 0: it is the length of the deviations. Rounding may leave a deviation, which is none."""
    zero = np.zeros(np.shape(x))
    np.testing.assert_array_equal(grad(np.std)(x), zero)
    np.testing.assert_array_equal(grad(lambda x: np.sum(grad(np.std)(x) * np.cos(x)))(x), zero)
    np.testing.assert_array_equal(sr.jvp(np.std, (x,), (np.asarray(x) * 3.0,))[1], 0.0)
    np.testing.assert_array_equal(sr.hessian(np.std)(x), np.zeros(np.shape(x) * 2))
    assert np.all(grad(lambda x: np.where(True, np.sum(x), np.std(x)))(x) == 1.0)


def test_std_of_some_equal_rows():
    x = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 6.0]])
    generator = np.random.default_rng(0)
    found = grad(lambda x: np.sum(np.std(x, axis=1)))(x)
    np.testing.assert_array_equal(found[0], 0.0)
    np.testing.assert_allclose(found[1], grad(np.std)(x[1]))
    check(lambda row: np.std(np.stack([np.ones(3), row]), axis=1), x[1], generator=generator)
    masked = grad(lambda x: np.sum(np.std(x, axis=1, where=np.array([True, True, False]))))(x)
    np.testing.assert_allclose(masked, [[0, 0, 0], [-0.5, 0.5, 0]])


def test_std_is_smooth_about_another_mean():
    x = np.ones(3)
    np.testing.assert_allclose(grad(lambda x: np.std(x, mean=np.array([0.0])))(x), 1 / 3)
    np.testing.assert_array_equal(grad(lambda x: np.std(x, mean=np.array([1.0])))(x), 0.0)


def test_var_of_constants():
    np.testing.assert_array_equal(grad(np.var)(np.ones(3)), [0.0, 0.0, 0.0])
    assert grad(np.var)(2.0) == 0.0


@pytest.mark.parametrize("function", [np.var, np.std])
def test_too_few_degrees_of_freedom(function):
    for x in (2.0, np.array([2.0]), np.array([2.0, NAN])):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(invalid="ignore"):
            assert np.all(np.isnan(grad(lambda x: function(x, ddof=np.size(x)))(x)))


@pytest.mark.parametrize("function", [np.var, np.std])
@few
@given(data=st.data(), generator=generators)
def test_where_and_mean(function, data, generator):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, min_side=3, max_side=4))
    axis, keepdims = data.draw(axes_of(shape)), data.draw(st.booleans())
    where = generator.random(shape) < 0.7
    where[..., :2] = where[:2] = True  # two at least
    options = {"axis": axis, "keepdims": keepdims, "ddof": data.draw(st.sampled_from([0, 0.5]))}
    if axis == ():
        return
    xs = distinct(shape, generator)
    check(lambda a: function(a, where=where, **options), xs, generator=generator)
    mean_shape = np.mean(xs, axis=axis, keepdims=True).shape
    mean = distinct(mean_shape, generator)
    check(lambda a, m: function(a, mean=m, **options), xs, mean, generator=generator)
    check(lambda a, m: function(a, mean=m, where=where, **options), xs, mean, generator=generator)
    check(lambda a: function(a, mean=np.mean(a, axis=axis, keepdims=True), **options), xs, generator=generator)
    at_complex_points(lambda a: function(a, where=where, **options), xs, generator=generator)
    check_taylor(lambda a, m: function(a, mean=m, where=where, **options), xs, mean, generator=generator)


# Averages and covariances


def test_weights_are_as_numpy_wants_them():
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(ZeroDivisionError, match="sum to zero"):
        grad(lambda w: np.average(x[0], weights=w))(np.array([1.0, -1.0, 0.0]))
    with pytest.raises(TypeError, match="Axis must be specified"):
        grad(lambda x: np.average(x, weights=[1.0, 2.0]))(x)
    with pytest.raises(ValueError, match="Shape of weights"):
        grad(lambda x: np.average(x, axis=1, weights=[1.0, 2.0]))(x)
    with pytest.raises(ValueError, match="negative"):
        grad(lambda x: np.sum(np.cov(x, aweights=[1.0, -2.0, 1.0])))(x)
    with pytest.raises(TypeError, match="integer"):
        grad(lambda x: np.sum(np.cov(x, fweights=[1.0, 2.5, 1.0])))(x)
    with pytest.raises(RuntimeError, match="incompatible numbers of samples and fweights"):
        grad(lambda x: np.sum(np.cov(x, fweights=[1, 2])))(x)
    with pytest.raises(ValueError, match="more than 2 dimensions"):
        grad(lambda x: np.sum(np.cov(x)))(np.ones((2, 2, 2)))


def test_weights_of_any_axes():
    generator = np.random.default_rng(1)
    x, w = generator.normal(size=(2, 3, 4)), generator.uniform(1, 2, (4, 2))
    check(lambda a, w: np.average(a, axis=(2, 0), weights=w, returned=True), x, w, generator=generator)
    check(lambda w: np.average(x, axis=(2, 0), weights=w), w, generator=generator)
    check(lambda a: np.average(a, weights=[1, 2, 3, 4], axis=-1), x, generator=generator)


def test_covariance_without_degrees_of_freedom():
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
        assert np.isnan(grad(np.cov)(np.array([2.0])))[0]
    assert np.cov(np.zeros((0, 3))).shape == (0, 0)
    assert grad(lambda x: np.sum(np.cov(x)) + np.sum(x))(np.zeros((0, 3))).shape == (0, 3)


def test_perfect_correlation():
    x = np.array([[1.0, 2.0, 4.0], [2.0, 4.0, 8.0]])
    np.testing.assert_allclose(grad(lambda x: np.corrcoef(x)[0, 1])(x), 0.0, atol=1e-15)


def test_correlation_of_one_variable_is_one():
    np.testing.assert_allclose(grad(np.corrcoef)(np.array([1.0, 2.0, 4.0])), 0.0, atol=1e-15)


# Medians and quantiles


def test_medians_of_ties_and_of_even_counts():
    np.testing.assert_array_equal(grad(np.median)(np.array([1.0, 2.0, 2.0, 2.0, 5.0])), [0, 0, 1, 0, 0])
    np.testing.assert_array_equal(grad(np.median)(np.array([4.0, 1.0, 2.0, 9.0])), [0.5, 0, 0.5, 0])
    np.testing.assert_array_equal(grad(np.median)(np.array([2.0, 2.0])), [0.5, 0.5])
    assert grad(np.median)(3.0) == 1.0


def test_medians_of_infinities():
    for x in ([1.0, INF, INF], [-INF, INF, 2.0], [-INF, 1.0, 2.0, INF]):
        np.testing.assert_array_equal(
            sr.value(grad(lambda x: (x[0], np.median(x)), has_aux=True)(np.array(x))[1]), np.median(x)
        )


def test_medians_of_nan():
    x = np.array([[1.0, NAN, 3.0], [1.0, 4.0, 3.0]])
    found, value = grad(lambda x: (np.sum(np.median(x, axis=1)), np.median(x, axis=1)), has_aux=True)(x)
    np.testing.assert_array_equal(sr.value(value), [NAN, 3.0])
    np.testing.assert_array_equal(found[1], [0, 0, 1])
    assert np.isnan(found[0]).any()
    np.testing.assert_array_equal(grad(np.nanmedian)(x[0]), [0.5, 0, 0.5])
    quarter = grad(lambda x: np.nanquantile(x, 0.25, axis=1)[0])(x)
    np.testing.assert_array_equal(quarter, [[0.75, 0, 0.25], [0, 0, 0]])
    assert np.isnan(grad(lambda x: np.quantile(x, 0.25))(x[0])).any()


@pytest.mark.parametrize("function", [np.nanmedian, lambda a: np.nanquantile(a, 0.3), lambda a: np.nanpercentile(a, 3)])
def test_of_nan_only(function):
    with pytest.warns(RuntimeWarning, match="All-NaN slice"):
        assert np.all(np.isnan(grad(function)(np.array([NAN, NAN]))[:1]))


@pytest.mark.parametrize("function", [np.median, np.nanmedian])
def test_median_of_nothing(function):
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"), np.errstate(invalid="ignore"):
        assert grad(function)(np.zeros(0)).shape == (0,)
    assert grad(lambda x: np.sum(function(x, axis=1)))(np.zeros((0, 3))).shape == (0, 3)


def test_quantile_of_nothing():
    empty = np.zeros((0, 3))
    assert grad(lambda x: np.sum(np.quantile(x, 0.5, axis=1)) + np.sum(x))(empty).shape == (0, 3)
    with pytest.raises(IndexError):
        np.quantile(empty, 0.5)
    with pytest.raises(IndexError):
        grad(lambda x: np.quantile(x, 0.5))(empty)


def test_slope_in_q():
    """At an element the mean of both sides; at the ends of [0, 1] that of the inner side, and outside of it none."""
    x = np.array([1.0, 2.0, 5.0])

    def slope(q, **options):
        return grad(lambda q: np.quantile(x, q, **options))(q)

    assert [slope(q) for q in (0.0, 0.25, 0.5, 0.75, 1.0)] == [2.0, 2.0, 4.0, 6.0, 6.0]
    assert slope(0.1, method="hazen") == slope(0.9, method="hazen") == 0.0
    assert slope(1.0, method="hazen") == slope(0.0, method="hazen") == 0.0
    assert slope(0.5, method="hazen") == 6.0
    assert all(slope(0.4, method=method) == 0.0 for method in METHODS["jumping"])
    assert grad(lambda q: np.percentile(x, q))(75.0) == 0.06
    # The mixed derivative: of the slope 2 (x_2 - x_1).
    np.testing.assert_array_equal(grad(lambda x: grad(lambda q: np.quantile(x, q))(0.75))(x), [0.0, -2.0, 2.0])


def test_weak_and_strong_q():
    x = np.array([1.0, 2.0, 5.0], np.float32)
    for q in (0.3, np.float64(0.3), np.float32(0.3), [0.3, 0.5]):
        check_values(lambda a, q=q: np.quantile(a, q), x)
        check_values(lambda a, q=q: np.percentile(a, q), x)
    check_values(lambda a: np.quantile(a, 1), x)
    check_values(lambda a: np.quantile(a, np.array([0, 1])), x)
    for q in (0.3, np.float64(0.3), np.float32(0.3)):
        check_values(lambda q: np.quantile(x, q), q)
        check_values(lambda q: np.nanpercentile(x, q), q)


@pytest.mark.parametrize("function", [np.quantile, np.nanquantile, np.percentile, np.nanpercentile])
def test_wrong_quantiles(function):
    x = np.arange(3.0)
    for options in ({"q": 101.0}, {"q": -0.5}, {"q": 0.5, "method": "none"}, {"q": np.ones((1, 1, 1))}):
        with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever NumPy says)
            function(x, **options)
        with pytest.raises(ValueError, match=str(expected.value)[:20]):
            grad(lambda x, options=options: np.sum(function(x, **options)))(x)
    with pytest.raises(ValueError, match="supports weights"):
        grad(lambda x: function(x, 0.5, weights=[1, 2, 3]))(x)


def test_weights_of_quantiles():
    x, weights = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 4.0]]), np.array([1.0, 5.0, 1.0])
    options = {"axis": 1, "weights": weights, "method": "inverted_cdf"}
    found = grad(lambda x: np.sum(np.quantile(x, 0.5, **options) * [1.0, 10.0]))(x)
    np.testing.assert_array_equal(found, [[0, 1, 0], [10, 0, 0]])
    assert np.all(grad(lambda w: np.quantile(x[0], 0.5, weights=w, method="inverted_cdf"))(weights) == 0.0)
    nan = np.where(x == 2.0, NAN, x)
    options["weights"] = np.stack([weights, weights])  # NumPy fails on one vector for all
    found = grad(lambda x: np.sum(np.nanquantile(x, 0.9, **options) * [1.0, 10.0]))(nan)
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0, 10]])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # which are NumPy's, of the value
@pytest.mark.parametrize("function", [np.std, np.var])
def test_of_no_elements_the_deviation_is_nan_and_the_derivative_is_zero(function):
    x = np.zeros((2, 0))
    for axis in (None, 1):
        y, y_dot = sr.jvp(lambda x: function(x, axis=axis), (x,), (x,))  # noqa: B023
        np.testing.assert_array_equal(y, np.full(np.shape(y), np.nan))
        np.testing.assert_array_equal(y_dot, np.zeros(np.shape(y)))
        assert grad(lambda x: np.sum(function(x, axis=axis)))(x).shape == (2, 0)  # noqa: B023


@pytest.mark.parametrize("function", [np.std, np.var, np.nanstd, np.nanvar])
def test_the_deviation_of_complex_numbers_is_real_in_a_complex_dtype_too(function):
    z, v = np.array([1.0 + 2.0j, 3.0 - 1.0j, 0.5 + 0.25j]), np.array([1.0 - 1.0j, 0.5 + 2.0j, 0.75j])
    y, y_dot = sr.jvp(lambda z: function(z, dtype=complex), (z,), (v,))
    expected, slope = sr.jvp(function, (z,), (v,))
    assert y.dtype == y_dot.dtype == complex
    np.testing.assert_allclose([y, y_dot], [expected, slope], rtol=1e-14)
    pullback = sr.vjp(lambda z: function(z, dtype=complex), z)[1]
    np.testing.assert_allclose(pullback(2.0 + 5.0j)[0], 2.0 * grad(function)(z), rtol=1e-14)


@pytest.mark.parametrize("function", [np.cov, np.corrcoef])
def test_covariances_have_the_dtype_that_is_given(function):
    x = np.array([[1.0, 2.0, 4.0], [0.5, 1.5, -1.0]])
    for dtype in (np.float16, np.float32, np.complex64):
        y, y_dot = sr.jvp(lambda x: function(x, dtype=dtype), (x,), (x**2,))  # noqa: B023
        expected = function(x, dtype=dtype)
        assert y.dtype == y_dot.dtype == expected.dtype == dtype
        np.testing.assert_allclose(y, expected, rtol=4e-3)
