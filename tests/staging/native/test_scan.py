"""`scan` as native code: the arrays of what its rounds answer, and their derivatives."""

import numpy as np
import pytest

from shiftreset_ad import cond, fori_loop, grad, hvp, jacrev, scan, staged
from shiftreset_ad.staging.native.compiled import _are_same
from tests.staging.native.natively import native_and_steps, needs_native

pytestmark = needs_native

X = np.array([0.5, -1.25, 2.0, 0.75])
A = np.array([[0.5, -0.25], [0.125, 0.75], [-0.5, 0.25], [0.375, 1.0]])


def running(x):
    total, ys = scan(lambda c, y: (c * 0.5 + y, np.sin(c) * y), 0.25, x)
    return np.sum(ys * ys) + total * ys[1]


def of_rows(x):
    """The rows of an array, answered as arrays, as views and as numbers."""

    def f(c, y):
        z = np.tanh(c @ np.stack([y, y])) + y
        return z, (z * y, z[::-1][::-1][1:], z[0], np.stack([z, y]).T)

    c, (u, v, w, z) = scan(f, x[0], x)
    return np.sum(u * u) + v[2, 0] * w[1] + np.sum(z[1] * z[2]) + c[0]


def of_branches(x):
    def f(c, y):
        z = cond(y > 0.0, lambda: c * y, lambda: c - y)
        return z, (z, z > 0.25)

    c, (ys, signs) = scan(f, 1.0, x)
    return np.sum(np.where(signs, ys, 0.5 * ys)) * c


def in_a_loop(x):
    """The frames of each round are released."""

    def body(i, y):
        _, ys = scan(lambda c, z: (c + z, np.cos(c) * z), 0.0, y)
        return ys * 0.5 + x

    return np.sum(fori_loop(0, 3, body, x))


def of_a_constant(x):
    return np.sum(scan(lambda c, y: (c + y, 2.5), 0.0, x)[1] * x * x * x)


def of_an_outer_value(x):
    """Each round answers the same value, which is no value of the round."""
    y, z = x * 2.0, np.sin(x[0])
    _, (ys, zs) = scan(lambda c, u: (c + u * c, (y, z)), 1.0, x)
    return np.sum(ys[1] * x) + zs[0] * ys[0, 1]


@pytest.mark.parametrize(
    "operator",
    [
        lambda f: f,
        grad,
        lambda f: lambda x: hvp(f, (x,), (x,)),
        lambda f: grad(lambda x: np.sum(grad(f)(x) * x)),
    ],
)
@pytest.mark.parametrize(("f", "x"), [(running, X), (of_rows, A), (of_branches, X), (in_a_loop, X), (of_a_constant, X)])
def test_a_scan_has_the_bits_of_the_steps(f, x, operator):
    g = operator(f)
    code, steps = native_and_steps(g, x)
    entry = code.entry()
    for factor in (1.0, 0.5, -0.75):
        found = entry(x * factor)
        assert _are_same(found, steps([x * factor]))
        np.testing.assert_allclose(found[0], g(x * factor), rtol=1e-11)


def test_a_scan_that_answers_outer_values():
    code, steps = native_and_steps(of_an_outer_value, X)
    for factor in (1.0, 0.5, -0.75):
        found = code.entry()(X * factor)
        assert _are_same(found, steps([X * factor]))
        np.testing.assert_allclose(found[0], of_an_outer_value(X * factor), rtol=1e-12)


def test_a_scan_is_answered():
    f = staged(lambda x: scan(lambda c, y: (c + y, np.exp(-c) * y), 0.0, x))
    for factor in (1.0, 2.0, 3.0, 0.5):
        c, ys = f(X * factor)
        expected = scan(lambda c, y: (c + y, np.exp(-c) * y), 0.0, X * factor)
        assert np.array_equal(ys, expected[1])
        assert c == expected[0]
    assert "no native code" not in f.llvm[0]


def test_the_jacobian_of_a_scan():
    f = lambda x: scan(lambda c, y: (c * y, c + y), 1.0, x)[1]  # noqa: E731
    g = staged(jacrev(f))
    for factor in (1.0, 2.0, 3.0, 0.5):
        np.testing.assert_allclose(g(X * factor), jacrev(f)(X * factor), rtol=1e-12)
