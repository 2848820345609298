"""Methods of ufuncs of numbers, `np.add.reduce` and the like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.numpy.test_reductions import axes_of, distinct
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, check_values, examples, generators

some = settings(examples, max_examples=10)
few = settings(examples, max_examples=6)
# In any order of axes, with an identity to start from or without, and not from the left only.
REORDERABLE = (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot)
ORDERED = (np.subtract, np.divide)


@pytest.mark.parametrize("ufunc", REORDERABLE + ORDERED, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_reduce(ufunc, data, generator):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3))
    axis = data.draw(axes_of(shape) if ufunc in REORDERABLE else st.integers(-len(shape), len(shape) - 1))
    options = {"axis": axis, "keepdims": data.draw(st.booleans())}
    x = (distinct(shape, generator) + 3.0) / 2
    check(lambda a: ufunc.reduce(a, **options), x, generator=generator)
    check_taylor(lambda a: ufunc.reduce(a, **options), x, generator=generator)
    if data.draw(st.booleans()) and ufunc in REORDERABLE:
        options["where"] = generator.random(shape) < 0.6
        if ufunc.identity in (None, -np.inf) or data.draw(st.booleans()):  # of no elements the value is the identity
            options["initial"] = 2.1
        check(lambda a: ufunc.reduce(a, **options), x, generator=generator)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
@pytest.mark.parametrize("ufunc", REORDERABLE + ORDERED, ids=lambda f: f.__name__)
def test_a_single_negative_element(ufunc, method):
    """Where NumPy begins with the identity, the hypotenuse of one element is its absolute value."""
    x = np.array([[-0.5], [0.7], [-1.5]])
    indices = [[0]] if method == "reduceat" else []
    check(lambda a: getattr(ufunc, method)(a, *indices, axis=1), x, generator=np.random.default_rng(0))
    check(lambda a: getattr(ufunc, method)(a[0], *indices), x, generator=np.random.default_rng(0))


@pytest.mark.parametrize("ufunc", REORDERABLE + ORDERED, ids=lambda f: f.__name__)
@some
@given(data=st.data(), generator=generators)
def test_accumulate(ufunc, data, generator):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = (distinct(shape, generator) + 3.0) / 2
    check(lambda a: ufunc.accumulate(a, axis), x, generator=generator)


@pytest.mark.parametrize("ufunc", REORDERABLE + ORDERED, ids=lambda f: f.__name__)
@some
@given(data=st.data(), generator=generators)
def test_reduceat(ufunc, data, generator):
    shape = data.draw(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    indices = data.draw(st.lists(st.integers(0, shape[axis] - 1), max_size=4))
    x = (distinct(shape, generator) + 3.0) / 2
    check(lambda a: ufunc.reduceat(a, indices, axis), x, generator=generator)


@pytest.mark.parametrize("ufunc", REORDERABLE + ORDERED, ids=lambda f: f.__name__)
def test_outer(ufunc):
    generator = np.random.default_rng(0)
    a, b = generator.uniform(1, 2, (2, 3)), generator.uniform(3, 4, 2)
    check(ufunc.outer, a, b, generator=generator)
    check(lambda a: ufunc.outer(a, [3.0, 4.0]), a, generator=generator)
    check(lambda b: ufunc.outer(5.0, b), b, generator=generator)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.add.reduce(a),
        lambda a: np.multiply.reduce(a, 1),
        lambda a: np.maximum.reduce(a, axis=None),
        lambda a: np.minimum.reduce(a, keepdims=True),
        lambda a: np.add.reduce(a, initial=None),
        lambda a: np.add.reduce(a, 0, np.float64),
        lambda a: np.maximum.reduce(a, dtype=np.float64),
        lambda a: np.add.accumulate(a, 1),
        lambda a: np.multiply.accumulate(a, dtype=np.float64),
        lambda a: np.add.reduceat(a, [0, 2, 1], 1, np.float64),
        lambda a: np.fmod.reduce(a * [7.0, 9.0, 8.0, 7.5]),
    ],
)
def test_arguments(call):
    generator = np.random.default_rng(2)
    x = generator.uniform(0.5, 2.0, (3, 4))
    check(call, x, generator=generator)
    check_values(call, x.astype(np.float32))


def test_ties_and_infinities():
    np.testing.assert_allclose(grad(np.fmax.reduce)(np.array([1.0, 1.0, np.nan, 1.0])), np.array([1, 1, 0, 1]) / 3)
    np.testing.assert_allclose(grad(np.logaddexp.reduce)(np.full(4, -np.inf)), 0.25)
    np.testing.assert_allclose(grad(np.logaddexp.reduce)(np.array([1000.0, 1000.0])), 0.5)


def test_long_reductions():
    x = np.sin(np.arange(10_000.0))
    np.testing.assert_allclose(grad(np.logaddexp.reduce)(x), np.exp(x) / np.sum(np.exp(x)), rtol=1e-10)


def test_nothing_to_reduce():
    assert grad(lambda x: np.logaddexp.reduce(x) + np.sum(x))(np.zeros(0)).shape == (0,)
    with pytest.raises(ValueError, match="no identity"):
        grad(lambda x: np.subtract.reduce(x))(np.zeros(0))
    with pytest.raises(ValueError, match="reorderable"):
        grad(lambda x: np.subtract.reduce(x, axis=None))(np.ones((2, 2)))
    with pytest.raises(IndexError, match="out-of-bounds"):
        grad(lambda x: np.sum(np.add.reduceat(x, [0, 5])))(np.ones(3))


def test_questions_are_constant():
    def f(x):
        assert np.logical_and.reduce(x) is np.True_ or np.logical_and.reduce(x)
        assert np.less.outer(x, x).dtype == bool
        return np.sum(x)

    np.testing.assert_array_equal(grad(f)(np.ones(2)), [1, 1])


def test_methods_without_a_rule_say_so():
    for name in ("reduce", "accumulate"):
        with pytest.raises(NotImplementedError, match=rf"numpy\.arctan2\.{name} has no derivative rule here"):
            grad(lambda x, name=name: np.sum(getattr(np.arctan2, name)(x)))(np.ones(2))


def test_hypot_of_one_element_is_its_absolute_value_where_it_is_so_in_numpy():
    x = np.array([[-1.5, 2.0]])
    for f in (
        lambda x: np.hypot.reduce(x, axis=0),
        lambda x: np.hypot.reduce(x[:, :1], axis=1, keepdims=True),
        lambda x: np.hypot.reduce(x[0], where=[True, False]),
        lambda x: np.hypot.accumulate(x[0, :1]),
        lambda x: np.hypot.reduceat(x[0], [0, 1]),
    ):
        y, y_dot = sr.jvp(f, (x,), (np.ones_like(x),))
        np.testing.assert_array_equal(y, f(x))
        np.testing.assert_array_equal(sr.vjp(f, x)[0], f(x))
        step = 1e-6 * np.ones_like(x)
        np.testing.assert_allclose(y_dot, (f(x + step) - f(x - step)) / 2e-6, rtol=1e-9)
