"""Arrays that a block makes and writes to: in native code a write makes a version, if the array has no other name."""

import numpy as np
import pytest

from shiftreset_ad import staged
from tests.staging.front.agreement import by_numpy, ids
from tests.staging.native.natively import needs_native

POINTS = ((0.5, 3), (0.6, 5), (0.7, 1), (0.8, 4), (0.9, 0), (1.0, 7))


def slopes(y):
    d = np.zeros(2)
    d[0] = y[1]
    d[1] = -np.sin(y[0])
    return d


def pendulum(a, n):
    y, t = np.array([a, 0.0]), 0.0
    while t < n * 0.1:
        y = y + 0.01 * slopes(y)
        t += 0.01
    return y


def spring(a, n):
    y, t = np.zeros(2), 0.0
    y[0] = a
    while t < n * 0.1:
        k = np.empty_like(y)
        k[0], k[1] = y[1], -y[0]
        y += 0.01 * k
        t += 0.01
    return y


def ring(a, n):
    y, t = np.zeros(3), 0.0
    y[0] = a
    while t < n * 0.1:
        new = y.copy()
        for i in range(3):
            new[i] = y[i] + 0.01 * y[(i + 1) % 3]
        new[0] += 0.001
        if new[1] > 0.01:
            new[1] *= 0.9
        y, t = new, t + 0.01
    return y


def in_a_branch(a, n):
    x = np.full(4, a)
    if a > 0.65:
        out = np.zeros(4)
        for i in range(4):
            out[i] = x[i] * i
        out[1:3] -= 0.5
    else:
        out = x * 2.0
    return out * n


def through_a_view(a, n):
    s = 0.0
    while s < n:
        m = np.zeros((2, 2))
        row = m[0]
        row[1] = a
        m[1] += row
        s += m.sum()
    return s


def by_two_names(a, n):
    s = 0.0
    while s < n:
        x = np.zeros(2)
        y = x
        y[0] = a
        x[1] = a * 2.0
        s += y[1] + x[0]
    return s


def in_a_list(a, n):
    s = 0.0
    while s < n:
        rows = [np.zeros(2), np.ones(2)]
        for i, row in enumerate(rows):
            row[i] = a
        s += rows[0][0] + rows[1].sum()
    return s


NATIVE, OTHERS = [pendulum, spring, ring, in_a_branch], [through_a_view, by_two_names, in_a_list]


def require_same(f):
    compiled = staged(f)
    for point in POINTS:
        found, expected = compiled(*point), f(*point)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
    assert len(compiled.sources) == 1
    assert "while " in compiled.sources[0] or f is in_a_branch
    return compiled


@needs_native
@pytest.mark.parametrize("f", NATIVE, **ids)
def test_a_block_that_writes_to_its_own_array_is_native(f):
    assert not require_same(f).llvm[0].startswith("; no native code")


@pytest.mark.parametrize("f", OTHERS, **ids)
def test_other_names_of_the_array_are_seen(f):
    require_same(f)


@pytest.mark.parametrize("f", [*NATIVE, *OTHERS], **ids)
def test_without_native_code_such_writes_are_what_they_are(f, monkeypatch):
    by_numpy(monkeypatch)
    compiled = require_same(f)
    assert "setitem" in compiled.sources[0]


@needs_native
def test_an_empty_array_like_a_staged_one_has_its_layout():
    def f(x):
        y = np.empty_like(x)
        y[:] = x * 2.0
        z = np.empty_like(x, shape=(2, 3))
        z[...] = 1.0
        return y, z * x[0], np.empty_like(x, dtype=np.int64).shape

    compiled = staged(f)
    for i in range(5):
        for found, expected in zip(compiled(np.arange(3.0) + i), f(np.arange(3.0) + i), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert not compiled.llvm[0].startswith("; no native code")
