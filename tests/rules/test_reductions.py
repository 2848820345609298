from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from three_ways import check, check_values, examples, generators

from shiftreset_ad import grad

INF, NAN = np.inf, np.nan


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


@st.composite
def differences(draw):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    axis, n = draw(st.integers(-len(shape), len(shape) - 1)), draw(st.integers(0, 3))
    return lambda a: np.diff(a, n, axis), shape


CASES = {
    **{function: reductions(function) for function in (np.sum, np.prod)},
    **{function: reductions(function, min_side=1) for function in (np.mean, np.max, np.amax, np.min, np.amin)},
    # Spread enough that the root of the variance is smooth.
    np.var: reductions(np.var, min_side=2),
    np.std: reductions(np.std, min_side=2),
    np.cumsum: running_sums(),
    np.diff: differences(),
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, shape = data.draw(CASES[function])
    x = generator.permutation(np.linspace(-1.0, 1.5, int(np.prod(shape)))).reshape(shape)
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
@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min])
def test_scalars_have_an_axis(function, axis):
    assert grad(lambda x: 2 * function(x, axis=axis))(3.0) == 2.0


@pytest.mark.parametrize("function", [np.max, np.min, np.amax, np.amin])
def test_ties_share_equally(function):
    x = np.array([[2.0, 2.0, 2.0], [1.0, 1.0, 3.0]])
    if function in (np.min, np.amin):
        x = -x
    rows = grad(lambda x: np.sum(function(x, axis=1)))(x)
    np.testing.assert_allclose(rows, [[1 / 3, 1 / 3, 1 / 3], [0, 0, 1]])
    np.testing.assert_allclose(grad(function)(np.array([1.0, 1.0])), [0.5, 0.5])
    np.testing.assert_array_equal(grad(function)(np.array([1.0, NAN])), [NAN, NAN])


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


def test_var_and_std_of_constants():
    """The variance is smooth there; its root has an infinite slope, and zero times infinity is not a number."""
    np.testing.assert_array_equal(grad(np.var)(np.ones(3)), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(grad(np.std)(np.ones(3)), [NAN, NAN, NAN])
    assert grad(np.var)(2.0) == 0.0


def test_too_few_degrees_of_freedom():
    for x in (2.0, np.array([2.0])):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(invalid="ignore"):
            assert np.isnan(grad(lambda x: np.var(x, ddof=1))(x))


def test_nothing_to_reduce():
    empty = np.zeros((0, 3))
    for function in (np.sum, np.prod):
        assert grad(function)(empty).shape == (0, 3)
        assert grad(lambda x, f=function: np.sum(f(x, axis=0)))(empty).shape == (0, 3)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"), np.errstate(invalid="ignore"):
        assert grad(np.mean)(empty).shape == (0, 3)
    with pytest.raises(ValueError, match="zero-size array"):
        grad(np.max)(empty)


@pytest.mark.parametrize(
    ("call", "unsupported"),
    [
        (lambda a: np.sum(a, where=a > 0), "where"),
        (lambda a: np.sum(a, initial=1.0), "initial"),
        (lambda a: np.max(a, initial=1.0), "initial"),
        (lambda a: np.mean(a, where=a > 0), "where"),
        (lambda a: np.var(a, mean=0.0), "mean"),
        (lambda a: np.diff(a, prepend=0.0), "prepend"),
    ],
)
def test_unsupported_arguments_are_named(call, unsupported):
    with pytest.raises(TypeError, match=rf"numpy\.\w+: .*'{unsupported}'.*it takes a, "):
        grad(call)(np.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.sum(a, axis=2),
        lambda a: np.sum(a, axis=(0, 0)),
        lambda a: np.max(a, axis=-3),
        lambda a: np.cumsum(a, axis=2),
        lambda a: np.diff(a, axis=2),
        lambda a: np.diff(a, n=-1),
        lambda a: np.sum(a[0, 0], axis=1),
    ],
)
def test_wrong_axes_raise_as_in_numpy(call):
    x = np.ones((2, 2))
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(type(expected.value)):
        grad(lambda a: np.sum(call(a)))(x)
