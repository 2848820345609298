from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad, hvp, jvp, vjp
from shiftreset_ad.rules import STRUCTURED
from tests.rules.three_ways import check, check_values, examples, generators

INF, NAN = np.inf, np.nan


def distinct(shape, generator):
    """An array without ties, and well apart from them."""
    return generator.permutation(np.linspace(-1.0, 1.5, int(np.prod(shape)))).reshape(shape)


@st.composite
def axes_of(draw, shape, tuples=True):
    """None, an axis counted from either end, or several."""
    axis = st.integers(-len(shape), len(shape) - 1) if shape else st.nothing()
    several = st.lists(axis, unique_by=lambda i: i % len(shape), max_size=len(shape)).map(tuple)
    return draw(st.none() | axis | (several if tuples and shape else st.nothing()))


@st.composite
def reductions(draw, function, min_side=0, **options):
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=min_side, max_side=4))
    arguments = {"axis": draw(axes_of(shape)), "keepdims": draw(st.booleans())}
    arguments |= {name: draw(strategy) for name, strategy in options.items()}
    return lambda a: function(a, **arguments), shape


@st.composite
def running_sums(draw):
    shape = draw(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    axis = draw(axes_of(shape, tuples=False))
    return lambda a: np.cumsum(a, axis), shape


CASES = {
    **{function: reductions(function) for function in (np.sum, np.prod)},
    **{function: reductions(function, min_side=1) for function in (np.mean, np.max, np.amax, np.min, np.amin)},
    # Spread enough that the root of the variance is smooth.
    np.var: reductions(np.var, min_side=2),
    np.std: reductions(np.std, min_side=2),
    np.cumsum: running_sums(),
}


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, shape = data.draw(CASES[function])
    x = distinct(shape, generator)
    if function is np.std and np.min(f(x), initial=1.0) == 0.0:  # over no axes: the tests of edges have this
        return
    check(f, x if np.ndim(x) else data.draw(st.sampled_from([float, np.float64, np.asarray]))(x), generator=generator)


@pytest.mark.parametrize("function", [np.var, np.std])
@pytest.mark.parametrize(
    "options", [{"ddof": 1}, {"ddof": 0.5}, {"correction": 1}, {"ddof": 1, "axis": 0, "keepdims": True}]
)
def test_degrees_of_freedom(function, options):
    generator = np.random.default_rng(0)
    check(lambda a: function(a, **options), generator.normal(size=(4, 3)), generator=generator)
    with pytest.raises(ValueError, match="simultaneously"):
        grad(lambda a: function(a, ddof=1, correction=1))(np.ones(3))


@pytest.mark.parametrize("function", [np.sum, np.mean, np.prod, np.var, np.std, np.cumsum])
def test_dtype_of_the_result(function):
    generator = np.random.default_rng(1)
    x = generator.uniform(1.0, 2.0, (3, 2)).astype(np.float32)

    def f(a):
        return function(a, axis=0, dtype=np.float64)

    check_values(f, x)
    assert f(x).dtype == np.float64
    check(f, x.astype(float), generator=generator, dtypes=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.sum(0),
        lambda a: a.mean(axis=-1, keepdims=True),
        lambda a: a.prod(),
        lambda a: a.max(1),
        lambda a: a.min(),
        lambda a: a.var(ddof=1),
        lambda a: a.std(0),
        lambda a: a.cumsum(1),
        lambda a: np.add.reduce(a),
        lambda a: np.multiply.reduce(a, 1),
        lambda a: np.maximum.reduce(a, axis=None),
        lambda a: np.minimum.reduce(a, keepdims=True),
        lambda a: np.add.accumulate(a, 1),
    ],
)
def test_methods_of_arrays_and_ufuncs(call):
    generator = np.random.default_rng(2)
    check(call, generator.uniform(0.5, 2.0, (3, 4)), generator=generator)


@pytest.mark.parametrize("axis", [0, -1, None, ()])
@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min, np.nanmean])
def test_scalars_have_an_axis(function, axis):
    assert grad(lambda x: 2 * function(x, axis=axis))(3.0) == 2.0
    assert jvp(lambda x: 2 * function(x, axis=axis), (3.0,), (1.0,))[1] == 2.0


@pytest.mark.parametrize("x", [3.0, np.float64(3.0), np.array(3.0)])
@pytest.mark.parametrize("function", [np.mean, np.median, np.nanmedian, np.quantile, np.std])
def test_scalars_have_no_axis_to_take_a_mean_along(function, x):
    more = (0.5,) if function is np.quantile else ()
    for axis in (0, -1, (0,)):
        for derivative in (lambda f: f(x), lambda f: grad(f)(x), lambda f: jvp(f, (x,), (x * 1.0,))):
            with pytest.raises(np.exceptions.AxisError):
                derivative(lambda x, axis=axis: function(x, *more, axis=axis))
    if function is not np.std:
        for axis in ((), None):
            assert grad(lambda x, axis=axis: function(x, *more, axis=axis))(x) == 1.0


