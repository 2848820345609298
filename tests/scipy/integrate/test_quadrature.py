"""`quad`, `nquad`, `dblquad` and `tplquad`: derivatives in parameters, ends and break points, against closed forms."""

from __future__ import annotations

import inspect
import math
import warnings

import numpy as np
import pytest
import scipy.integrate

import shiftreset_ad as sr
from shiftreset_ad import grad, jacfwd, jacrev, jvp
from shiftreset_ad.scipy import integrate
from shiftreset_ad.scipy.integrate import dblquad, nquad, quad, tplquad
from tests.rules.three_ways import check

INF = np.inf


def of_sine(a, b, p):
    return quad(lambda x, p: np.sin(p * x), a, b, args=(p,))[0]


def of_bell(p, c):
    return quad(lambda x: np.exp(-p * (x - c) ** 2), -INF, INF)[0]


def of_tail(p, a):
    return quad(lambda x: np.exp(-p * x), a, INF)[0]


def of_tail_on_the_left(p, a):
    return quad(lambda x: np.exp(p * x), -INF, a)[0]


def with_a_jump(c, p):
    return quad(lambda x: np.where(x < c, p * x * x, 3.0), 0.0, 2.0, points=[c])[0]


def with_a_jump_from_right_to_left(c, p):
    return quad(lambda x: np.where(x < c, p * x * x, 3.0), 2.0, 0.0, points=[c, 0.3])[0]


def of_vectors(p, w):
    return quad(lambda x, p: np.sum(p * np.cos(x * w)), 0.0, 1.0, args=(p,))[0]


def over_a_triangle(p, a):
    return nquad(lambda x, y, q: q * x * np.exp(y * a), [lambda y, q: (0.0, a * y), (0.0, p)], args=(p,))[0]


CLOSED = [
    (of_sine, lambda a, b, p: (np.cos(p * a) - np.cos(p * b)) / p, (0.3, 1.2, 2.0)),
    (of_sine, lambda a, b, p: (np.cos(p * a) - np.cos(p * b)) / p, (1.2, -0.3, 2.0)),
    (of_sine, lambda a, b, p: (np.cos(p * a) - np.cos(p * b)) / p, (0.5, 0.5, 2.0)),
    (of_bell, lambda p, c: np.sqrt(np.pi / p) + 0.0 * c, (2.0, 0.3)),
    (of_tail, lambda p, a: np.exp(-p * a) / p, (2.0, 0.5)),
    (of_tail_on_the_left, lambda p, a: np.exp(p * a) / p, (2.0, 0.5)),
    (with_a_jump, lambda c, p: p * c**3 / 3.0 + 3.0 * (2.0 - c), (0.7, 1.3)),
    (with_a_jump_from_right_to_left, lambda c, p: -p * c**3 / 3.0 - 3.0 * (2.0 - c), (0.7, 1.3)),
    (of_vectors, lambda p, w: np.sum(p * np.sin(w) / w), (np.array([1.0, 2.0, -1.0]), np.array([0.5, 1.5, 2.0]))),
]


