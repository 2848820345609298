from __future__ import annotations

import itertools

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
    pullback,
    pushforward,
)

NORMS = [None, "backward", "ortho", "forward"]
few = settings(examples, max_examples=12)

sizes = st.none() | st.integers(1, 6)  # of the operand's axes, up to 4
norms = st.sampled_from(NORMS)


@st.composite
def along_one_axis(draw, function, least=1):
    """`least` points on each axis; from one point, the real inverses make none."""
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=least, max_side=4))
    options = {"n": draw(sizes), "axis": draw(st.integers(-len(shape), len(shape) - 1)), "norm": draw(norms)}
    return lambda a: function(a, **options), shape


@st.composite
def along_axes(draw, function, least=1, last=None):
    shape = draw(array_shapes(min_dims=2, max_dims=3, min_side=least, max_side=3))
    options = {"norm": draw(norms)}
    if draw(st.booleans()):
        axis = st.integers(-len(shape), len(shape) - 1)
        options["axes"] = draw(st.lists(axis, min_size=1, max_size=3))  # one may be there twice
        if draw(st.booleans()):
            size = st.integers(1, 5) | st.just(-1)
            options["s"] = draw(st.tuples(*[size] * len(options["axes"])))
    return lambda a: function(a, **options), shape


@st.composite
def shifts(draw, function):
    shape = draw(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
    axis = st.integers(-len(shape), len(shape) - 1)
    axes = draw(st.none() | axis | st.lists(axis, min_size=1, max_size=3))
    return lambda x: function(x, axes), shape


OF_REAL = [np.fft.rfft, np.fft.ihfft, np.fft.rfft2, np.fft.rfftn]
CASES = {
    **{f: along_one_axis(f) for f in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.ihfft)},
    **{f: along_one_axis(f, least=2) for f in (np.fft.irfft, np.fft.hfft)},
    **{f: along_axes(f) for f in (np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn, np.fft.rfft2, np.fft.rfftn)},
    **{f: along_axes(f, least=2) for f in (np.fft.irfft2, np.fft.irfftn)},
    **{f: shifts(f) for f in (np.fft.fftshift, np.fft.ifftshift)},
}


def drawn_from(data, function):
    """A case that NumPy takes, and its operand's shape: halving an axis twice may leave no point to transform."""
    f, shape = data.draw(CASES[function])
    try:
        f(np.ones(shape))
    except ValueError:
        return function, (3, 4)
    return f, shape


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, shape = drawn_from(data, function)
    check(f, generator.uniform(-1, 1, shape), generator=generator)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", [f for f in CASES if f not in OF_REAL], ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_of_complex_operands(function, data, generator):
    f, shape = drawn_from(data, function)
    at_complex_points(f, generator.uniform(-1, 1, shape), generator=generator)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_taylor(function, data, generator):
    f, shape = drawn_from(data, function)
    check_taylor(f, generator.uniform(-1, 1, shape), generator=generator)