@pytest.mark.parametrize("function", [np.max, np.min, np.amax, np.amin])
def test_ties_share_equally(function):
    x = np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 3.0]])
    if function in (np.min, np.amin):
        x = -x
    rows = grad(lambda x: np.sum(function(x, axis=1)))(x)
    np.testing.assert_allclose(rows, [[1 / 3, 1 / 3, 1 / 3], [0, 0, 1]])
    np.testing.assert_allclose(grad(function)(np.array([1.0, 1.0])), [0.5, 0.5])
    np.testing.assert_array_equal(grad(function)(np.array([1.0, NAN])), [NAN, NAN])


@pytest.mark.parametrize("function", [np.max, np.min])
@pytest.mark.parametrize(("shape", "axis"), [((1, 3), 0), ((3, 1), 1), ((1,), None), ((1, 1, 2), (0, 1))])
def test_the_extreme_of_one_element_is_the_element_in_all_orders(function, shape, axis):
    """The operand has another use, so that its cotangents are added: masked ones with a tangent, and others."""

    def by_extremes(x):
        a = np.sin(x)
        return np.sum(np.sin(function(a, axis=axis, keepdims=True)) * a**2)

    def by_elements(x):
        return np.sum(np.sin(np.sin(x)) * np.sin(x) ** 2)

    x, v = (np.random.default_rng(k).normal(size=shape) for k in (0, 1))
    for operator in (
        sr.hessian,
        lambda f: sr.jacfwd(sr.hessian(f)),
        lambda f: lambda x: jvp(lambda x: jvp(grad(f), (x,), (v,))[1], (x,), (v,))[1],
        lambda f: lambda x: grad(lambda x: np.sum(jvp(grad(f), (x,), (v,))[1]))(x),
    ):
        np.testing.assert_allclose(operator(by_extremes)(x), operator(by_elements)(x), rtol=1e-12, atol=1e-12)


def test_prod_with_zeros():
    """With one zero, two and three: no division, to the second order too."""
    one, two = np.array([0.0, 2.0, 5.0]), np.array([0.0, 2.0, 0.0])
    np.testing.assert_array_equal(grad(np.prod)(one), [10.0, 0.0, 0.0])
    np.testing.assert_array_equal(grad(np.prod)(two), [0.0, 0.0, 0.0])
    weights = np.array([1.0, 10.0, 100.0])

    def hessian_times_weights(x):
        return grad(lambda x: np.sum(grad(np.prod)(x) * weights))(x)

    np.testing.assert_array_equal(hessian_times_weights(one), [10 * 5 + 100 * 2, 1 * 5, 1 * 2])
    np.testing.assert_array_equal(hessian_times_weights(two), [100 * 2, 0.0, 1 * 2])
    np.testing.assert_array_equal(hessian_times_weights(np.zeros(3)), [0.0, 0.0, 0.0])
    generator = np.random.default_rng(3)
    check(lambda a: np.prod(a, axis=(0, -1)), np.arange(24.0).reshape(2, 3, 4) % 5, generator=generator, dtypes=False)


def test_nothing_to_reduce():
    empty = np.zeros((0, 3))
    for function in (np.sum, np.prod):
        assert grad(function)(empty).shape == (0, 3)
        assert grad(lambda x, f=function: np.sum(f(x, axis=0)))(empty).shape == (0, 3)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"), np.errstate(invalid="ignore"):
        assert grad(np.mean)(empty).shape == (0, 3)
    with pytest.raises(ValueError, match="zero-size array"):
        grad(np.max)(empty)


