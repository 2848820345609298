from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.numpy.test_reductions import distinct
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, check_values, examples, generators

PLACES = np.array([2, 0, 2, 5, 1])
POINTS = np.array([0.1, 0.9, 0.35, -1.4, 0.62])  # one out of the range below
WIDE = np.array([-2.0, 0.13, 0.5, 3.0])
EDGES = np.array([0.0, 0.3, 0.5, 1.0])


@st.composite
def histograms(draw):
    bins = draw(st.sampled_from([3, EDGES]))
    options = {"density": draw(st.booleans()), "range": draw(st.sampled_from([None, (-1.0, 1.0)]))}
    a, w = draw(st.sampled_from([((5,), (5,)), (None, (5,)), ((5,), None)]))
    if a is None or w is None:
        fixed = POINTS if a is None else None
        return (
            # Weights of one sign, as below: a density divides by their sum.
            lambda x: np.histogram(
                x if fixed is None else fixed, bins, weights=None if w is None else x + 2.0, **options
            )
        ), (5,)
    return (lambda a, w: np.histogram(a, bins, weights=w + 2.0, **options)), a, w


@st.composite
def histograms_of_points(draw, function):
    bins = draw(st.sampled_from([3, [2, WIDE], [WIDE, 3]]))
    options = {"density": draw(st.booleans()), "range": draw(st.sampled_from([None, [(-1.0, 1.0), (-2.0, 2.0)]]))}
    flat = (lambda h, edges: (h, *edges)) if function is np.histogramdd else (lambda h, *edges: (h, *edges))
    weighed = draw(st.booleans())

    def f(sample, w=None):
        points = (sample,) if function is np.histogramdd else (sample[:, 0], sample[:, 1])
        return flat(*function(*points, bins=bins, weights=None if w is None else w + 2.0, **options))

    return (f, (5, 2), (5,)) if weighed else (lambda sample: f(sample), (5, 2))


CASES = {
    np.bincount: st.sampled_from([0, 9]).map(lambda n: ((lambda w: np.bincount(PLACES, w, n)), (5,))),
    np.histogram: histograms(),
    np.histogram_bin_edges: st.sampled_from([1, 4, "sturges", EDGES]).map(
        lambda bins: ((lambda a: np.histogram_bin_edges(a, bins)), (2, 4))
    ),
    np.histogram2d: histograms_of_points(np.histogram2d),
    np.histogramdd: histograms_of_points(np.histogramdd),
}
some = settings(examples, max_examples=15)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@some
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    xs = [x + 0.1 * x * x for x in (distinct(shape, generator) for shape in shapes)]  # not on the edges
    # In another precision an element may fall on the other side of an edge that it is near to.
    check(f, *xs, generator=generator, dtypes=False)
    check_taylor(f, *xs, generator=generator)


def test_weights_of_every_kind():
    generator = np.random.default_rng(0)
    for dtype in (np.float16, np.float32, np.longdouble, np.complex64, np.complex128):
        weights = generator.normal(size=5).astype(dtype)
        check_values(lambda w: np.histogram(POINTS, EDGES, weights=w)[0], weights)
        found = grad(lambda w: np.real(np.sum(np.histogram(POINTS, EDGES, weights=w)[0] * [1, 10, 100])))(weights)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, [1, 100, 10, 0, 100])
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(lambda w: np.real(np.sum(np.bincount(PLACES, w))))(np.ones(5, complex))
    with pytest.raises(ValueError, match="length"):
        grad(lambda w: np.sum(np.bincount(PLACES, w)))(np.ones(4))
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(lambda x: np.sum(np.bincount(x)))(np.ones(4))
    with pytest.raises(ValueError, match="weights should have the same shape"):
        grad(lambda w: np.sum(np.histogram(POINTS, weights=w)[0]))(np.ones(4))


def test_elements_on_edges():
    """A bin has its left edge, and the last one both."""
    a, weights = np.array([0.0, 0.3, 0.5, 1.0, 1.1]), np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
    rows = sr.jacobian(lambda w: np.histogram(a, EDGES, weights=w)[0])(weights)
    np.testing.assert_array_equal(rows, [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0]])
    rows = sr.jacobian(lambda w: np.histogramdd([a], [EDGES], weights=w)[0])(weights)
    np.testing.assert_array_equal(rows, [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0]])


def test_counts_are_constant_and_edges_are_not():
    def f(a):
        counts, edges = np.histogram(a, 2)
        assert type(counts) is np.ndarray
        assert counts.tolist() == [1, 2]
        return edges[1]

    np.testing.assert_array_equal(grad(f)(np.array([1.0, 3.0, 2.5])), [0.5, 0.5, 0])
    assert grad(lambda a: np.histogram_bin_edges(a, 2)[0])(np.array([1.0, 1.0])).tolist() == [0.5, 0.5]
    assert grad(lambda a: np.sum(np.histogram(a, 2)[0]) * a[0])(np.array([1.0, 2.0])).tolist() == [2, 0]
    empty = grad(lambda a: np.sum(a) + np.histogram(a, 2)[1][1])(np.zeros(0))
    assert empty.shape == (0,)


def test_edges_may_be_numbers():
    heights = grad(lambda e: np.histogram(POINTS, e, density=True)[0][0])(EDGES)
    # 1 of 4 in the first bin: 1 / 4 / (e_1 - e_0)
    np.testing.assert_allclose(heights, [0.25 / 0.09, -0.25 / 0.09, 0, 0])


def test_points_as_a_list_of_coordinates():
    x, y, w = POINTS, POINTS[::-1], np.arange(1.0, 6.0)
    found = grad(lambda w: np.sum(np.histogramdd([x, y], 2, weights=w)[0] ** 2))(w)
    np.testing.assert_array_equal(found, grad(lambda w: np.sum(np.histogram2d(x, y, 2, weights=w)[0] ** 2))(w))
    check_values(lambda w: np.histogram2d(x, y, [0.0, 0.5, 1.0], weights=w)[0], w)
    check_values(lambda w: np.histogramdd(x, 3, weights=w)[0], w)
    assert type(grad(lambda w: (w[0], np.histogramdd([x, y], 2, weights=w)[1]), has_aux=True)(w)[1]) is type(
        np.histogramdd([x, y], 2)[1]
    )


def test_coordinates_may_be_numbers():
    x, y = POINTS, POINTS[::-1] * 2.0
    found = grad(lambda x: np.sum(np.histogramdd([x, y], 2, density=True)[0] ** 2))(x)
    np.testing.assert_allclose(found, grad(lambda x: np.sum(np.histogram2d(x, y, 2, density=True)[0] ** 2))(x))
    assert grad(lambda x: np.histogramdd([x, x[::-1]], 2)[1][1][2])(x).tolist() == [0, 1, 0, 0, 0]