ONE_AXIS = [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("function", ONE_AXIS, ids=lambda f: f.__name__)
def test_every_length_to_every_other(function, norm):
    """The pushforward of unit directions is the matrix, the pullback its transpose, for even and odd sizes."""
    generator = np.random.default_rng(0)
    for size, n in itertools.product(range(1, 7), range(1, 9)):
        x = generator.normal(size=size)
        if function not in OF_REAL:
            x = x + 1j * generator.normal(size=size)

        def f(x, n=n):
            return function(x, n, norm=norm)

        check_inner_products(f, x, generator=generator)
        y_dot = np.concatenate(pushforward(f, [x], [x]))  # linear: it is the value
        y = f(x)
        np.testing.assert_allclose(y_dot, y if y.dtype.kind == "f" else np.concatenate([y.real, y.imag]), atol=1e-14)


@pytest.mark.parametrize("n", [5, 6])
def test_transposes_are_plain_and_not_hermitian(n):
    """A cotangent of 1 + 2j along an answer goes to the transposed column, unconjugated."""
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    y_bar = np.arange(n) + 2j
    x = np.ones(n, complex)
    found = grad(lambda x: np.sum(np.real(y_bar * np.fft.fft(x))))(x)
    np.testing.assert_allclose(found, matrix.T @ y_bar, atol=1e-12)
    found = grad(lambda x: np.sum(np.real(y_bar * np.fft.ifft(x))))(x)
    np.testing.assert_allclose(found, matrix.conj() @ y_bar / n, atol=1e-12)
    real = grad(lambda x: np.sum(np.real(y_bar * np.fft.fft(x))))(np.ones(n))
    assert real.dtype == float
    np.testing.assert_allclose(real, (matrix.T @ y_bar).real, atol=1e-12)


def test_the_imaginary_part_of_the_first_frequency_does_not_count():
    """`irfft` does not look at it, nor at that of the middle one; of a real signal it is zero."""
    gradient = grad(lambda x: np.sum(np.fft.irfft(x) * np.array([1.0, 2.0, 4.0, 8.0])))(np.ones(3, complex))
    np.testing.assert_allclose(gradient, [15 / 4, (-3 - 6j) / 2, -5 / 4])
    matrix = sr.jacobian(np.fft.irfft)(np.ones(3))
    np.testing.assert_allclose(matrix, np.fft.irfft(np.eye(3)).T)


def test_parseval():
    x = np.random.default_rng(1).normal(size=(4, 5))
    energy = grad(lambda x: np.sum(np.abs(np.fft.fft2(x, norm="ortho")) ** 2))(x)
    np.testing.assert_allclose(energy, 2 * x)
    hessian = sr.hessian(lambda x: np.sum(np.abs(np.fft.rfft(x, norm="forward")[1:-1]) ** 2))(x[0, :4])
    np.testing.assert_allclose(
        hessian, np.array([[1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 1, 0], [0, -1, 0, 1]]) / 8, atol=1e-12
    )


@pytest.mark.parametrize("layout", [lambda x: x[::-1, ::2], np.asfortranarray, np.transpose, lambda x: x.astype(">f8")])
def test_layouts_of_memory(layout):
    x = layout(np.random.default_rng(2).normal(size=(4, 6)))
    for function in (np.fft.fft, np.fft.rfft, np.fft.irfftn):
        check_inner_products(lambda x, f=function: f(x, norm="ortho"), x, generator=np.random.default_rng(3))
        (y_dot,) = pushforward(lambda x, f=function: np.abs(f(x)), [x], [x])
        np.testing.assert_allclose(y_dot, np.abs(function(x)))


@pytest.mark.filterwarnings("ignore:`axes` should not be `None`:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Passing an array containing `None`:DeprecationWarning")
@pytest.mark.parametrize("s", [(3,), (2, 5), (None, 4), (4, None), (-1, 3)])
@pytest.mark.parametrize("function", [np.fft.fftn, np.fft.rfftn, np.fft.irfftn, np.fft.ifftn])
def test_sizes_without_axes_are_those_of_the_last_axes(function, s):
    check_values(lambda a: function(a, s), np.random.default_rng(4).normal(size=(3, 4)))


def test_rows_and_layers_that_are_empty():
    for f in (np.fft.fft, np.fft.rfft, np.fft.irfft):
        x = np.zeros((0, 3))
        assert grad(lambda x, f=f: np.sum(np.abs(f(x))))(x).shape == (0, 3)
    assert grad(lambda x: np.sum(np.abs(np.fft.fftn(x, axes=()))))(np.ones(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("function", [np.fft.fftfreq, np.fft.rfftfreq])
@pytest.mark.parametrize("n", [4, 5])
def test_the_spacing_of_frequencies_may_be_a_number(function, n):
    check(lambda d: function(n, d), np.float64(0.3), generator=np.random.default_rng(5), dtypes=False)
    weights = np.arange(len(function(n)))
    (slope,) = pullback(lambda d: function(n, d), [0.5], [weights])
    np.testing.assert_allclose(slope, -np.sum(weights * function(n)) / 0.25)


def test_windows():
    """The shape of a Kaiser window is a number, and how many points it has is not."""
    check_finite_differences(lambda beta: np.stack(list(np.kaiser(5, beta))), 1.25, generator=np.random.default_rng(6))
    for window in (np.bartlett, np.blackman, np.hamming, np.hanning):
        with pytest.raises(TypeError, match="would turn a number that is being differentiated into a constant"):
            grad(lambda x, window=window: np.sum(window(x)))(5.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.fft.fft(a, 0),
        lambda a: np.fft.fft(a, axis=2),
        lambda a: np.fft.fft(a, norm="unitary"),
        lambda a: np.fft.hfft(a, norm="unitary"),
        lambda a: np.fft.irfft(a[:, :1]),
        lambda a: np.fft.fft2(a[0]),
        lambda a: np.fft.fftn(a, (3,), (0, 1)),
        lambda a: np.fft.fftshift(a, 2),
        lambda a: np.fft.rfft(a * 1j),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call):
    x = np.ones((2, 3))
    with pytest.raises((ValueError, IndexError, TypeError)) as expected:
        call(x)
    with pytest.raises(type(expected.value)) as found:
        grad(lambda a: np.sum(np.abs(call(a))))(x)
    assert str(found.value).startswith(str(expected.value))


def test_what_is_not_differentiable_is_named():
    with pytest.raises(TypeError, match=r"numpy\.fft\.fft: argument 'n' is a number that is being differentiated"):
        grad(lambda x: np.sum(np.abs(np.fft.fft(x, x[0]))))(np.ones(3))
    with pytest.raises(TypeError, match=r"numpy\.fft\.fft: .* array"):
        grad(lambda x: np.sum(np.abs(np.fft.fft(x, out=np.zeros(3, complex)))))(np.ones(3))
    assert grad(lambda x: x * x)(3.0) == 6.0
