"""Slices between two values, whose length is known: the code leaves where the slice has another one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftreset_ad import grad, hvp, jvp, staged, zeros
from shiftreset_ad.staging.native.compiled import _are_same
from tests.staging.native.natively import calls_pay, native, native_and_steps, needs_native

pytestmark = needs_native
X = np.linspace(-1.0, 2.0, 12)
A = np.linspace(-1.0, 2.0, 24).reshape(6, 4)
LARGE = 2**62
FORMS = {
    "from, to": (X, lambda x, i, j: x[i:j] * 2.0),
    "to": (X, lambda x, i, j: x[: j - i] * 2.0),
    "from": (X, lambda x, i, j: x[i - j :] * 2.0),
    "from a constant": (X, lambda x, i, j: x[1:j] * 2.0),
    "to a constant": (X, lambda x, i, j: x[i:-3] * 2.0),
    "rows": (A, lambda x, i, j: np.sin(x[i:j])),
    "columns": (A, lambda x, i, j: x[:, i:j] * 2.0),
    "columns of each second row": (A, lambda x, i, j: x[::2, i:j] @ np.ones(2)),
    "rows and columns": (A, lambda x, i, j: x[i:j, i:j] + 1.0),
    "a row from a column on": (A, lambda x, i, j: x[i, i:j] + 1.0),
    "before an ellipsis": (A, lambda x, i, j: x[..., i:j] + 1.0),
    "with a new axis": (A, lambda x, i, j: x[None, i:j] + 1.0),
    "of the transpose": (A, lambda x, i, j: x.T[i:j] * 2.0),
    "of a view": (X, lambda x, i, j: x[::2][i:j] * 2.0),
    "of truth values": (X > 0.0, lambda x, i, j: x[i:j] & x[i:j]),
    "of integers": (np.arange(12), lambda x, i, j: np.sum(x[i:j] * 1.5)),
    "of a number's own steps": (X, lambda x, i, j: np.sum(x[i : i + 1] * x[j - 1 : j])),
}


@pytest.mark.parametrize(("x", "f"), FORMS.values(), ids=FORMS)
def test_a_window_is_where_numpy_has_it_or_the_code_leaves(x, f):
    with calls_pay(False):
        code, steps = native_and_steps(f, x, 1, 3)
    entry = code.entry()
    like = f(x, 1, 3)
    places = (0, 1, 2, 3, 5, 6, 12, 13, -1, -2, -4, -6, -13, LARGE, -LARGE, 2**63 - 1, -(2**63))
    taken = 0
    for i in places:
        for j in places:
            try:
                expected = f(x, i, j)
            except (IndexError, ValueError):
                expected = None
            found = entry(x, i, j)
            if found is None:  # `j - i` may be too large for a register
                assert expected is None or np.shape(expected) != np.shape(like) or abs(i - j) > LARGE or like.ndim == 0
                continue
            taken += 1
            assert np.array_equal(found[0], expected)
            assert found[0].dtype == expected.dtype
            assert _are_same(found, steps([x, i, j]))
    assert taken > 3


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 4), st.integers(0, 2))
def test_any_window_of_any_axis(i, j, width, axis):
    x = np.linspace(0.0, 1.0, 120).reshape(4, 5, 6)
    index = (slice(None),) * axis

    def f(x, i, j):
        return x[(*index, slice(i, j))] * 2.0

    with calls_pay(False):
        entry = native(f, x, 0, width).entry()
    found, expected = entry(x, i, j), f(x, i, j)
    assert (found is None) == (expected.shape != f(x, 0, width).shape)
    assert found is None or np.array_equal(found[0], expected)


@pytest.mark.parametrize("ends", [(2, 2), (3, 1)])
def test_a_window_without_elements(ends):
    f = staged(lambda x, i, j: np.sum(x[i:j]) + np.sum(x))
    for i, j in (ends, ends, ends, (1, 4), (5, 5), (3, 1)):
        assert f(X, i, j) == np.sum(X[i:j]) + np.sum(X)


def smoothed(x, n):
    """Windows that overlap."""
    total = 0.0
    for i in range(n):
        total = total + np.sum(np.sin(x[i : i + 3] * x[i + 1 : i + 4]))
    return total


def of_batches(x, n):
    w = x[:4] * 1.0
    for k in range(n):
        batch = A[k : k + 2]
        w = w - 0.1 * (batch @ w) @ batch
    return np.sum(w * w)


def written(x, n):
    y = zeros(12)
    for i in range(n):
        y[i : i + 2] = x[i + 1 : i + 3] * x[i : i + 2]
        y[i + 1 : i + 4] += x[i : i + 3]
    return np.sum(y * y * y)


def read_before_a_write(x, n):
    """A slice is a view: it has what is written later."""
    y = x * 1.0
    total = 0.0
    for i in range(n):
        window = y[i : i + 3]
        y[i + 1] = total + 2.0
        total = total + np.sum(window * window)
    return total


def through_a_view(x, n):
    y = x * 1.0
    for i in range(n):
        window = y[i : i + 3]
        window[1:] = window[:2] * 0.5
    return np.sum(y * y)


PROGRAMS = [smoothed, of_batches, written, read_before_a_write, through_a_view]
MODES = {
    "value": lambda f: f,
    "reverse": grad,
    "forward": lambda f: lambda x, n: jvp(lambda x: f(x, n), (x,), (np.cos(x),)),
    "forward over reverse": lambda f: lambda x, n: hvp(lambda x: f(x, n), (x,), (np.cos(x),)),
    "reverse over reverse": lambda f: grad(lambda x, n: np.sum(grad(f)(x, n) * np.cos(x))),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_windows_in_loops(f, mode):
    g = MODES[mode](f)
    h = staged(g)
    for n in (3, 3, 3, 0, 1, 5):
        before = X.copy()
        for found, expected in zip(np.ravel(h(X, n)), np.ravel(g(X, n)), strict=True):
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert np.array_equal(X, before)


@pytest.mark.parametrize("f", [smoothed, of_batches, written])
@pytest.mark.parametrize("mode", ["value", "reverse"])
def test_windows_in_loops_are_native_code(f, mode):
    h = staged(MODES[mode](f))
    for _ in range(3):
        h(X, 3)
    assert "as native code:" in h.report()
    assert len(h.sources) == 1


def test_a_window_at_the_end_is_shorter():
    """Python carries it out: the record is of windows of three."""

    def f(x, n):
        total = 0.0
        for i in range(n):
            total = total + np.sum(x[i : i + 3]) * (i + 1)
        return total

    h = staged(grad(f))
    for n in (4, 4, 4, 11, 12, 10, 4, 12):
        assert np.array_equal(h(X, n), grad(f)(X, n))
