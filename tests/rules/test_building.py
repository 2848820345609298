from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import NumR, grad
from shiftreset_ad.rules.building import assemble
from tests.rules.three_ways import check, examples, generators

X = np.array([1.5, -0.5, 2.0])


@st.composite
def lists_of_scalars(draw):
    """A list of numbers, some of them twice, among constants of several kinds."""
    size = draw(st.integers(1, 4))
    constant = st.sampled_from([1.0, 2, True, np.float32(0.5)])
    places = draw(st.lists(st.integers(0, size - 1) | constant.map(str), min_size=1, max_size=6))
    constants = {"1.0": 1.0, "2": 2, "True": True, "0.5": np.float32(0.5)}
    # One number at least, as otherwise the answer has no derivative at all.
    places = [0, *places]
    return lambda *xs: assemble([xs[p] if isinstance(p, int) else constants[p] for p in places]), [()] * size


CASES = {assemble: lists_of_scalars()}


@examples
@given(data=st.data(), generator=generators)
def test_three_ways(data, generator):
    f, shapes = data.draw(CASES[assemble])
    check(f, *generator.uniform(-1, 1, len(shapes)).tolist(), generator=generator, dtypes=False)


@st.composite
def nests(draw):
    """A way to take an array apart into nested lists, arrays or numbers, whatever is deepest."""
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3))
    depth = draw(st.integers(0, len(shape)))
    sequence = draw(st.sampled_from([list, tuple]))

    def nested(x, deep=depth):
        return sequence(nested(part, deep - 1) for part in x) if deep else x

    return nested, shape


@examples
@given(data=st.data(), generator=generators)
def test_array_is_what_numpy_makes_of_the_values(data, generator):
    nested, shape = data.draw(nests())
    check(lambda x: sr.array(nested(2.0 * x)), generator.uniform(-1, 1, shape), generator=generator)


def test_array_of_parts_of_different_kinds():
    def f(x, y):
        return sr.array([[x, 1, y * y], np.array([1.0, 2.0, 3.0]), (0.5, x * y, True), np.array([x, y, 1.0]), x * X])

    assert f(2.0, 3.0).dtype == np.float64
    np.testing.assert_array_equal(sr.jacobian(f, (0, 1))(2.0, 3.0)[0], sr.jacfwd(f, (0, 1))(2.0, 3.0)[0])
    expected = np.array([[1.0, 0, 0], [0, 0, 0], [0, 3, 0], [1, 0, 0], [1.5, -0.5, 2]])
    np.testing.assert_array_equal(sr.jacobian(f)(2.0, 3.0), expected)
    by_y = np.array([[0, 0, 6.0], [0, 0, 0], [0, 2, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(sr.jacobian(f, 1)(2.0, 3.0), by_y)


def test_array_without_numbers_is_numpys():
    for parts in (
        [1, 2],
        [1.0, 2],
        [[True, False]],
        [[1j], [2]],
        3.0,
        [],
        [[], []],
        [np.float32(1.0)],
        X,
        [X, X],
        (1, X[0]),
    ):
        found, expected = sr.array(parts), np.array(parts)
        assert type(found) is np.ndarray
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape
    assert sr.array(X) is not X


def test_array_is_one_number_of_the_newest_derivative():
    def f(x):
        def g(y):
            inner = sr.array([x, y, x * y])
            assert type(inner) is NumR
            assert inner.tag.level == 2
            outer = sr.array([x, x])
            assert outer.tag.level == 1
            return np.sum(inner**3) + np.sum(outer)

        return grad(g)(2.0 * x)

    # g' = 3 y^2 + 3 x^3 y^2 at y = 2 x
    assert grad(f)(0.5) == pytest.approx(24 * 0.5 + 60 * 0.5**4)


def test_array_keeps_the_precision():
    def f(x):
        y = sr.array([x[0], x[1] * x[0]])
        assert y.dtype == np.float32
        assert sr.array([x[0], 1.0]).dtype == np.array([np.float32(1.0), 1.0]).dtype == np.float64
        return np.sum(y)

    gradient = grad(f)(np.array([2.0, 3.0], np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [4.0, 2.0])
    z = grad(lambda z: np.sum(sr.array([z, 1.0, z * z])), holomorphic=True)(1j)
    assert z == 1 + 2j


def test_ragged_parts():
    said = r"shiftreset_ad\.array: the parts of an array must have one shape, but here they have the shapes"
    for ragged in ([[1.0], [1.0, 2.0]], [1.0, [2.0]], [X, 1.0], [X, [1.0, 2.0]], [[[1.0]], [[1.0], [2.0]]]):
        with pytest.raises(ValueError, match=said):
            sr.array(ragged)
        with pytest.raises(ValueError, match=said):
            grad(lambda x: np.sum(sr.array([x, ragged])))(1.5)  # noqa: B023


def test_what_is_no_number():
    for strange in (None, "text", b"text", {1.0}, np.datetime64("2020"), object()):
        with pytest.raises(TypeError, match=r"an array of numbers cannot be built with .* in it|has dtype"):
            sr.array([1.0, strange])
        with pytest.raises(TypeError, match=r"an array of numbers cannot be built with .* in it|has dtype"):
            grad(lambda x: np.sum(sr.array([x, strange])))(1.5)  # noqa: B023


def test_many_numbers_take_one_operation_of_linear_cost():
    operations = []

    def f(x):
        y = sr.array([[x, 1.0]] * 500)
        operations.append(y)
        return np.sum(y)

    assert grad(f)(2.0) == 500.0
    assert sr.jvp(f, (2.0,), (1.0,))[1] == 500.0
