from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.rules.numpy.sorting import rearranged
from shiftreset_ad.rules.table import functions_of
from tests.rules.numpy.test_reductions import axes_of, distinct
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import TOLERANCE, check, check_values, examples, generators, in_dtype

NAN = np.nan


@st.composite
def sorted_along(draw, function):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    axis = draw(axes_of(shape, tuples=False))
    if function is np.sort:
        options = draw(st.sampled_from([{}, {"kind": "heapsort"}, {"stable": True}]))
        return (lambda a: np.sort(a, axis, **options)), shape
    size = int(np.prod(shape)) if axis is None else shape[axis]
    if size == 0:
        return (lambda a: np.sort(a, axis)), shape
    kth = draw(st.integers(-size, size - 1) | st.lists(st.integers(0, size - 1), min_size=1, max_size=3))
    return (lambda a: np.partition(a, kth, axis)), shape


@st.composite
def rearrangements(draw):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    axis = draw(st.integers(0, len(shape) - 1))
    order = np.argsort(np.random.default_rng(draw(st.integers(0, 9))).random(shape), axis=axis)
    return (lambda a: rearranged(a, order, axis)), shape


SHIFT = np.array([0.5, -0.25, 7.0])  # some of the values of `of_two_sets`


def of_two_sets(function):
    """Two sets that have some values in common: differences that are exact keep those equal."""
    return st.sampled_from(
        [
            ((lambda a: function(np.concatenate([a, SHIFT]), SHIFT)), (3,)),
            ((lambda a, b: function(a, b * 1.7)), (2, 2), (3,)),
        ]
    )


@st.composite
def uniques(draw, function):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3))
    if function is not np.unique:
        return (lambda a: function(np.stack([a, a]))), shape
    options = {name: draw(st.booleans()) for name in ("return_index", "return_inverse", "return_counts")}
    options["axis"] = draw(axes_of(shape, tuples=False))
    return (lambda a: np.unique(np.concatenate([a, a], 0), **options)), shape


def first(function):
    """Only the values: equal elements of sets are not to be moved apart."""
    return lambda *xs: function(*xs)[0] if isinstance(function(*xs), tuple) else function(*xs)


