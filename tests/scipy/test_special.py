"""`shiftreset_ad.scipy.special`: SciPy's functions with their own signatures, edges and errors."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import shiftreset_ad as sr
from shiftreset_ad import grad, hessian
from shiftreset_ad.scipy import special
from tests.rules.three_ways import assert_close, check, examples, generators

INF = math.inf
shapes = array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3)


def axes_of(shape, data):
    """One axis, several, or all."""
    ndim = len(shape)
    if not ndim:
        return None
    one = st.integers(-ndim, ndim - 1)
    several = st.lists(st.integers(0, ndim - 1), unique=True, min_size=1).map(tuple)
    return data.draw(st.one_of(st.none(), one, several))


@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_logsumexp(data, shape, generator):
    a, axis, keepdims = generator.normal(size=shape), axes_of(shape, data), data.draw(st.booleans())
    check(lambda a: special.logsumexp(a, axis, keepdims=keepdims), a, generator=generator, dtypes=False)
    b = generator.uniform(0.3, 2.0, data.draw(st.sampled_from([shape, shape[1:], (1,) * len(shape)])))
    given = data.draw(st.sampled_from([(a, b), (a,), (b,)]))
    if len(given) == 2:
        check(lambda a, b: special.logsumexp(a, axis, b, keepdims), a, b, generator=generator, dtypes=False)
    elif given[0] is a:
        check(lambda a: special.logsumexp(a, b=b, axis=axis), a, generator=generator, dtypes=False)
    else:
        check(lambda b: special.logsumexp(a, b=b, axis=axis), b, generator=generator, dtypes=False)


@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_logsumexp_with_signs(data, shape, generator):
    a, axis, keepdims = generator.normal(size=shape), axes_of(shape, data), data.draw(st.booleans())
    b = generator.uniform(0.5, 2.0, shape) - 2.5 * (generator.random(shape) < 0.5)
    total = np.sum(b * np.exp(a), axis=axis)
    if np.min(np.abs(total)) < 0.1:
        b = np.abs(b)

    def f(a, b):
        y, sign = special.logsumexp(a, axis, b, keepdims, return_sign=True)
        return y, sign

    check(f, a, b, generator=generator, dtypes=False)


@pytest.mark.parametrize("function", [special.softmax, special.log_softmax])
@examples
@given(data=st.data(), shape=shapes, generator=generators)
def test_softmax(function, data, shape, generator):
    axis = axes_of(shape, data)
    check(lambda x: function(x, axis), generator.normal(size=shape), generator=generator, dtypes=False)
    check(
        lambda x: function(x=x, axis=axis) ** 2, 3.0 * generator.normal(size=shape), generator=generator, dtypes=False
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [special.logsumexp, special.softmax, special.log_softmax])
def test_precisions(function, dtype):
    x = np.array([0.5, -1.0, 2.0], dtype)

    def f(x):
        y = function(x)
        assert y.dtype == dtype
        return np.sum(y * y)

    found = grad(f)(x)
    assert found.dtype == dtype
    assert_close(found, grad(lambda x: np.sum(function(x) ** 2))(x.astype(float)), tolerance=1e-5)


# Infinities and ties


@pytest.mark.parametrize(
    ("a", "shares"),
    [
        ([-INF, 0.0, 0.0], [0.0, 0.5, 0.5]),
        ([-INF, -INF], [0.5, 0.5]),
        ([INF, 1.0, INF], [0.5, 0.0, 0.5]),
        ([1000.0, 1000.0], [0.5, 0.5]),
        ([-1000.0, -1000.0], [0.5, 0.5]),
        ([-INF], [1.0]),
    ],
)
def test_logsumexp_at_infinity(a, shares):
    a = np.array(a)
    for f in (special.logsumexp, lambda a: special.logsumexp(a, axis=0, keepdims=True)[0]):
        np.testing.assert_array_equal(grad(f)(a), shares)
        np.testing.assert_array_equal(sr.jacfwd(f)(a), shares)
    np.testing.assert_array_equal(
        grad(lambda a: np.logaddexp.reduce(a) if a.size < 0 else special.logsumexp(a))(a), shares
    )


def test_logsumexp_of_rows_of_which_some_are_infinite():
    a = np.array([[-INF, -INF], [0.0, 0.0], [INF, 0.0], [-INF, 1.0]])
    found = grad(lambda a: np.sum(np.where(np.isfinite(y := special.logsumexp(a, axis=1)), y, 0.0)))(a)
    np.testing.assert_array_equal(found, [[0.0, 0.0], [0.5, 0.5], [0.0, 0.0], [0.0, 1.0]])


def test_terms_of_weight_zero_do_not_count():
    a, b = np.array([INF, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    expected = [0.0, 1 / (1 + math.e), math.e / (1 + math.e)]
    np.testing.assert_allclose(grad(lambda a: special.logsumexp(a, b=b))(a), expected)
    np.testing.assert_allclose(grad(lambda b: special.logsumexp(a[1:], b=b))(np.array([0.0, 1.0])), [1 / math.e, 1.0])


def test_softmax_of_ties_and_of_minus_infinity():
    np.testing.assert_allclose(sr.jacobian(special.softmax)(np.zeros(2)), [[0.25, -0.25], [-0.25, 0.25]])
    x = np.array([0.0, -INF, 0.0])
    np.testing.assert_allclose(grad(lambda x: special.softmax(x)[0])(x), [0.25, 0.0, -0.25])
    np.testing.assert_allclose(grad(lambda x: special.log_softmax(x)[0])(x), [0.5, 0.0, -0.5])
    np.testing.assert_allclose(hessian(special.logsumexp)(x), [[0.25, 0.0, -0.25], [0.0, 0.0, 0.0], [-0.25, 0.0, 0.25]])


def test_a_cross_entropy_far_from_the_target():
    np.testing.assert_allclose(grad(lambda x: -special.log_softmax(x)[0])(np.array([-1000.0, 1000.0])), [-1.0, 1.0])


# The others


@pytest.mark.parametrize(
    ("f", "x", "slope"),
    [
        (lambda n: special.comb(n, 2), 5.0, 4.5),
        (lambda n: special.comb(n, 2), 1.0, 0.0),
        (lambda n: special.comb(n, 2, repetition=True), 4.0, 4.5),
        (lambda n: special.perm(n, 2), 5.0, 9.0),
        (lambda n: special.perm(n, 2), 1.0, 0.0),
        (lambda x: special.multigammaln(x, 1), 2.5, scipy.special.psi(2.5)),
        (lambda x: special.polygamma(2, x), 2.5, scipy.special.polygamma(3, 2.5)),
        (lambda x: special.jvp(0, x, 2), 1.5, scipy.special.jvp(0, 1.5, 3)),
        (lambda x: special.legendre_p(3, x)[0], 0.4, scipy.special.legendre_p(3, 0.4, diff_n=1)[1]),
        (
            lambda x: special.assoc_legendre_p(3, 1, x, norm=True)[0],
            0.4,
            scipy.special.assoc_legendre_p(3, 1, 0.4, norm=True, diff_n=1)[1],
        ),
        (lambda x: special.diric(x, 3), 1.5, -2.0 / 3.0 * math.sin(1.5)),
        (lambda x: scipy.special.assoc_laguerre(x, 2, 1.0), 0.4, -2.6),
        (lambda x: special.spherical_jn(2, x), 1.5, scipy.special.spherical_jn(2, 1.5, True)),
        (lambda x: special.spherical_kn(0, z=x), 1.5, scipy.special.spherical_kn(0, 1.5, True)),
    ],
)
def test_derivatives(f, x, slope):
    assert grad(f)(x) == pytest.approx(slope, abs=1e-14)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(np.array([x, x])), [slope, slope], rtol=1e-12, atol=1e-14)


def test_beyond_the_domain_of_comb_the_derivative_is_zero():
    assert special.comb(1.0, 2) == 0.0
    assert grad(lambda n: special.comb(n, 2.0) + special.perm(n, 2.0))(1.0) == 0.0


OURS = [name for name, f in vars(special).items() if hasattr(f, "__wrapped__") or name in ("comb", "perm")]


@pytest.mark.parametrize("name", [name for name in OURS if hasattr(scipy.special, name)])
def test_signatures_and_plain_values_are_scipys(name):
    found, expected = (inspect.signature(getattr(library, name)).parameters for library in (special, scipy.special))
    assert [(p.name, p.default, p.kind) for p in found.values()] == [
        (p.name, p.default, p.kind) for p in expected.values()
    ]
    args = {"polygamma": (2, 1.5), "multigammaln": (2.5, 2), "comb": (5, 2), "perm": (5, 2), "diric": (1.5, 4)}.get(
        name, (1, 1.5) if len(expected) == 3 else ([0.5, 1.5],)
    )
    y, plain = getattr(special, name)(*args), getattr(scipy.special, name)(*args)
    assert type(y) is type(plain)
    np.testing.assert_array_equal(y, plain)


def test_errors():
    with pytest.raises(ValueError, match="condition a"):
        grad(lambda a: special.multigammaln(a, 3))(0.5)
    with pytest.raises(TypeError, match=r"scipy\.special\.comb: with exact=True"):
        grad(lambda n: special.comb(n, 2, exact=True))(5.0)
    with pytest.raises(TypeError, match=r"scipy\.special\.perm: with exact=True"):
        grad(lambda n: special.perm(n, 2, exact=True))(5.0)
    with pytest.raises(NotImplementedError, match=r"logsumexp: with return_sign=True"):
        grad(lambda z: special.logsumexp(z, return_sign=True)[0])(np.array([1j, 2.0]))
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'"):
        grad(lambda x: special.softmax(x, axes=0)[0])(np.ones(2))
    with pytest.raises(TypeError, match="argument 'n' is a number that is being differentiated"):
        grad(lambda n: special.polygamma(n, 1.5))(1.0)
    with pytest.raises(TypeError, match=r"scipy\.special\.sph_harm_y: argument 'm' is a number"):
        grad(lambda m: np.real(special.sph_harm_y(2, m, 0.5, 0.3)))(1.0)
    with pytest.raises(TypeError, match="into a constant"):
        grad(lambda x: scipy.special.logsumexp(x))(np.ones(2))
    assert grad(lambda x: x * x)(3.0) == 6.0