MASKED = {
    **{function: {"initial": 0.5} for function in (np.sum, np.prod)},
    **{function: {"initial": 0.1} for function in (np.max, np.min, np.amax, np.amin, np.nanmax, np.nanmin)},
    np.mean: {},
}


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("function", MASKED, ids=lambda f: f.__name__)
@settings(examples, max_examples=25)
@given(data=st.data(), generator=generators)
def test_where_and_initial(function, data, generator):
    """Masks of the shape of the array, or that broadcast to it, also where they leave nothing."""
    least = 1 if function in (np.nanmax, np.nanmin) else 0  # NumPy's have a bug for scalars
    shape = data.draw(array_shapes(min_dims=least, max_dims=3, min_side=0 if MASKED[function] else 1, max_side=4))
    options = {"axis": data.draw(axes_of(shape)), "keepdims": data.draw(st.booleans()), **MASKED[function]}
    where = generator.random(data.draw(st.sampled_from([shape, shape[1:], (*shape[:-1], 1) if shape else ()]))) < 0.6
    if function is np.mean and not np.all(np.sum(np.broadcast_to(where, shape), axis=options["axis"])):
        return  # a mean of nothing
    x = distinct(shape, generator)
    check(lambda a: function(a, where=where, **options), x, generator=generator)
    if "initial" in options:
        del options["initial"]
        check(lambda a: function(a, initial=0.1, **options), x, generator=generator)


def test_a_mask_may_change_before_the_way_back():
    def f(a):
        where = np.array([True, False, True])
        y = np.sum(a, where=where) + np.prod(a, where=where) + np.max(a, where=where, initial=-1.0)
        y = y + np.mean(a, where=where) + np.var(a, where=where)
        where[:] = False
        return y

    x = np.array([2.0, 3.0, 5.0])
    np.testing.assert_allclose(grad(f)(x), [1 + 5 + 0.5 - 1.5, 0, 1 + 2 + 1 + 0.5 + 1.5])


def test_initial_ties():
    x = np.array([2.0, 2.0, 1.0])
    for where in ([True, False, True], [False, True, True]):
        found = grad(lambda x, where=where: np.max(x, initial=-1.0, where=where))(x)
        np.testing.assert_array_equal(found, np.array(where) & (x == 2.0))
    np.testing.assert_array_equal(grad(lambda x: np.max(x, initial=2.0))(x), np.array([1, 1, 0]) / 3)
    np.testing.assert_array_equal(grad(lambda x: np.max(x, initial=0.1))(np.float32([0.1, 0.0])), [0.5, 0])
    np.testing.assert_array_equal(grad(lambda x: np.prod(x, initial=3.0))(x), [6.0, 6.0, 12.0])


def test_masks_keep_nan_out():
    """What is not selected has the derivative zero, whatever it is."""
    x, where = np.array([NAN, 2.0, INF, 0.0]), np.array([False, True, False, True])
    for function in (np.sum, np.prod, np.mean, np.var, np.std):
        found = grad(lambda x, function=function: function(x, where=where))(x)
        assert np.all(np.isfinite(found))
        np.testing.assert_array_equal(found[[0, 2]], 0.0)
        np.testing.assert_allclose(found[[1, 3]], grad(function)(x[where]))


def test_errors_of_where_and_initial():
    for function in (np.sum, np.prod, np.max):
        with pytest.raises(TypeError, match=r"numpy\.\w+: argument 'initial' is a number that is being differentiated"):
            grad(lambda x, function=function: function(x, initial=x[0]))(np.ones(3))
    with pytest.raises(TypeError, match=r"numpy\.max: argument 'where' is a number"):
        grad(lambda x: np.max(x, initial=0.0, where=x))(np.ones(3))
    with pytest.raises(ValueError, match="where"):
        grad(lambda x: np.max(x, where=x > 0))(np.ones(3))
    with pytest.raises(ValueError, match=r"broadcast|dimensions"):
        grad(lambda x: np.sum(x, where=np.ones((2, 3), bool)))(np.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.sum(a, axis=2),
        lambda a: np.sum(a, axis=(0, 0)),
        lambda a: np.max(a, axis=-3),
        lambda a: np.cumsum(a, axis=2),
        lambda a: np.sum(a[0, 0], axis=1),
    ],
)
def test_wrong_axes_raise_as_in_numpy(call):
    x = np.ones((2, 2))
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(type(expected.value)):
        grad(lambda a: np.sum(call(a)))(x)


