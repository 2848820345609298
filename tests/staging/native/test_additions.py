"""The way back of `xs[i]` adds to one element, with the bits of the sum of whole arrays."""

import time

import numpy as np
import pytest

from shiftreset_ad import cond, fori_loop, grad
from shiftreset_ad.rules.indexing import scatter
from shiftreset_ad.staging.native.additions import Additions
from shiftreset_ad.staging.native.compiled import _are_same
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged
from tests.staging.native.natively import native, native_and_steps, needs_native

pytestmark = needs_native

X = np.array([0.5, -1.25, 2.0, -0.0, 0.75])
ROWS = np.arange(15.0).reshape(5, 3) / 7.0 - 1.0


def recurrence(xs, n):
    return fori_loop(0, n, lambda i, s: s * 0.5 + xs[i] * s, 1.0)


def twice(xs, n):
    return fori_loop(0, n, lambda i, s: s * xs[i] + xs[n - 1 - i] * xs[0], 1.0)


def rows(xs, n):
    return np.sum(fori_loop(0, n, lambda i, y: np.tanh(y * xs[i]) + y, xs[-1] * 1.0))


def columns(xs, n):
    return np.sum(fori_loop(0, n, lambda i, y: np.tanh(y * xs[1:, i]) + xs[i, ::2][0], xs[1:, 0] * 1.0))


def one(i):
    """An array of zeros, but for one element."""
    return scatter([3.0], [i], X.shape, X.dtype)


def on_an_argument(xs, n):
    """There may be -0.0 in the argument, which a sum of whole arrays makes 0.0."""
    return np.sum(fori_loop(0, n, lambda i, ys: ys + one(i), xs) ** 2)


def on_a_sum(xs, n):
    return np.sum(fori_loop(0, n, lambda i, ys: ys + one(i), xs * xs + 0.0) ** 2)


def times_zero(xs, n):
    """What is added is -0.0."""
    return -0.0 * recurrence(xs, n)


def of_a_branch(xs, n):
    return fori_loop(0, n, lambda i, s: cond(s > 0.5, lambda: s * xs[i], lambda: s + xs[i] * xs[i]), 1.0)


def of_a_view(xs, n):
    """The array that is added to is a view of one that is needed afterwards."""

    def body(i, ys):
        u = ys * 2.0
        v = u[::-1][::-1] + grad(lambda z: z[i] * 3.0)(u)
        return v * 0.25 + u * 0.125

    return np.sum(fori_loop(0, n, body, xs))


def of_an_array_that_is_needed(xs, n):
    """The array that is added to is an operand of a later step of the same round."""

    def body(i, ys):
        u = ys * ys + 0.0
        return (u + one(i)) * 0.25 + u * 0.125

    return np.sum(fori_loop(0, n, body, xs))


def of_the_state(xs, n):
    return np.sum(fori_loop(0, n, lambda i, ys: ys * 0.5 + ys[i] * ys, xs))


def sums_that_are_needed(xs, n):
    """What a round has summed up is needed in this round and in later ones."""

    def body(i, ys):
        zs = ys + grad(lambda y: y[i] * y[i])(ys)
        return zs * np.tanh(zs)

    return np.sum(fori_loop(0, n, body, xs))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        *[(f, X) for f in (recurrence, twice, times_zero, of_a_branch, of_a_view, of_the_state)],
        (of_an_array_that_is_needed, X),
        *[(sums_that_are_needed, X), (on_an_argument, X), (on_a_sum, X), (rows, ROWS), (columns, ROWS)],
    ],
)
@pytest.mark.parametrize("operator", [grad, lambda f: grad(lambda xs, n: np.sum(grad(f)(xs, n) * xs))])
def test_it_has_the_bits_of_the_steps(f, x, operator):
    g = operator(f)
    code, steps = native_and_steps(g, x, 3)
    entry = code.entry()
    for n in (3, 0, 1, 2):
        for factor in (1.0, -1.0, 0.0):
            found = entry(x * factor, n)
            assert _are_same(found, steps([x * factor, n])), (found, steps([x * factor, n]))


