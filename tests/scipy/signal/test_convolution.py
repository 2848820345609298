from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import grad
from tests.rules.test_complex import at_complex_points
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, check_inner_products, examples, generators

signal = pytest.importorskip("scipy.signal")
convolve = pytest.importorskip("shiftreset_ad.scipy.signal").convolve

MODES = ["full", "same", "valid"]


@st.composite
def arrays_of_one_rank(draw):
    mode, method = draw(st.sampled_from(MODES)), draw(st.sampled_from(["auto", "direct", "fft"]))
    shapes = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), max_size=3))
    if mode == "valid":  # one is the larger one along every axis
        shapes = [tuple(sorted(sizes)) for sizes in shapes]
    order = draw(st.sampled_from([1, -1]))
    return lambda a, b: convolve(a, b, mode, method), *[tuple(sizes[i] for sizes in shapes) for i in (0, 1)][::order]


CASES = {convolve: arrays_of_one_rank()}


def drawn(data, generator):
    f, *shapes = data.draw(CASES[convolve])
    return f, *[generator.uniform(-1.0, 1.0, shape) for shape in shapes]


@examples
@given(data=st.data(), generator=generators)
def test_three_ways(data, generator):
    """In double precision: SciPy has its transforms in others, and rounds in its own way."""
    f, a, b = drawn(data, generator)
    check(f, a, b, generator=generator, dtypes=False)
    check_taylor(f, a, b, generator=generator)


@examples
@given(data=st.data(), generator=generators)
def test_of_complex_operands(data, generator):
    f, a, b = drawn(data, generator)
    real = data.draw(st.sampled_from([(), (0,), (1,)]))
    at_complex_points(f, a, b, generator=generator, real=real, dtypes=False)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["direct", "fft"])
def test_every_size_with_every_other(mode, method):
    generator = np.random.default_rng(0)
    for m, n in itertools.product(range(1, 6), repeat=2):
        a, b = generator.normal(size=(m, 4)), generator.normal(size=(n, 3 if m >= n else 5))
        expected = signal.convolve(a, b, mode, method)
        of_a, of_b = sr.jacobian(lambda a, b: convolve(a, b, mode, method), (0, 1))(a, b)
        np.testing.assert_allclose(np.tensordot(of_a, a), expected, atol=1e-13)
        np.testing.assert_allclose(np.tensordot(of_b, b), expected, atol=1e-13)
        check_inner_products(lambda a, b: convolve(a, b, mode, method), a, b, generator=generator)


def test_of_plain_arrays_and_lists():
    np.testing.assert_array_equal(convolve([1, 2], [3, 4]), [3, 10, 8])
    generator = np.random.default_rng(1)
    check(
        lambda b: convolve([[1, 2], [3, 4]], b, "same"),
        generator.normal(size=(2, 3)),
        generator=generator,
        dtypes=False,
    )
    check(lambda a: convolve(a, [1, 2, 4], "valid"), generator.normal(size=2), generator=generator, dtypes=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: convolve(a, np.ones(2)),
        lambda a: convolve(a, a, "middle"),
        lambda a: convolve(a, a, method="slow"),
        lambda a: convolve(a, np.ones((1, 5)), "valid"),
    ],
)
def test_wrong_arguments_raise_as_in_scipy(call):
    x = np.ones((2, 3))
    with pytest.raises(ValueError) as expected:  # noqa: PT011 (whatever SciPy says)
        call(x)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        grad(lambda a: np.sum(call(a)))(x)
    assert str(found.value) == str(expected.value)
    assert grad(lambda x: x * x)(3.0) == 6.0