@pytest.mark.parametrize(("f", "closed", "xs"), CLOSED, ids=[f.__name__ for f, _, _ in CLOSED])
def test_closed_forms_to_second_order(f, closed, xs):
    every = tuple(range(len(xs)))
    np.testing.assert_allclose(f(*xs), closed(*xs), rtol=1e-7)
    for mode in (jacfwd, jacrev):
        for found, expected in zip(mode(f, every)(*xs), mode(closed, every)(*xs), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
    v = tuple(np.cos(np.arange(1.0, 1.0 + np.size(x))).reshape(np.shape(x))[()] for x in xs)
    expected = sr.hvp(closed, xs, v)
    gradient, slope = grad(f, every), (lambda *xs: jvp(f, xs, v)[1])
    seconds = [
        jvp(gradient, xs, v)[1],
        sr.vjp(gradient, *xs)[1](v),
        grad(slope, every)(*xs),
    ]
    for second in seconds:
        for found, exact in zip(second, expected, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-7)


def test_three_ways():
    generator = np.random.default_rng(0)
    for f, x in ((of_sine, (0.3, 1.2, 2.0)), (of_vectors, (np.array([1.0, 2.0]), np.array([0.5, 1.5])))):
        check(f, *x, generator=generator, dtypes=False)


def test_third_derivatives_and_nesting():
    assert grad(grad(grad(lambda p: of_tail(p, 0.0))))(2.0) == pytest.approx(-6.0 / 16.0, rel=1e-7)
    nested = grad(lambda p: grad(lambda a: of_tail(p, a))(0.5) * p)(2.0)  # of -p exp(-p a)
    assert nested == pytest.approx(-math.exp(-1.0) + 2.0 * 0.5 * math.exp(-1.0), abs=1e-9)


def test_the_integral_in_an_integrand():
    """A number of an outer derivative in the ends of an inner integral."""

    def f(p):
        return quad(lambda y: quad(lambda x: x * y * p, 0.0, p * y)[0], 0.0, 1.0)[0]  # p^3 / 8

    assert grad(f)(2.0) == pytest.approx(1.5, rel=1e-8)
    assert grad(grad(f))(2.0) == pytest.approx(1.5, rel=1e-7)


@pytest.mark.slow
def test_several_variables():
    np.testing.assert_allclose(over_a_triangle(1.5, 0.7), 0.5 * 1.5 * 0.49 * sum_of_triangle(1.5, 0.7), rtol=1e-8)
    exact = lambda p, a: 0.5 * p * a * a * sum_of_triangle(p, a)  # noqa: E731
    for mode in (jacfwd, jacrev):
        np.testing.assert_allclose(mode(over_a_triangle, (0, 1))(1.5, 0.7), mode(exact, (0, 1))(1.5, 0.7), rtol=1e-7)
    double = lambda p: dblquad(lambda y, x, q: q * x * y, 0.0, p, lambda x: x, 2.0, args=(p,))[0]  # noqa: E731
    assert grad(double)(1.5) == pytest.approx(3 * 1.5**2 - 5 * 1.5**4 / 8, rel=1e-8)
    assert grad(grad(double))(1.5) == pytest.approx(6 * 1.5 - 5 * 1.5**3 / 2, rel=1e-6)
    triple = lambda p: tplquad(lambda z, y, x: x * y * z, 0, 1, 0, lambda x: p, 0, lambda x, y: x, epsrel=1e-6)[0]  # noqa: E731
    assert grad(triple)(1.5) == pytest.approx(1.5 / 8.0, rel=1e-6)


def sum_of_triangle(p, a):
    """The integral of y^2 exp(a y) from 0 to p."""
    return np.exp(a * p) * (p * p / a - 2 * p / a**2 + 2 / a**3) - 2 / a**3


def test_complex_integrands():
    f = lambda p: quad(lambda x: np.exp(1j * p * x), 0.0, 1.0, complex_func=True)[0]  # noqa: E731
    exact = lambda p: (np.exp(1j * p) - 1.0) / (1j * p)  # noqa: E731
    for part in (np.real, np.imag):
        found, expected = (grad(lambda p, f=f, part=part: part(f(p)))(2.0) for f in (f, exact))
        assert found == pytest.approx(expected, rel=1e-9)
    with pytest.raises(TypeError, match=r"integrals in real numbers.* complex_func=True"):
        grad(lambda p: np.real(quad(lambda x: p * x * 1j, 0.0, 1.0)[0]))(2.0 + 1j)


def test_weights():
    def f(p, **options):
        return quad(lambda x, p: np.exp(-p * x), 0.0, 1.0, args=(p,), **options)[0]

    def by_hand(p, weight):
        return quad(lambda x: np.exp(-p * x) * weight(x), 0.0, 1.0)[0]

    for name, wvar, weight in (
        ("cos", 3.0, lambda x: np.cos(3.0 * x)),
        ("sin", 3.0, lambda x: np.sin(3.0 * x)),
        ("alg", (0.5, 1.0), lambda x: np.sqrt(x) * (1.0 - x)),
    ):
        expected = grad(lambda p, weight=weight: by_hand(p, weight))(2.0)
        assert grad(lambda p, n=name, w=wvar: f(p, weight=n, wvar=w))(2.0) == pytest.approx(expected, rel=1e-6)
    with pytest.raises(NotImplementedError, match=r"no derivative in wvar with weight='cos'.* as a factor"):
        grad(lambda w: f(2.0, weight="cos", wvar=w))(3.0)
    with pytest.raises(NotImplementedError, match="no derivative in the ends with weight='cos'"):
        grad(lambda b: quad(np.exp, 0.0, b, weight="cos", wvar=1.0)[0])(3.0)


def test_singular_ends_are_not_asked_for():
    assert grad(lambda p: quad(lambda x: p / x**0.5, 0.0, 1.0)[0])(3.0) == pytest.approx(2.0, rel=1e-8)
    assert grad(lambda p: quad(lambda x: math.log(x) * p, 0.0, 1.0)[0])(3.0) == pytest.approx(-1.0, rel=1e-8)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_precision_is_relative_to_the_derivative(scale):
    f = lambda p: scale * quad(lambda x: np.exp(-p * x), 0.0, 1.0)[0]  # noqa: E731
    expected = scale * ((2.0 + 1.0) * math.exp(-2.0) - 1.0) / 4.0
    assert grad(f)(2.0) == pytest.approx(expected, rel=1e-9)
    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(expected, rel=1e-9)


def test_values_and_messages_are_scipys():
    f = lambda x, p: np.exp(-p * x)  # noqa: E731
    theirs = scipy.integrate.quad(f, 0.0, 1.0, (2.0,), 1)

    def ours(p):
        found = quad(f, 0.0, 1.0, (p,), 1)
        assert sr.value(found[0]) == theirs[0]
        assert found[1] == theirs[1]
        assert found[2]["neval"] == theirs[2]["neval"]
        return found[0]

    grad(ours)(2.0)
    jvp(ours, (2.0,), (1.0,))
    assert quad(f, 0.0, 1.0, (2.0,)) == theirs[:2]
    with pytest.warns(scipy.integrate.IntegrationWarning):
        grad(lambda p: quad(lambda x: p / x, 0.0, 1.0)[0])(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value, _, more = nquad(lambda x, y: x * y, [(0, 1), (0, 1)], full_output=True)
    assert (value, more["neval"]) == (pytest.approx(0.25), 441)


def test_an_array_that_the_program_changes_after_the_call():
    def f(b):
        weight = np.array([2.0])
        y = quad(lambda x: x * weight[0], 0.0, b)[0]
        weight[:] = 5.0
        return y

    assert grad(f)(3.0) == pytest.approx(6.0)


def test_errors():
    class Held:
        k = 0.0

    def hidden(p):
        Held.k = p
        return quad(lambda x: Held.k * x, 0.0, p)[0]

    with pytest.raises(TypeError, match=r"neither in args nor in the closure.* Pass it by args"):
        grad(hidden)(2.0)
    with pytest.raises(ValueError, match="break points"):
        grad(lambda p: quad(lambda x: p * x, 0.0, INF, points=[1.0])[0])(2.0)
    with pytest.raises(ZeroDivisionError):
        grad(lambda p: quad(lambda x: p / 0, 0.0, 1.0)[0])(2.0)
    assert grad(lambda x: x * x)(3.0) == 6.0


@pytest.mark.parametrize("name", ["quad", "nquad", "dblquad", "tplquad"])
def test_the_signatures_are_scipys(name):
    ours, theirs = (inspect.signature(getattr(module, name)).parameters for module in (integrate, scipy.integrate))
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]
