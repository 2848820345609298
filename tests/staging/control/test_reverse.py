"""Derivatives through loops and branches: closed forms, finite differences, orders 1 to 3, mixed modes."""

import math

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import cond, fori_loop, grad, staged, while_loop

POINTS = [(0.6, 2), (-0.8, 3), (1.1, 0), (0.3, 4)]


def nth(f, order):
    """The derivative of this order, by reverse mode in reverse mode."""
    for _ in range(order):
        f = grad(f)
    return f


PROGRAMS = {
    "a carried value": lambda x, n: fori_loop(0, n, lambda i, y: np.tanh(y * y), x),
    "a value from outside": lambda x, n: fori_loop(0, n, lambda i, y: (lambda a: a * a)(x - np.tanh(x * 0.3)), 0.3),
    "both": lambda x, n: fori_loop(0, n, lambda i, y: np.sin(y * x) + y, x),
    "two carried values": lambda x, n: fori_loop(0, n, lambda i, y: (y[0] * y[1], y[0]), (x * 0.7, x - 0.2))[1],
    "a loop in a loop": lambda x, n: fori_loop(
        0, n, lambda i, y: fori_loop(0, n, lambda j, z: np.tanh(z * z + x * y), y), x
    ),
    "a branch": lambda x, n: cond(x > 0.35, lambda: np.sqrt(x) * x, lambda: np.tanh(x * 2.0)),
    "a branch of a constant": lambda x, n: cond(x > 0.35, lambda: np.exp(x) * np.exp(x), lambda: 0.3) * x,
    "a branch in a loop": lambda x, n: fori_loop(
        0, n, lambda i, y: cond(y > 0.1, lambda: np.sin(y) * x, lambda: y * y * x), x
    ),
    "a loop in a branch": lambda x, n: cond(
        x > 0.35, lambda: fori_loop(0, n, lambda i, y: np.sin(y + x), x), lambda: x * x * x
    ),
    "a loop that ends by its values": lambda x, n: while_loop(
        lambda s: (s[0] * s[0] < 2.0) & (s[1] < 5), lambda s: (s[0] * 1.5 + 0.1 * x * x * s[0], s[1] + 1), (x, 0)
    )[0],
}


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_of_each_order(name, order):
    f = PROGRAMS[name]
    g, below = staged(nth(f, order)), nth(f, order - 1)
    for x, n in POINTS:
        found = g(x, n)
        assert found == pytest.approx(nth(f, order)(x, n), rel=1e-10, abs=1e-12)
        difference = (below(x + 1e-6, n) - below(x - 1e-6, n)) / 2e-6
        assert found == pytest.approx(difference, rel=1e-5, abs=1e-6)
    assert len(g.sources) == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_mode_and_series_agree_with_reverse_mode(name):
    f = PROGRAMS[name]
    mixed = {
        "jvp of grad": staged(lambda x, n: sr.jvp(lambda x: grad(f)(x, n), (x,), (1.0,))[1]),
        "grad of jvp": staged(lambda x, n: grad(lambda x: sr.jvp(lambda x: f(x, n), (x,), (1.0,))[1])(x)),
        "derivative": staged(lambda x, n: sr.derivative(f, 2)(x, n)),
    }
    for x, n in POINTS:
        for operator, g in mixed.items():
            assert g(x, n) == pytest.approx(nth(f, 2)(x, n), rel=1e-9, abs=1e-12), operator
    assert all(len(g.sources) == 1 for g in mixed.values())


def test_closed_forms():
    """x to the power of n, and the square root by Newton's method."""
    g = [staged(nth(lambda x, n: fori_loop(0, n, lambda i, y: y * x, 1.0), k)) for k in range(4)]
    for x, n in ((1.1, 9), (0.7, 4), (2.0, 20)):
        for k in range(4):
            assert g[k](x, n) == pytest.approx(math.perm(n, k) * x ** (n - k), rel=1e-12)

    def root(a):
        return while_loop(lambda x: abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a)

    h = [staged(nth(root, k)) for k in range(3)]
    for a in (2.0, 50.0, 0.3):
        assert h[0](a) == pytest.approx(a**0.5)
        assert h[1](a) == pytest.approx(0.5 * a**-0.5)
        assert h[2](a) == pytest.approx(-0.25 * a**-1.5, rel=1e-6)


