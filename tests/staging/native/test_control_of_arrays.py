"""Loops and branches on arrays as native code: the bits of the steps, memory, indices, and where it leaves."""

import numpy as np
import pytest

from shiftreset_ad import cond, fori_loop, grad, hvp, jvp, staged, value_and_grad
from shiftreset_ad.staging.native import frames
from shiftreset_ad.staging.native.compiled import _are_same
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import native, native_and_steps, needs_native
from tests.staging.native.test_control import interrupted, resident

pytestmark = needs_native

X = np.array([0.5, -1.25, 2.0])
A = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.2, 0.1]])
ROWS = np.arange(12.0).reshape(4, 3) / 7.0


def check(f, *points, leaves=0, rtol=1e-12):
    """That native code, made at the first point, has the bits of the steps at all points; it leaves at some of them."""
    code, steps = native_and_steps(f, *points[0])
    entry, left = code.entry(), 0
    for args in points:
        found = entry(*args)
        left += found is None
        if found is not None:
            assert _are_same(found, steps(list(args))), (args, found, steps(list(args)))
            np.testing.assert_allclose(found[0], f(*args), rtol=rtol)
    assert left == leaves
    return code


def layers(x, n):
    return fori_loop(0, n, lambda i, y: np.tanh(A @ y) + 0.5 * y, x)


def swapped(x, n):
    """What one array becomes, another one has been."""
    y, z = fori_loop(0, n, lambda i, s: (s[1], np.concatenate([s[0][1:], s[0][:1]]) * 1.5), (x, x * 2.0))
    return np.sum(y * y) + z[0]


def turned(x, n):
    """An array becomes its own view."""
    return fori_loop(0, n, lambda i, y: np.stack([y[2], y[0], y[1]]), x) @ X


def data(x, n):
    """Elements from outside, and of the state, at a counter."""
    return np.sum(fori_loop(0, n, lambda i, y: y * 0.5 + x[i] * y - y[i - 1], x))


@pytest.mark.parametrize("operator", [grad, lambda f: grad(lambda x, n: np.sum(grad(f)(x, n) * x)), value_and_grad])
@pytest.mark.parametrize("f", [lambda x, n: np.sum(layers(x, n)), swapped, turned, data])
def test_a_loop_has_the_bits_of_the_steps(f, operator):
    g = operator(f)
    points = [(X * s, n) for s, n in ((1.0, 2), (0.5, 0), (2.0, 1), (-1.0, 3))]
    code, steps = native_and_steps(g, *points[0])
    for args in points:
        assert _are_same(code.entry()(*args), steps(list(args)))


def test_arrays_are_answered():
    check(layers, (X, 2), (X, 1), (-X, 7))
    check(lambda x, n: jvp(lambda x: layers(x, n), (x,), (X,))[1], (X, 2), (X, 0), (-X, 7))
    check(lambda x, n: hvp(lambda x: np.sum(layers(x, n)), (x,), (X,)), (X, 2), (X, 0), (-X, 7))
    check(lambda x: cond(x[0] > 0.0, lambda: x * 2.0, lambda: -x), (X,), (-X,))


def test_an_answer_is_the_argument_where_no_round_is_carried_out():
    f = staged(layers)
    for n in (2, 2, 2, 0):
        y = f(X, n)
    assert "no native code" not in f.llvm[0]
    assert y is layers(X, 0) is X


def test_rows_at_a_counter():
    def f(xs, x):
        def body(i, y):
            return np.tanh(y + xs[i]) * xs[-1 - i, 1] + xs[i, 0]

        return np.sum(fori_loop(0, 4, body, x))

    for g in (f, grad(f), grad(f, argnums=1), lambda xs, x: hvp(lambda xs: f(xs, x), (xs,), (xs,))):
        check(g, (ROWS, X), (-ROWS, X), (ROWS * 2.0, -X))


def test_it_leaves_at_an_index_that_is_not_in_the_array():
    f = lambda xs, n: fori_loop(0, n, lambda i, y: y + xs[i], 0.5)  # noqa: E731
    for g in (f, grad(f)):
        check(g, (X, 2), (X, 3), (X, 4), (X, 2**40), leaves=2)
    g = staged(grad(f))
    for n in (2, 3, 2, 3):
        g(X, n)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        g(X, 4)


