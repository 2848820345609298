"""Distances between rows: SciPy's values, the three ways, equal rows, and errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial.distance as theirs

import shiftreset_ad as sr
from shiftreset_ad import grad, hessian, jvp
from shiftreset_ad.scipy.spatial import distance as ours
from tests.rules.three_ways import check

GENERATOR = np.random.default_rng(3)
A, B = GENERATOR.normal(size=(3, 3)), GENERATOR.normal(size=(4, 3))
W = np.array([0.5, 1.2, 2.0])
WITH_WEIGHTS = [
    *("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "braycurtis"),
    "canberra",
]


def agree(mine, scipys, *data):
    found = jvp(mine, data, tuple(map(np.ones_like, data)))[0]
    np.testing.assert_allclose(sr.value(found), scipys(*data), rtol=1e-12, atol=1e-14)
    check(mine, *data, generator=np.random.default_rng(0), dtypes=False)


@pytest.mark.parametrize("metric", [*WITH_WEIGHTS, "seuclidean", "mahalanobis"])
def test_each_metric(metric):
    agree(lambda x: ours.pdist(x, metric), lambda x: theirs.pdist(x, metric), np.concatenate([A, B]))
    agree(lambda a, b: ours.cdist(a, b, metric), lambda a, b: theirs.cdist(a, b, metric), A, B)


@pytest.mark.parametrize("metric", WITH_WEIGHTS)
def test_weights(metric):
    agree(lambda a, w: ours.cdist(a, B, metric, w=w), lambda a, w: theirs.cdist(a, B, metric, w=w), A, W)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, np.inf])
def test_minkowski_of_each_order(p):
    agree(lambda a, b: ours.cdist(a, b, "minkowski", p=p), lambda a, b: theirs.cdist(a, b, "minkowski", p=p), A, B)


def test_the_weights_of_the_maximum_say_which_coordinates_count():
    w = np.array([0.3, 0.0, 2.0])
    agree(lambda a: ours.cdist(a, B, "chebyshev", w=w), lambda a: theirs.cdist(a, B, "chebyshev", w=w), A)
    options = {"p": np.inf, "w": w}
    agree(lambda a: ours.pdist(a, "minkowski", **options), lambda a: theirs.pdist(a, "minkowski", **options), A)
    nothing = np.ones((2, 0))
    assert sr.vjp(lambda a: ours.pdist(a, "chebyshev"), nothing)[0].tolist() == [0.0]


def test_given_variances_and_covariances():
    agree(lambda a, v: ours.cdist(a, B, "seuclidean", V=v), lambda a, v: theirs.cdist(a, B, "seuclidean", V=v), A, W)
    vi = np.linalg.inv(np.cov(B.T)) + 0.1
    metric = "mahalanobis"
    agree(lambda a, m: ours.cdist(a, B, metric, VI=m), lambda a, m: theirs.cdist(a, B, metric, VI=m), A, vi)


@pytest.mark.parametrize("short", sorted(ours.SHORT))
def test_short_names(short):
    found = jvp(lambda a: ours.cdist(a, np.concatenate([A, B]), short), (B,), (B,))[0]
    np.testing.assert_allclose(sr.value(found), theirs.cdist(B, np.concatenate([A, B]), short), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "seuclidean", "mahalanobis", "cityblock", "canberra"])
def test_the_distance_of_equal_rows_has_the_derivative_zero(metric):
    options = {"seuclidean": {"V": W}, "mahalanobis": {"VI": np.eye(3)}}.get(metric, {})
    assert grad(lambda x: ours.cdist(x[None], A[:1], metric, **options)[0, 0])(A[0]).tolist() == [0.0, 0.0, 0.0]


def test_squares_have_the_second_derivative_everywhere():
    assert hessian(lambda x: ours.cdist(x[None], A[:1], "sqeuclidean")[0, 0])(A[0]).tolist() == (2 * np.eye(3)).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda room, a: room.cdist(a, B[:, :2]),
        lambda room, a: room.cdist(a[0], B),
        lambda room, a: room.pdist(a[0]),
        lambda room, a: room.cdist(a, B, "euclidean", nothing=1.0),
    ],
)
def test_errors_are_scipys(call):
    with pytest.raises((ValueError, TypeError)) as expected:
        call(theirs, A)
    with pytest.raises(expected.type) as found:
        grad(lambda a: np.sum(call(ours, a)))(A)
    assert str(found.value)[:60] == str(expected.value)[:60]


@pytest.mark.parametrize("metric", ["jaccard", "hamming", lambda a, b: 0.0, "nothing"])
def test_another_metric_is_an_error(metric):
    with pytest.raises(NotImplementedError, match=r"scipy\.spatial\.distance\.cdist with metric=.* has no derivative"):
        grad(lambda a: np.sum(ours.cdist(a, B, metric)))(A)
    with pytest.raises(NotImplementedError, match=r"pdist with out has no derivative"):
        grad(lambda a: np.sum(ours.pdist(a, out=np.zeros(1))))(A)


def test_plain_arrays_are_scipys():
    np.testing.assert_array_equal(ours.cdist(A, B, "jaccard"), theirs.cdist(A, B, "jaccard"))
    np.testing.assert_array_equal(ours.pdist(B), theirs.pdist(B))
    np.testing.assert_array_equal(ours.squareform(ours.pdist(B)), theirs.squareform(theirs.pdist(B)))


def test_a_coordinate_without_weight_is_not_the_farthest():
    a, b, w = np.array([[0.0, 1.0]]), np.array([[9.0, 3.0]]), np.array([0.0, 1.0])
    found, gradient = sr.value_and_grad(lambda a: ours.cdist(a, b, "chebyshev", w=w)[0, 0])(a)
    assert found == theirs.cdist(a, b, "chebyshev", w=w)[0, 0] == 2.0
    assert gradient.tolist() == [[0.0, -1.0]]


def test_distances_are_in_double_precision_and_complex_rows_are_an_error():
    single = A.astype(np.float32)
    assert jvp(lambda a: ours.cdist(a, B), (single,), (single,))[0].dtype == np.float64
    far = np.array([[3e30, 0.0], [0.0, 4e30]], np.float32)  # the squares are infinite in single precision
    assert jvp(ours.pdist, (far,), (far,))[0] == pytest.approx(theirs.pdist(far))
    assert grad(lambda a: np.sum(ours.pdist(a)))(single).dtype == np.float32
    with pytest.raises(NotImplementedError, match="Give it the real and the imaginary part"):
        grad(lambda a: np.real(np.sum(ours.cdist(1j * a, B))))(A)