def test_arrays_in_the_state():
    """A linear system by steps of its residual: the derivative of the solution is that of the inverse."""
    matrix = np.array([[0.3, 0.1], [-0.2, 0.4]])

    def solution(b, tolerance):
        def body(x):
            return matrix @ x + b

        return while_loop(lambda x: np.max(np.abs(body(x) - x)) > tolerance, body, np.zeros_like(b))

    g = staged(sr.jacobian(solution))
    for tolerance in (1e-13, 1e-14):
        found = g(np.array([1.0, 2.0]), tolerance)
        np.testing.assert_allclose(found, np.linalg.inv(np.eye(2) - matrix), rtol=1e-10)
    assert len(g.sources) == 1


def test_elements_that_are_read_and_numbers_in_lists():
    def f(u, n):
        def body(i, s):
            x, v = s
            return [x + np.sin(u[i]) * v[0], v * 0.5 + np.stack([x, x * x, u[i]])]

        x, v = fori_loop(0, n, body, [u[0], u])
        return x * np.sum(v)

    g = staged(sr.hessian(f))
    for n in (1, 3, 2):
        u = np.array([0.3, -0.7, 0.5]) * n
        np.testing.assert_allclose(g(u, n), sr.hessian(f)(u, n), rtol=1e-12)
    assert len(g.sources) == 1


def test_a_pullback_may_run_again():
    def f(x, n):
        y, pullback = sr.vjp(lambda x: fori_loop(0, n, lambda i, y: np.tanh(y + x), x), x)
        return y, pullback(1.0), pullback(3.0), pullback(0.0)

    g = staged(f)
    for x, n in POINTS:
        y, (a,), (b,), (c,) = g(x, n)
        assert (b, c) == (pytest.approx(3.0 * a), 0.0)
        assert (y, a) == pytest.approx((f(x, n)[0], f(x, n)[1][0]))


def test_rules_of_the_users_in_a_round():
    @sr.custom_vjp
    def cube(x):
        return x * x * x

    cube.defvjp(lambda x: (cube(x), x), lambda x, y_bar: (3.0 * x * x * y_bar,))

    def f(x, n):
        return fori_loop(0, n, lambda i, y: cube(y) * 0.5 + x, x)

    g = staged(grad(f))
    for x, n in POINTS:
        assert g(x, n) == pytest.approx(grad(f)(x, n), rel=1e-12)
    assert len(g.sources) == 1


def test_a_derivative_in_a_round():
    """Newton's method, with the slope by grad, and the derivative of its answer."""

    def root(c):
        def h(x):
            return x * x * x + x - c

        return while_loop(lambda x: np.abs(h(x)) > 1e-13, lambda x: x - h(x) / grad(h)(x), c)

    g = staged(grad(root))
    for c in (2.0, 5.0, 0.3):
        x = root(c)
        assert g(c) == pytest.approx(1.0 / (3.0 * x * x + 1.0), rel=1e-6)
    assert len(g.sources) == 1


def test_a_later_visit_reads_what_a_visit_without_steps_of_its_own_was_given():
    """The adjoint of `s` is the same in all rounds, and the second derivative needs it in a visit of each round."""

    def f(x, n):
        c = 0.0

        def loss(w):
            s = w
            for _ in range(n):
                s = s + w * w * c
            return s

        for _ in range(n):
            c = c + grad(loss)(x)
        return c

    for g in (grad(grad(f)), grad(grad(grad(f)))):
        for first in (0, 2):
            compiled = staged(g)
            for x, n in (*[(0.7, first)] * 4, (0.9, 4), (0.6, 3), (0.7, 0), (1.3, 2)):
                assert compiled(x, n) == pytest.approx(g(x, n), rel=1e-12)
            assert "in 1 way" in compiled.report()
