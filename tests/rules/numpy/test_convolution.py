from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, check_inner_products, check_values, examples, generators

few = settings(examples, max_examples=12)
MODES = ["full", "same", "valid", 0, 1, 2]


@st.composite
def products_of_vectors(draw, function):
    mode, sizes = draw(st.sampled_from(MODES)), draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    return lambda a, v: function(a, v, mode), *sizes


CASES = {f: products_of_vectors(f) for f in (np.convolve, np.correlate)}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    f, m, n = data.draw(CASES[function])
    check(f, generator.uniform(-1, 1, m), generator.uniform(-1, 1, n), generator=generator)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@examples
@given(data=st.data(), generator=generators)
def test_of_complex_operands(function, data, generator):
    """`correlate` conjugates its second operand; nothing else is."""
    f, m, n = data.draw(CASES[function])
    real = data.draw(st.sampled_from([(), (0,), (1,)]))
    at_complex_points(f, generator.uniform(-1, 1, m), generator.uniform(-1, 1, n), generator=generator, real=real)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@few
@given(data=st.data(), generator=generators)
def test_taylor(function, data, generator):
    f, m, n = data.draw(CASES[function])
    check_taylor(f, generator.uniform(-1, 1, m), generator.uniform(-1, 1, n), generator=generator)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_every_size_with_every_other(function, mode):
    """The Jacobians are Toeplitz matrices that make the same product, whichever operand is longer, even or odd."""
    generator = np.random.default_rng(0)
    for m, n in itertools.product(range(1, 7), repeat=2):
        a, v = generator.normal(size=m), generator.normal(size=n)
        expected = function(a, v, mode)
        of_a, of_v = sr.jacobian(lambda a, v: function(a, v, mode), (0, 1))(a, v)
        np.testing.assert_allclose(of_a @ a, expected, atol=1e-14)
        np.testing.assert_allclose(of_v @ v, expected, atol=1e-14)
        check_inner_products(lambda a, v: function(a, v, mode), a, v, generator=generator)


@pytest.mark.parametrize("constant", [[1, 2, 1], (0.5, -1.0), np.array([True, False]), 3, [1j, 2.0], np.arange(4)])
def test_constants_of_any_kind(constant):
    generator = np.random.default_rng(1)
    x = generator.normal(size=3)
    for f in (lambda a: np.convolve(a, constant, "same"), lambda a: np.convolve(constant, a)):
        check(f, x, generator=generator)
    if np.ndim(constant):
        check(lambda a: np.correlate(a, constant, "same"), x, generator=generator)
        check(lambda a: np.correlate(constant, a, "full"), x, generator=generator)


def test_a_scalar_is_a_vector_of_one():
    generator = np.random.default_rng(2)
    for a, v in ((2.0, generator.normal(size=3)), (np.array(2.0), np.float64(3.0)), (generator.normal(size=2), 2.0)):
        for mode in ("full", "same", "valid"):
            check(lambda a, v, mode=mode: np.convolve(a, v, mode), a, v, generator=generator, dtypes=False)


def test_reversed_and_spread_vectors():
    x = np.random.default_rng(3).normal(size=12)
    a, v = x[::-2], x.reshape(3, 4).T[1]
    for f in (np.convolve, np.correlate):
        check_values(lambda a, v, f=f: f(a, v, "full"), a, v)
        check_inner_products(lambda a, v, f=f: f(a, v, "full"), a, v, generator=np.random.default_rng(4))


def test_one_vector_twice():
    """Autocorrelation: its gradient at the middle is that of the energy."""
    x = np.random.default_rng(5).normal(size=5)
    np.testing.assert_allclose(grad(lambda x: np.correlate(x, x, "full")[4])(x), 2 * x)
    check(lambda x: np.convolve(x, x, "same"), x, generator=np.random.default_rng(6))


def test_a_constant_that_is_written_to_afterwards():
    kernel = np.array([1.0, 2.0])

    def f(x):
        y = np.convolve(x, kernel, "valid")
        kernel[:] = 100.0
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(np.ones(3)), [2.0, 3.0, 1.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.convolve(a[:0], a),
        lambda a: np.convolve(a, np.zeros(0)),
        lambda a: np.correlate(a, a[:0]),
        lambda a: np.convolve(a[:, None], a),
        lambda a: np.convolve(a, np.ones((2, 2))),
        lambda a: np.correlate(a[0], a),
        lambda a: np.convolve(a, a, "middle"),
        lambda a: np.correlate(a, a, 3),
    ],
)
def test_wrong_arguments_raise_as_in_numpy(call):
    x = np.ones(3)
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever NumPy says)
        call(x)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        grad(lambda a: np.sum(call(a)))(x)
    assert str(found.value) == str(expected.value)
    assert grad(lambda x: x * x)(3.0) == 6.0