@pytest.mark.parametrize("start", [lambda xs: xs * 2.0, lambda xs: X], ids=["a new array", "a constant"])
def test_negative_zeros_stay_or_go_as_in_the_steps(start):
    inner = lambda xs, n: fori_loop(0, n, lambda i, ys: ys + one(i), start(xs))  # noqa: E731
    code, steps = native_and_steps(inner, X, 3)
    for n in (0, 1, 2):
        assert _are_same(code.entry()(X, n), steps([X, n]))
    assert np.signbit(code.entry()(X, 0)[0][3])
    assert not np.signbit(code.entry()(X, 1)[0][3])


@pytest.mark.parametrize(
    ("operator", "f", "x", "is_found"),
    [
        *[(grad, recurrence, X, True), (grad, rows, ROWS, True), (grad, of_a_branch, X, False)],
        *[(lambda f: f, on_an_argument, X, False), (lambda f: f, on_a_sum, X, True)],
    ],
)
def test_where_there_is_an_addition_in_place(operator, f, x, is_found):
    trace = Trace()
    outputs = [operator(f)(Staged(trace, trace.place_for(x)), Staged(trace, trace.place_for(3)))]
    assert bool(Additions(trace, Eliminated(trace, outputs), outputs).found) == is_found


def test_the_question_about_negative_zeros_has_an_end():
    """Each sum has two terms, of which each is a sum of the same values."""

    def f(xs, n):
        ys = [xs * 1.0, xs * 2.0]
        for _ in range(60):
            ys.append(ys[-1] + ys[-2])
        return np.sum(ys[-1] + one(n))

    code, steps = native_and_steps(f, X, 3)
    assert _are_same(code.entry()(X, 2), steps([X, 2]))


def test_the_time_of_a_round_does_not_grow_with_the_array():
    x = np.linspace(0.4, 0.6, 5000)
    entry = native(grad(recurrence), x, 3).entry()

    def seconds(n):
        start = time.perf_counter()
        assert entry(x, n) is not None
        return time.perf_counter() - start

    of_none, of_all = (min(seconds(n) for _ in range(20)) for n in (0, 5000))
    assert of_all < 100 * of_none


def by_a_table(xs, table, n):
    return fori_loop(0, n, lambda i, s: s * 0.9 + xs[table[i]] * xs[i] + 0.1 * xs[-1], 1.0)


def test_two_elements_in_a_round_that_may_be_the_same_one():
    """Where the elements are one, what is added to it is summed first."""
    derivative, curvature = grad(by_a_table), lambda xs, *more: grad(lambda ys: grad(by_a_table)(ys, *more)[1])(xs)
    points = [
        (X / 3.0, np.array(table), n) for table in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, -3, 2, 2, 4]) for n in (5, 3)
    ]
    for f in (derivative, curvature):
        code, steps = native_and_steps(f, *points[0])
        for point in points:
            assert _are_same(code.entry()(*point), steps(list(point)))


def test_two_elements_in_a_round_take_no_longer_in_a_larger_array():
    trace = Trace()
    outputs = [grad(by_a_table)(*[Staged(trace, trace.place_for(x)) for x in (X, np.array([0, 2, 1, 4, 3]), 5)])]
    left = Eliminated(trace, outputs)
    found = Additions(trace, left, outputs)
    assert [len(addition.values) for addition in found.found.values()] == [3]
    assert len(found.scatters) == 1


def test_two_elements_of_a_matrix():
    def f(xs, n):
        return fori_loop(0, n, lambda i, s: s * xs[i, 0] + xs[n - 1 - i, -1] * xs[i, 1], 1.0)

    code, steps = native_and_steps(grad(f), ROWS, 5)
    for n in (5, 4, 3, 1):
        assert _are_same(code.entry()(ROWS, n), steps([ROWS, n]))
