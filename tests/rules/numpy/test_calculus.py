from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import (
    check,
    check_finite_differences,
    check_inner_products,
    check_values,
    examples,
    generators,
)

few = settings(examples, max_examples=12)


@st.composite
def differences(draw):
    """With or without something before and after: a scalar, or layers of their own number."""
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    axis, n = draw(st.integers(-len(shape), len(shape) - 1)), draw(st.integers(0, 3))

    def end():
        layers = [*shape]
        layers[axis] = draw(st.integers(0, 2))
        return draw(st.sampled_from([None, (), tuple(layers)]))

    ends = {name: chosen for name in ("prepend", "append") if (chosen := end()) is not None}
    return lambda a, *given: np.diff(a, n, axis, **dict(zip(ends, given, strict=True))), shape, *ends.values()


@st.composite
def integrals(draw):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    kind = draw(st.sampled_from(["plain", "dx", "vector", "full"]))
    if kind == "plain":
        return lambda y: np.trapezoid(y, axis=axis), shape
    if kind == "dx":
        return lambda y, dx: np.trapezoid(y, dx=dx, axis=axis), shape, ()
    return lambda y, x: np.trapezoid(y, x, axis=axis), shape, (shape[axis],) if kind == "vector" else shape


@st.composite
def gradients(draw):
    """Along all axes or some, by scalars and by coordinates."""
    edge_order = draw(st.sampled_from([1, 2]))
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=edge_order + 1, max_side=4))
    axis = st.integers(-len(shape), len(shape) - 1)
    several = st.lists(axis, min_size=1, unique_by=lambda i: i % len(shape)).map(tuple)
    chosen = draw(st.none() | axis | several)
    axes = range(len(shape)) if chosen is None else (chosen,) if isinstance(chosen, int) else chosen
    spacings = draw(st.sampled_from([[], [()]]) | st.tuples(*(st.sampled_from([(), (shape[i],)]) for i in axes)))
    return lambda f, *x: np.gradient(f, *x, axis=chosen, edge_order=edge_order), shape, *spacings


