"""Roots that SciPy finds: their derivatives against closed forms, in every mode, and errors."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.optimize

import shiftreset_ad as sr
from shiftreset_ad import grad, jacfwd, jacrev, jvp
from shiftreset_ad.optimize import NotConvergedError
from shiftreset_ad.scipy import optimize
from tests.rules.three_ways import check

BRACKETS = ["bisect", "brentq", "brenth", "ridder", "toms748"]


def cubic(x, p, q):
    return x**3 + q * x - p


def by_bracket(name):
    return lambda p, q: getattr(optimize, name)(cubic, 0.0, 5.0, args=(p, q))


def closed_over(p, q):
    return optimize.brentq(lambda x: x**3 + q * x - p, 0.0, 5.0)


def by_newton(p, q):
    return optimize.newton(cubic, 1.0, fprime=lambda x, p, q: 3 * x * x + q, args=(p, q), tol=1e-14)


def by_secants(p, q):
    return optimize.newton(cubic, 1.0, args=(p, q), tol=1e-14)


def scalar(p, q):
    return optimize.root_scalar(cubic, args=(p, q), bracket=(0.0, 5.0)).root


def scalar_with_slope(p, q):
    return optimize.root_scalar(lambda x: (x**3 + q * x - p, 3 * x * x + q), fprime=True, x0=1.0, xtol=1e-14).root


def of_vectors(p, q):
    return optimize.root(lambda x: x**3 + q * x - p, [1.0], tol=1e-14).x[0]


def with_jacobian(p, q):
    f = lambda x: (x**3 + q * x - p, [[3 * x[0] ** 2 + q]])  # noqa: E731
    return optimize.root(f, [1.0], jac=True, tol=1e-14).x[0]


def by_fsolve(p, q):
    return optimize.fsolve(cubic, [1.0], args=(p, q), xtol=1e-14)[0]


def exact(p, q):
    """Cardano's formula."""
    root = np.sqrt(p * p / 4.0 + q**3 / 27.0)
    return np.cbrt(p / 2.0 + root) - np.cbrt(root - p / 2.0)


FUNCTIONS = [
    *map(by_bracket, BRACKETS),
    *(closed_over, by_newton, by_secants, scalar, scalar_with_slope, of_vectors, with_jacobian, by_fsolve),
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=BRACKETS + [f.__name__ for f in FUNCTIONS[len(BRACKETS) :]])
def test_every_function_in_every_mode_to_second_order(f):
    x, v, every = (5.0, 1.5), (0.3, -0.7), (0, 1)
    assert f(*x) == pytest.approx(exact(*x), rel=1e-10)
    for mode in (jacfwd, jacrev):
        np.testing.assert_allclose(mode(f, every)(*x), mode(exact, every)(*x), rtol=1e-9)
    expected = sr.hvp(exact, x, v)
    gradient, slope = grad(f, every), (lambda *x: jvp(f, x, v)[1])
    for second in (jvp(gradient, x, v)[1], sr.vjp(gradient, *x)[1](v), grad(slope, every)(*x)):
        np.testing.assert_allclose(second, expected, rtol=1e-8)


def test_three_ways():
    generator = np.random.default_rng(0)
    check(closed_over, 5.0, 1.5, generator=generator, dtypes=False)

    def system(p, b):
        return optimize.root(lambda x: np.tanh(p @ x) + x - b, np.zeros(3), tol=1e-14).x

    check(system, generator.normal(size=(3, 3)), generator.normal(size=3), generator=generator, dtypes=False)


def test_many_roots_at_once():
    p = np.array([1.0, 8.0, 27.0])
    found = lambda p: optimize.newton(lambda x: x**3 - p, np.ones(3), tol=1e-14)  # noqa: E731
    for mode in (jacfwd, jacrev):
        np.testing.assert_allclose(mode(found)(p), np.diag(1.0 / (3.0 * p ** (2 / 3))), rtol=1e-9)
    _, converged, zero = optimize.newton(lambda x: x**3 - p, np.ones(3), full_output=True)
    assert converged.all()
    assert not zero.any()


def test_the_answers_are_scipys():
    theirs = scipy.optimize.brentq(cubic, 0.0, 5.0, (5.0, 1.5), full_output=True)

    def ours(p):
        x, result = optimize.brentq(cubic, 0.0, 5.0, (p, 1.5), full_output=True)
        assert sr.value(x) == theirs[0]
        assert result.iterations == theirs[1].iterations
        assert result.root is x
        return x

    grad(ours)(5.0)
    assert optimize.brentq(cubic, 0.0, 5.0, (5.0, 1.5)) == theirs[0]
    system = optimize.root(cubic, [1.0], (5.0, 1.5))
    assert system.keys() == scipy.optimize.root(cubic, [1.0], (5.0, 1.5)).keys()
    assert type(optimize.fsolve(cubic, 1.0, (5.0, 1.5), full_output=True)) is tuple
    for name in [*BRACKETS, "newton", "root_scalar", "root", "fsolve", "least_squares"]:
        assert inspect.signature(getattr(optimize, name)) == inspect.signature(getattr(scipy.optimize, name))


def test_the_start_does_not_move_a_root():
    assert grad(lambda a: a + optimize.brentq(lambda x: x - 1.0, a, 5.0))(0.5) == 1.0
    assert grad(lambda a: a + optimize.brentq(lambda x: a * x - 1.0, 0.0, 5.0 * a))(0.5) == pytest.approx(1.0 - 4.0)
    assert grad(lambda a: a * optimize.root(lambda x: x - 2.0, [a]).x[0])(0.5) == 2.0


def test_an_array_that_the_program_changes_after_the_call():
    def f(p):
        weight = np.array([2.0])
        x = optimize.brentq(lambda x: weight[0] * x - p, 0.0, 5.0)
        weight[:] = 5.0
        return x

    assert grad(f)(3.0) == pytest.approx(0.5)


def test_errors():
    class Held:
        p = 0.0

    def hidden(p):
        Held.p = p
        return optimize.brentq(lambda x: Held.p * x - p, 0.0, 5.0)

    with pytest.raises(TypeError, match="differentiated"):
        grad(hidden)(2.0)
    with pytest.raises(NotConvergedError, match=r"scipy\.optimize\.brentq: a derivative needs a solution.* Give"):
        grad(lambda p: optimize.brentq(lambda x: x**3 - p, 0.0, 5.0, maxiter=2, disp=False))(2.0)
    with pytest.raises(RuntimeError, match="Failed to converge"):
        grad(lambda p: optimize.brentq(lambda x: x**3 - p, 0.0, 5.0, maxiter=2))(2.0)
    with pytest.raises(NotConvergedError, match=r"scipy\.optimize\.root: .* `result`") as caught:
        grad(lambda p: optimize.root(lambda x: x**2 + p, [1.0]).x[0])(2.0)
    assert caught.value.result.success is False
    with pytest.raises(NotConvergedError, match=r"scipy\.optimize\.fsolve"):
        grad(lambda p: optimize.fsolve(lambda x: x**2 + p, [1.0])[0])(2.0)
    with pytest.raises(ValueError, match="different signs"):
        grad(lambda p: optimize.brentq(lambda x: x + p, 0.0, 5.0))(2.0)
    with pytest.raises(np.linalg.LinAlgError, match=r"scipy\.optimize\.bisect: a linear equation has no solution"):
        grad(lambda p: optimize.bisect(lambda x: np.where(x < p, -1.0, 1.0) + 0.0 * p, 0.0, 5.0))(2.0)
    assert grad(lambda x: x * x)(3.0) == 6.0
