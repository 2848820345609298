"""Mirror descent."""

import numpy as np
import pytest

from shiftreset_ad import grad, jacobian
from shiftreset_ad.optimize import Box, Mirror, MirrorDescent, Simplex, argmin, minimize

POSITIVE = MirrorDescent(Mirror(np.log, np.exp))
START = np.full(3, 1.0 / 3.0)


def spread(x, p=1.0):
    return p * x @ np.array([1.0, 2.0, 4.0]) + np.sum(x * np.log(x))


def test_the_entropy_on_the_simplex_inside():
    result = minimize(spread, START, method="mirror-descent", constraint=Simplex())
    exact = np.exp([-1.0, -2.0, -4.0])
    assert result.converged, result.message
    np.testing.assert_allclose(result.x, exact / exact.sum(), atol=1e-7)


@pytest.mark.parametrize("total", [1.0, 2.5])
def test_the_projected_gradient_finds_the_same_at_the_border(total):
    def f(x):
        return np.sum((x - np.array([0.9, 0.5, -3.0])) ** 2) + x[0] * x[1]

    options = {"constraint": Simplex(total)}
    mirrored = minimize(f, START, method="mirror-descent", **options)
    assert mirrored.converged, mirrored.message
    np.testing.assert_allclose(mirrored.x, argmin(f, START, **options), atol=1e-6)


def test_many_weights():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(40, 30))
    f = lambda x: np.sum((a @ x - a[:, 0]) ** 2)  # noqa: E731
    result = minimize(f, np.zeros(30), method="mirror-descent", constraint=Simplex(), tolerance=1e-6)
    assert result.converged, result.message
    np.testing.assert_allclose(result.x, np.eye(30)[0], atol=1e-5)


def test_a_mirror_of_ones_own_and_a_structure():
    mirror = MirrorDescent(Mirror(lambda x: {"a": np.log(x["a"])}, lambda y: {"a": np.exp(y["a"])}))
    f = lambda x: np.sum(x["a"] - np.array([1.0, 2.0]) * np.log(x["a"]))  # noqa: E731
    found = argmin(f, {"a": np.ones(2)}, method=mirror, constraint=Box(0.0, np.inf))
    np.testing.assert_allclose(found["a"], [1.0, 2.0], atol=1e-7)


@pytest.mark.parametrize("derivative", ["implicit", "unrolled"])
def test_derivatives(derivative):
    def found(p):
        options = {"method": "mirror-descent", "constraint": Simplex(), "tolerance": 1e-12, "derivative": derivative}
        return argmin(lambda x: spread(x, p), START, **options)

    weights = np.exp([-1.0, -2.0, -4.0]) / np.sum(np.exp([-1.0, -2.0, -4.0]))
    slopes = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(jacobian(found)(1.0), -weights * (slopes - weights @ slopes), atol=1e-7)


def test_second_derivatives_and_the_total():
    def value(p):
        return minimize(lambda x: p * x[0] ** 2 + x[1] ** 2, np.ones(2), method="mirror-descent", constraint=Simplex(p))

    closed = lambda p: p**3 / (1.0 + p)  # noqa: E731
    assert value(2.0).value == pytest.approx(closed(2.0))
    assert grad(lambda p: value(p).value)(2.0) == pytest.approx(grad(closed)(2.0))
    assert grad(grad(lambda p: value(p).value))(2.0) == pytest.approx(grad(grad(closed))(2.0), rel=1e-5)


def test_few_rounds_and_a_function_without_a_minimum_are_told():
    assert minimize(spread, START, method="mirror-descent", constraint=Simplex()).rounds == 1  # the same geometry
    f = lambda x: np.sum((x - np.array([0.6, 0.3, 0.2])) ** 4)  # noqa: E731
    assert not minimize(f, START, method="mirror-descent", constraint=Simplex(), rounds=1).converged
    assert not minimize(lambda x: -x, 1.0, method=POSITIVE, constraint=Box(0.0, np.inf), rounds=6).converged


@pytest.mark.parametrize(
    ("start", "options", "message"),
    [
        (np.ones(2), {"constraint": Box(0.0, 1.0), "method": "mirror-descent"}, "the mirror map of a Simplex only"),
        (np.array([1.0, 0.0]), {"constraint": Simplex(), "method": "mirror-descent"}, "lies at the border"),
        (np.ones(2), {"method": MirrorDescent(Mirror(lambda x: x[:1], np.exp))}, "the mirror map must return numbers"),
    ],
)
def test_wrong_calls(start, options, message):
    with pytest.raises(ValueError, match=message):
        minimize(lambda x: x @ x, start, **options)