@pytest.mark.parametrize("size", [3, 2000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_cotangents_are_spread_over_small_and_large_arrays(dtype, size):
    a = np.ones((2, size), dtype)
    weights = np.array([1.0, 2.0])
    for function, scale in ((np.sum, 1.0), (np.mean, 1.0 / size)):
        for keepdims in (False, True):

            def f(a, function=function, keepdims=keepdims):
                y = function(a, axis=-1, keepdims=keepdims)
                return np.real(np.sum(np.reshape(y, 2) * weights) + function(a) * a.size)

            g = grad(f)(a)
            assert g.dtype == a.dtype
            whole = a.size if function is np.sum else 1.0
            expected = np.broadcast_to(weights[:, None] * scale + whole, a.shape)
            np.testing.assert_allclose(g, expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("to", [float, np.float32, complex, np.complex64])
@pytest.mark.parametrize("given", [float, np.float32, complex, np.complex64])
@pytest.mark.parametrize(
    "function",
    [np.sum, np.mean, np.prod, np.cumsum, np.cumprod, np.nanprod, np.multiply.reduce, np.multiply.accumulate],
)
def test_a_dtype_that_is_given_converts_the_elements_before_they_are_reduced(function, given, to):
    x, v = np.array([1.0 + 2.0j, 3.0 - 1.0j, 0.5 + 0.25j]), np.array([1.0 - 1.0j, 0.5 + 2.0j, 0.75j])
    x, v = x.astype(given), v.astype(given)

    def by_dtype(x):
        return function(x, dtype=to)

    def by_conversion(x):
        return function(x.astype(to))

    for answer in (
        lambda f: sr.jvp(f, (x,), (v,)),
        lambda f: [sr.linearize(f, x)[1](v)],
        lambda f: [grad(lambda x: np.sum(np.real(f(x) * (2.0 - 1.0j))))(x)],
        lambda f: sr.jvp(grad(lambda x: np.sum(np.real(f(x) ** 2))), (x,), (v,)),
    ):
        for found, expected in zip(answer(by_dtype), answer(by_conversion), strict=True):
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_mask_of_integers_is_one_as_numpy_has_it():
    """A list is taken by its truth, and an array is refused; neither gives positions."""
    x = np.array([1.0, 2.0, 3.0])
    for f in (
        lambda x, where: np.add(x, x, out=x * 1.0, where=where),
        lambda x, where: np.divmod(x, 2.0, out=(x * 1.0, x * 1.0), where=where)[1],
        lambda x, where: np.prod(x, where=where),
        lambda x, where: np.var(x, where=where),
    ):
        for found in (
            sr.jvp(lambda x: f(x, [1, 0, 1]), (x,), (x,)),  # noqa: B023
            sr.vjp(lambda x: f(x, [1, 0, 1]), x)[:1],  # noqa: B023
        ):
            np.testing.assert_array_equal(found[0], f(x, [1, 0, 1]))
        with pytest.raises(TypeError, match="Cannot cast array data"):
            f(x, np.array([1, 0, 1]))
        with pytest.raises(TypeError, match="Cannot cast array data"):
            sr.vjp(lambda x: f(x, np.array([1, 0, 1])), x)  # noqa: B023


@pytest.mark.parametrize("function", [np.prod, np.max, np.min, np.nanprod, np.multiply.reduce])
def test_initial_may_be_changed_afterwards(function):
    def f(x, changes):
        initial = np.array(2.0)
        y = function(x, initial=initial)
        if changes:
            initial[...] = 7.0
        return y

    x = np.array([2.0, 3.0, 2.0])
    np.testing.assert_array_equal(grad(f)(x, True), grad(f)(x, False))


@pytest.mark.parametrize("x", [np.array([1.0, 3.0, 2.0]), np.array([[1.0, 0.5], [2.0, 3.0]]), np.array([[4.0, 0.5]]).T])
def test_the_tangent_of_one_greatest_element_is_the_sum_of_what_was_chosen(x):
    """Also in its bits: a sum of zeros and -0.0 is 0.0. What was not chosen does not count, not even if it is NaN."""
    at = np.unravel_index(x.argmax(), x.shape)
    x_dot = np.full(x.shape, np.nan)
    for tangent, expected in ((2.5, 2.5), (-0.0, 0.0)):
        x_dot[at] = tangent
        _, y_dot = jvp(np.max, (x,), (x_dot,))
        assert type(y_dot) is np.float64
        assert (y_dot, np.copysign(1.0, y_dot)) == (expected, 1.0)
    expected = np.zeros(x.shape)
    expected[at] = 6.0
    np.testing.assert_array_equal(
        hvp(lambda x: np.max(x) ** 3, (x,), (np.where(x == x[at], 1.0, 0.0),)), expected * x[at]
    )
    np.testing.assert_array_equal(grad(lambda x: np.max(x))(x), expected / 6.0)


def test_the_way_back_of_the_greatest_element_takes_a_cotangent_of_its_own_shape():
    x = np.array([[1.0, 3.0], [4.0, 2.0]])
    _, pullback = vjp(lambda x: np.max(x, keepdims=True), x)
    np.testing.assert_array_equal(pullback(np.array([[2.0]]))[0], [[0.0, 0.0], [2.0, 0.0]])
    _, (linear_map,) = STRUCTURED[np.max].differentiate(x, keepdims=True)
    np.testing.assert_array_equal(linear_map.pushforward(x), [[4.0]], strict=True)