def test_an_array_from_outside_is_there_in_all_rounds():
    """Its memory is not used for arrays of the round, after the last step of the round that needs it."""

    def f(x, n):
        y = np.exp(x) * 0.1

        def body(i, z):
            u = y @ A
            v = u @ A
            return (v @ A) + z * 0.5

        return np.sum(fori_loop(0, n, body, np.tanh(x)))

    for g in (f, grad(f)):
        check(g, (X, 3), (-X, 5))


def test_an_array_of_a_branch_in_a_later_branch():
    def f(x, n):
        def body(i, y):
            z = cond(np.sum(y) > 0.0, lambda: np.sin(y) @ A, lambda: y * y)
            w = np.exp(-z * z) @ A
            return cond(w[0] > 0.2, lambda: w * z, lambda: z - w) + x

        return np.sum(fori_loop(0, n, body, x))

    for g in (grad(f), grad(lambda x, n: np.sum(grad(f)(x, n) * x))):
        check(g, (X, 3), (-X, 4), (X * 0.1, 2), rtol=1e-10)


def test_an_array_of_booleans_is_carried():
    def f(x, n):
        def body(i, s):
            y, seen = s
            return y * 0.5, seen | (y > 0.75)

        return np.sum(np.where(fori_loop(0, n, body, (x, x > 5.0))[1], x, 0.0))

    check(f, (X, 2), (X, 0), (-X, 3))
    check(grad(f), (X, 2), (X, 0), (-X, 3))


def test_frames_with_arrays_take_chunks_of_memory(monkeypatch):
    f = grad(lambda x, n: np.sum(layers(x, n)))
    code, steps = native_and_steps(f, X, 2)
    for n in (0, 1, 500, 5000):
        assert _are_same(code.entry()(X, n), steps([X, n]))
    monkeypatch.setattr(frames, "BEGIN", [line.replace("8192", "128") for line in frames.BEGIN])
    code, steps = native_and_steps(f, X, 2)
    for n in (0, 1, 50):
        assert _are_same(code.entry()(X, n), steps([X, n]))


@pytest.mark.slow
def test_memory_of_frames_with_arrays_is_given_back():
    entry = native(grad(lambda x, n: np.sum(layers(x, n))), X, 2).entry()
    entry(X, 100_000)
    before = resident()
    for _ in range(5):
        entry(X, 100_000)
    assert resident() - before < 4 * 2**20


def test_it_leaves_if_an_array_has_nan():
    f = lambda x: cond(x[0] > 0.0, lambda: x * 2.0, lambda: x * np.inf)  # noqa: E731
    entry = native(f, X).entry()
    assert np.array_equal(entry(X)[0], X * 2.0)
    assert entry(np.array([-1.0, 0.0, 1.0])) is None


def test_a_loop_on_a_large_array_is_interrupted_in_time():
    x = np.ones(60_000)
    entry = native(lambda x, n: fori_loop(0, n, lambda i, y: np.sin(y) * 0.5, x), x, 1).entry()
    with pytest.raises(TimeoutError, match="late"):
        interrupted(lambda: entry(x, 2**50), 0.05)


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x: fori_loop(0, 2, lambda i, y: y @ y.T, np.stack([x, x, x]).T + 0.0), "another layout"),
        (lambda x: fori_loop(0, 2, lambda i, y: y * 2.0, x.astype(np.float32)), "float32"),
    ],
)
def test_other_layouts_are_refused(f, reason):
    with pytest.raises(NoNativeFormError, match=reason):
        native(lambda x: fori_loop(0, 1, lambda i, y: y, x[0]) + f(x), X)
    g = staged(f)
    for _ in range(3):
        np.testing.assert_allclose(g(X), f(X), rtol=1e-12)


def test_one_array_that_is_answered_twice_is_refused():
    """The function returns one array under two names."""
    f = lambda x: cond(x[0] > 0.0, lambda: (x, x), lambda: (-x, x))  # noqa: E731
    with pytest.raises(NoNativeFormError, match="share memory"):
        native(f, X)
    g = staged(f)
    for _ in range(4):
        y, z = g(X)
        assert np.array_equal(y, X)
        assert np.array_equal(z, X)