@st.composite
def phases(draw):
    shape = draw(array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    discont = draw(st.sampled_from([None, 0.5, 4.0]))
    if draw(st.booleans()):
        return lambda p: np.unwrap(6.0 * p, discont, axis), shape
    return lambda p, period: np.unwrap(6.0 * p, discont, axis, period=period), shape, ()


CASES = {np.diff: differences(), np.trapezoid: integrals(), np.gradient: gradients(), np.unwrap: phases()}


def points(generator, shapes):
    """Distinct numbers, in the right order for coordinates; scalars are well away from zero."""
    spread = [
        np.cumsum(generator.uniform(0.25, 1.0, shape), axis=-1) if shape else np.float64(1.25) for shape in shapes
    ]
    return [generator.uniform(-1.0, 1.0, shapes[0]), *spread[1:]]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    check(f, *points(generator, shapes), generator=generator)


@pytest.mark.parametrize("function", [np.diff, np.trapezoid, np.gradient], ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_of_complex_operands(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    real = (
        tuple(range(1, len(shapes))) if function is np.gradient else ()
    )  # NumPy drops the imaginary part of a spacing
    at_complex_points(f, *points(generator, shapes), generator=generator, real=real)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_taylor(function, data, generator):
    f, *shapes = data.draw(CASES[function])
    check_taylor(f, *points(generator, shapes), generator=generator)


# Differences


def test_differences_with_numbers_at_the_ends_only():
    generator = np.random.default_rng(0)
    check(lambda end: np.diff([1, 2, 4], prepend=end), 0.5, generator=generator, dtypes=False)
    check(
        lambda end: np.diff(np.arange(6).reshape(2, 3), axis=0, append=end),
        generator.normal(size=(2, 3)),
        generator=generator,
        dtypes=False,
    )
    check(lambda a: np.diff(a, prepend=[1, 2], append=True), generator.normal(size=3), generator=generator)


def test_no_difference_at_all_is_the_number_itself():
    def f(x):
        assert np.diff(x, 0, prepend=1.0) is x
        return np.sum(x)

    grad(f)(np.ones(3))


# Gradients of samples


@pytest.mark.parametrize("edge_order", [1, 2])
def test_coordinates_that_are_equally_far_apart(edge_order):
    """NumPy takes their distance for all of them, and still each coordinate has a derivative of its own."""
    generator, x = np.random.default_rng(1), np.arange(5.0)
    samples = generator.normal(size=5)
    even = sr.jacobian(lambda x: np.gradient(samples, x, edge_order=edge_order))(x)
    uneven = sr.jacobian(lambda x: np.gradient(samples, x, edge_order=edge_order))(x + 1e-7 * generator.normal(size=5))
    assert np.linalg.matrix_rank(even) > 2
    np.testing.assert_allclose(even, uneven, atol=1e-5)
    check(lambda f, x: np.gradient(f, x, edge_order=edge_order), samples, x, generator=generator)


def test_constants_are_taken_as_numpy_takes_them():
    samples = np.random.default_rng(2).normal(size=5)
    for spacing in (np.arange(5), [0, 1, 2, 3, 4], np.array([0.0, 0.5, 0.75, 2.0, 3.0]), 2, np.float32(0.3)):
        for edge_order in (1, 2):
            found = grad(
                lambda f, s=spacing, e=edge_order: (0.0 * np.sum(f), np.gradient(f, s, edge_order=e)), has_aux=True
            )(samples)[1]
            np.testing.assert_array_equal(sr.value(found), np.gradient(samples, spacing, edge_order=edge_order))


def test_samples_that_are_constant():
    generator = np.random.default_rng(3)
    coordinates = np.array([0.0, 0.5, 0.75, 2.0])
    falling = np.array([9, 5, 4, 1], np.uint8)  # whose differences are negative
    check(lambda f: np.gradient(f, falling), generator.normal(size=4), generator=generator)
    for samples in ([1, 2, 4, 8], np.array([True, False, True, True]) * 1, np.array([1, 2, 4, 8], np.uint8)):
        check(lambda x, f=samples: np.gradient(f, x), coordinates, generator=generator)
        check(lambda h, f=samples: np.gradient(f, h, edge_order=2), 0.5, generator=generator, dtypes=False)


def test_the_precision_is_that_of_the_samples():
    samples, coordinates = np.array([1.0, 2.0, 4.0], np.float32), np.array([0.0, 1.0, 3.0])
    check_values(np.gradient, samples, coordinates)
    check_inner_products(np.gradient, samples, coordinates, generator=np.random.default_rng(4), tolerance=1e-6)


def test_small_spacings_do_not_underflow():
    found = grad(lambda f: np.sum(np.gradient(f, 1e-200, edge_order=2)[:1]))(np.zeros(3))
    np.testing.assert_allclose(found, [-1.5e200, 2e200, -0.5e200])


def test_gradient_along_no_axes():
    assert grad(lambda f: np.sum(f) * (1 + len(np.gradient(f, axis=()))))(np.ones(2)).tolist() == [1.0, 1.0]


# Integrals


def test_integrals_of_lists():
    generator = np.random.default_rng(5)
    check(lambda x: np.trapezoid([1, 2, 4], x), np.array([0.0, 1.0, 3.0]), generator=generator)
    check(lambda y: np.trapezoid(y, [0, 1, 3]), generator.normal(size=(2, 3)), generator=generator)
    check(lambda dx: np.trapezoid([1, 2, 4], dx=dx), 0.5, generator=generator, dtypes=False)
    check(
        lambda y, x: np.trapezoid(y, x, axis=0),
        generator.normal(size=(2, 3)),
        generator.normal(size=(3,)) @ np.ones((3, 2)),
        generator=generator,
    )


# Phases


def test_a_jump_is_a_whole_number_of_periods():
    p = np.array([0.0, 3.0, 6.5, 0.2, -5.0, 30.0])
    turns = np.rint((np.unwrap(p) - p) / (2 * np.pi))
    assert np.any(turns)
    np.testing.assert_array_equal(sr.jacobian(np.unwrap)(p), np.eye(6))
    slope = sr.jvp(lambda p, period: np.unwrap(p, period=period), (p, 2 * np.pi), (0 * p, 1.0))[1]
    np.testing.assert_allclose(slope, turns)


@pytest.mark.parametrize("step", [0.5, -0.5, 1.5, -1.5])
def test_unwrap_at_a_jump(step):
    """Half a period may go either way; the derivatives are those of the way that NumPy takes."""
    p = np.array([0.25, 0.25 + step])

    def f(p, period):
        return np.unwrap(p, period=period)

    turns = f(p, 1.0) - p
    np.testing.assert_array_equal(turns, np.rint(turns))
    check_values(f, p, 1.0)
    of_p, of_period = sr.jacobian(f, (0, 1))(p, 1.0)
    np.testing.assert_array_equal(of_p, np.eye(2))
    np.testing.assert_array_equal(of_period, turns)


def test_unwrap_with_a_period_for_numpy_alone_is_refused():
    with pytest.raises((TypeError, NotImplementedError), match="numpy"):
        grad(lambda period: np.sum(np.unwrap(np.array([0.0, 4.0, 9.0]), period=period)))(6.0)


def test_reversed_and_spread_operands():
    x = np.random.default_rng(6).normal(size=24)
    a = x.reshape(4, 6)[::-1, ::2]
    for f in (np.diff, np.trapezoid, np.gradient, np.unwrap):
        for layout in (a, np.asfortranarray(a), a.T):
            check_values(f, layout)
            check_inner_products(f, layout, generator=np.random.default_rng(7))
            check_finite_differences(f, layout, generator=np.random.default_rng(8))


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.diff(a, axis=2),
        lambda a: np.diff(a, n=-1),
        lambda a: np.diff(a[0, 0]),
        lambda a: np.diff(a, prepend=np.ones(3)),
        lambda a: np.trapezoid(a, axis=2),
        lambda a: np.trapezoid(a, np.ones(5)),
        lambda a: np.gradient(a),
        lambda a: np.gradient(a, 1.0, 1.0, 1.0),
        lambda a: np.gradient(a.T, np.arange(4.0), axis=0),
        lambda a: np.gradient(a, np.ones((2, 2)), axis=0),
        lambda a: np.gradient(a, axis=1, edge_order=3),
        lambda a: np.gradient(a, axis=(0, 0)),
        lambda a: np.unwrap(a[0, 0]),
        lambda a: np.unwrap(a, axis=2),
        lambda a: np.unwrap(a * 1j),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call):
    x = np.ones((1, 3))
    with pytest.raises((ValueError, TypeError, IndexError)) as expected:
        call(x)
    with warnings.catch_warnings(), pytest.raises((ValueError, TypeError, IndexError)) as found:
        grad(lambda a: np.sum(call(a)))(x)
    assert isinstance(found.value, type(expected.value)) or isinstance(expected.value, type(found.value))
    assert grad(lambda x: x * x)(3.0) == 6.0
