"""Answers that are views of arrays, as they are in Python: with the strides, the memory and the flags."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftreset_ad import fori_loop, grad, jacfwd, jvp, staged
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import check, native, needs_native

pytestmark = needs_native
X = np.random.default_rng(0).normal(size=(40, 30))


def of(y, *views):
    return tuple(view(y) for view in views)


def written_later(x):
    y = x * 2.0
    rows, last = y[::2], y[:, -1]
    y[0] = 7.0
    rows *= 3.0
    return rows, last


CASES = {
    "transposed": lambda x: (x * 2.0).T,
    "reversed": lambda x: (x * 2.0)[::-1],
    "a column": lambda x: (x * 2.0)[:, 3],
    "a column of a small array": lambda x: (x[:3, :3] * 2.0)[:, 1],
    "reshaped": lambda x: (x * 2.0).reshape(-1),
    "read-only": lambda x: np.broadcast_to((x * 2.0)[0], (5, 30)),
    "read-only, and like a new array": lambda x: np.ravel(np.broadcast_to((x * 2.0)[0], (2, 30))[-1:]),
    "of three axes": lambda x: np.exp(np.transpose((x * 2.0).reshape(4, 10, 30), (1, 2, 0)))[1:, ::2],
    "of truth values": lambda x: (x > 0.0).T,
    "of a product": lambda x: (x @ x.T)[:, ::3],
    "an array and its view": lambda x: of(x * 2.0, lambda y: y, np.transpose),
    "a view and its array": lambda x: of(x[:3, :3] * 2.0, np.transpose, lambda y: y),
    "parts": lambda x: of(x * 2.0, lambda y: y[:10], lambda y: y[10:25], lambda y: y[25:]),
    "parts by split": lambda x: tuple(np.split(x * 2.0, [7, 11], axis=1)),
    "parts that overlap": lambda x: of(x * 2.0, lambda y: y[:20, 1:], lambda y: y[10:, ::-1]),
    "parts of two arrays": lambda x: (*of(x * 2.0, np.transpose, np.ravel), *of(x + 1.0, lambda y: y[1:], lambda y: y)),
    "written later": written_later,
    "a gradient": grad(lambda x: np.sum(np.tanh(x.T) * x.T)),
    "a Jacobian": lambda x: jacfwd(lambda x: np.sin(x) * x[::-1])(x[0, :3]),
    "both values of jvp": lambda x: jvp(lambda x: np.exp(x).T, (x,), (x,)),
}


def answers(f, x):
    found = f(x)
    return list(found) if isinstance(found, tuple) else [found]


def assert_alike(found, expected):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
        assert (x.strides, x.dtype, x.flags.writeable) == (y.strides, y.dtype, y.flags.writeable)
        assert (x.flags.c_contiguous, x.flags.f_contiguous) == (y.flags.c_contiguous, y.flags.f_contiguous)
    for i, j in itertools.combinations(range(len(found)), 2):
        assert np.shares_memory(found[i], found[j]) == np.shares_memory(expected[i], expected[j])


@pytest.mark.parametrize("name", CASES)
def test_answers_are_as_in_python(name):
    f = CASES[name]
    entry = check(f, (X,), (-X,)).entry()
    for x in (X, X + 1.0):
        assert_alike(entry(x), answers(f, x))


def test_a_write_to_an_answer_is_seen_in_its_views():
    y, transposed = native(CASES["an array and its view"], X).entry()(X)
    assert transposed.base is y
    transposed[2, 1] = 5.0
    assert y[1, 2] == 5.0


@pytest.mark.parametrize("name", ["transposed", "a view and its array", "parts of two arrays"])
def test_nothing_keeps_an_answer_alive(name):
    found = native(CASES[name], X).entry()(X)
    expected = answers(CASES[name], X)
    assert [sys.getrefcount(x) for x in found] == [sys.getrefcount(x) for x in expected]
    owners = {id(x.base): sys.getrefcount(x.base) for x in found if x.base is not None}
    as_in_python = {id(x.base): sys.getrefcount(x.base) for x in expected if x.base is not None}
    assert sorted(owners.values()) == sorted(as_in_python.values())


def test_an_array_that_is_answered_twice_is_refused():
    """In Python, both answers are one object."""
    with pytest.raises(NoNativeFormError, match="share memory"):
        native(lambda x: of(x * 2.0, lambda y: y, lambda y: y, np.transpose), X)


def test_a_copy_where_python_has_a_view_is_refused_beside_its_array():
    """An array at an index that is a value is a copy in native code."""
    f = staged(lambda x, i: of(x * 2.0, lambda y: y, lambda y: y[i]))
    for i in (1, 2, 0, 1, 3):
        y, row = f(X, i)
        assert np.shares_memory(y, row)
        np.testing.assert_array_equal(row, X[i] * 2.0)


def test_a_view_of_an_argument_is_refused():
    f = staged(lambda x: (x * 2.0, x.T[1:]))
    for _ in range(4):
        doubled, view = f(X)
        assert np.shares_memory(view, X)
        np.testing.assert_array_equal(doubled, 2.0 * X)


def test_views_of_what_loops_answer():
    def f(x, n):
        y = fori_loop(0, n, lambda i, y: np.sin(y) + x, x * 1.0)
        return y.T[1:], np.sum(y)

    compiled = staged(f)
    for n in (3, 5, 1, 7, 2):
        expected, total = f(X, n)
        found, total_found = compiled(X, n)
        assert_alike([found], [expected])
        assert total == total_found
    assert "as native code" in compiled.report()


def test_what_loops_answer_shares_memory_as_in_python():
    """Nobody knows before the run which array a loop answers, so such a program runs by NumPy steps."""

    def f(x, n):
        y = fori_loop(0, n, lambda i, y: np.sin(y) + x, x * 1.0)
        return y, y.T[1:]

    compiled = staged(f)
    for n in (3, 5, 1, 7, 2):
        assert_alike(compiled(X, n), f(X, n))
    assert "it returns arrays that share memory" in compiled.report()


VIEWS = [
    *(np.transpose, np.ravel, lambda y: y[::-1], lambda y: y[1:], lambda y: y[..., ::2], lambda y: y[..., 0]),
    *(lambda y: y[None], lambda y: np.broadcast_to(y, (2, *y.shape)), lambda y: y.reshape(-1, 1)),
    *(lambda y: np.swapaxes(y, 0, -1), lambda y: y[-1:], lambda y: y.reshape(2, -1) if y.size % 2 == 0 else y),
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(VIEWS), max_size=3), min_size=1, max_size=3), st.sampled_from([3, 16]))
def test_any_views(chains, length):
    def f(x):
        y = x * 2.0 + 1.0
        made = []
        for chain in chains:
            z = y
            for view in chain:
                z = view(z) if z.ndim else z
            made.append(z)
        return tuple(made)

    x, compiled = np.random.default_rng(1).normal(size=(length, 12)), staged(f)
    for _ in range(4):  # by NumPy, and then as native code
        assert_alike(compiled(x), f(x))
    if all(z.ndim and z.size for z in f(x)) and len(chains) == 1:
        assert "as native code" in compiled.report()