CASES = {
    np.sort: sorted_along(np.sort),
    np.partition: sorted_along(np.partition),
    rearranged: rearrangements(),
    np.sort_complex: st.sampled_from([(np.sort_complex, (3,)), (np.sort_complex, (2, 3)), (np.sort_complex, (0,))]),
    np.unique: uniques(np.unique),
    **{f: uniques(f) for f in functions_of("unique_all", "unique_counts", "unique_inverse", "unique_values")},
    **{function: of_two_sets(function) for function in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d)},
}
some = settings(examples, max_examples=20)
few = settings(examples, max_examples=6)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@some
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    xs = [distinct(shape, generator) for shape in shapes]
    # NumPy leaves open in which order elements lie on either side; in another precision it may be another.
    check(f, *xs, generator=generator, dtypes=function is not np.partition)
    if function is np.partition:
        for dtype in TOLERANCE:
            check_values(f, *(in_dtype(x, dtype) for x in xs))


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_taylor(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    check_taylor(f, *(distinct(shape, generator) for shape in shapes), generator=generator)


@pytest.mark.parametrize(
    "function", [np.sort, np.partition, np.sort_complex, np.unique, rearranged], ids=lambda f: f.__name__
)
@few
@given(data=st.data(), generator=generators)
def test_of_complex_numbers(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    at_complex_points(f, *(distinct(shape, generator) for shape in shapes), generator=generator)


def test_ties_stay_in_their_order():
    """Whatever algorithm sorts the values, the derivative is that of a stable one."""
    x, weights = np.array([2.0, 1.0, 2.0, 1.0, 2.0]), np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    for kind in ("stable", "quicksort", "heapsort", "mergesort", None):
        found = grad(lambda x, kind=kind: np.sum(np.sort(x, kind=kind) * weights))(x)
        np.testing.assert_array_equal(found, [100.0, 1.0, 1000.0, 10.0, 10000.0])
    many = np.random.default_rng(0).integers(0, 4, 1000).astype(float)
    places = grad(lambda x: np.sum(np.sort(x) * np.arange(1000.0)))(many).astype(int)
    np.testing.assert_array_equal(np.argsort(places), np.argsort(many, kind="stable"))
    found = grad(lambda x: np.sum(np.partition(x, 2) * weights))(x)
    assert sorted(found) == sorted(weights)


def test_sorting_puts_nan_last():
    x = np.array([[3.0, NAN, 1.0], [NAN, 2.0, NAN]])
    check_sorted = grad(lambda x: np.sum(np.where(np.isnan(x), 0.0, 1.0)) + np.sort(x)[0, 1])(x)
    np.testing.assert_array_equal(check_sorted, [[1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    "x", [np.arange(12.0).reshape(3, 4)[:, ::-2], np.asfortranarray(np.arange(6.0).reshape(2, 3) % 3.5)]
)
def test_memory_layouts(x):
    generator = np.random.default_rng(0)
    check(np.sort, x, generator=generator, dtypes=False)
    check(lambda a: np.sort(a, 0), x, generator=generator, dtypes=False)
    check(lambda a: np.partition(a, 1, None), x, generator=generator, dtypes=False)
    check_values(np.unique, x)


def test_large_partitions_are_as_numpy_has_them():
    """Where elements come to lie between the positions that were asked for is up to NumPy."""
    generator = np.random.default_rng(0)
    for x in (generator.normal(size=2000), generator.integers(0, 50, 2000).astype(float)):
        expected = np.partition(x, [700, 20])
        found = grad(lambda x: (np.sum(x), np.partition(x, [700, 20])), has_aux=True)(x)[1]
        np.testing.assert_array_equal(sr.value(found), expected)
        places = grad(lambda x: np.sum(np.partition(x, [700, 20]) * np.arange(2000.0)))(x).astype(int)
        assert sorted(places) == list(range(2000))
        np.testing.assert_array_equal(expected[places], x)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.sort(a, 3),
        lambda a: np.partition(a, 7),
        lambda a: np.partition(a, 0, -3),
        lambda a: np.unique(a, axis=5),
    ],
)
def test_errors_are_numpys(call):
    x = np.ones((2, 2))
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(type(expected.value)):
        grad(lambda a: np.sum(call(a)))(x)


# Sets


def test_the_first_of_equal_elements_is_selected():
    x = np.array([2.0, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.unique(x) * [1.0, 10.0]))(x), [10, 1, 0, 0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.union1d(x[:2], x[2:])))(x), [1, 1, 0, 0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.intersect1d(x, x[::-1])))(x), [1, 1, 0, 0])
    kept = grad(lambda x: np.sum(np.setdiff1d(x, [1.0], assume_unique=True) * [1.0, 10.0]))(x)
    np.testing.assert_array_equal(kept, [1, 0, 10, 0])


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
def test_results_with_names(name):
    if not hasattr(np, name):
        pytest.skip("a newer NumPy's function")
    x = np.array([[2.0, 1.0], [2.0, NAN]])
    function, expected = getattr(np, name), getattr(np, name)(x)

    def f(x):
        found = function(x)
        assert type(found) is type(expected)
        for part, plain in zip(found[1:], expected[1:], strict=True):
            assert type(part) is np.ndarray
            np.testing.assert_array_equal(part, plain)
        np.testing.assert_array_equal(sr.value(found.values), expected.values)
        return found.values[1] * 2

    np.testing.assert_array_equal(grad(f)(x), [[2, 0], [0, 0]])


def test_unique_rows_and_options():
    x = np.array([[2.0, 1.0], [0.0, 3.0], [2.0, 1.0]])
    weights = np.array([[1.0, 10.0], [100.0, 1000.0]])
    found = grad(lambda x: np.sum(np.unique(x, axis=0) * weights))(x)
    np.testing.assert_array_equal(found, [[100, 1000], [1, 10], [0, 0]])
    nan = np.array([NAN, 1.0, NAN])
    found = grad(lambda x: np.sum(np.where([True, False, False], np.unique(x, equal_nan=False), 0.0)))(nan)
    np.testing.assert_array_equal(found, [0, 1, 0])
    np.testing.assert_array_equal(grad(lambda x: np.unique(x, return_counts=True)[0][0])(x), [[0, 0], [1, 0], [0, 0]])
    answer = grad(lambda x: (np.sum(x), np.unique(x, True, True, True)), has_aux=True)(x)[1]
    for part, plain in zip(answer, np.unique(x, True, True, True), strict=True):
        np.testing.assert_array_equal(sr.value(part), plain)


def test_indices_of_an_intersection():
    def f(x):
        common, first, second = np.intersect1d(x, [4.0, 2.0, 9.0], return_indices=True)
        assert (first.tolist(), second.tolist()) == ([1, 0], [1, 0])
        return common[0] * 10 + common[1]

    np.testing.assert_array_equal(grad(f)(np.array([4.0, 2.0, 3.0])), [1, 10, 0])


def test_membership_is_constant():
    def f(x):
        inside = np.isin(x, [1.0, 2.0])
        assert inside.tolist() == [True, False]
        return np.sum(x * inside)

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 3.0])), [1, 0])
