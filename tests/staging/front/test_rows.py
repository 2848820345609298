"""Rows of an array by a display of their numbers, as programs with pivots swap them."""

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, jvp, staged
from tests.staging.front.agreement import by_numpy, ids

RNG = np.random.default_rng(0)
THREE = np.ones((3, 4))
POINTS = [(RNG.normal(size=(4, 4)), RNG.normal(size=4)) for _ in range(8)]


def pivoted(a, b):
    a = a.copy()
    for k in range(4):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        a[[k, p]] = a[[p, k]]
    return a * b


def pivoted_under_a_test(a, b):
    a = a.copy()
    for k in range(4):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
    return a * b


def solved(a, b):
    a, b = a.copy(), b.copy()
    for k in range(4):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[[k, p]] = b[[p, k]]
        for i in range(k + 1, 4):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]
    x = np.zeros(4)
    for i in range(3, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def other_items(a, b):
    a, i = a + 0.0, int(np.argmin(b))
    a[[i, 0]] = 1.0
    a[[-1, i]] = b
    a[[i, 1]] = a[2:]
    a[[i, 2]] = b.reshape(1, 4) * 2.0
    a[[i]] = [[1.0, 2.0, 3.0, 4.0]]
    return a, a[[0, i, i, -1]]


def of_a_plain_array(a, b):
    table, i = np.arange(12.0).reshape(3, 4), int(b[0] > 0.0)
    table[[0, i]] = table[[i, 2]]
    return table * b


def of_one_axis(a, b):
    b, i = b.copy(), int(np.argmax(b))
    b[[0, i]] = b[[i, 0]]
    b[[i, 3]] += 1.0
    return b


def in_the_order_of_fortran(a, b):
    a, i = a.copy("F") * 2.0, int(np.argmax(b))
    rows = a[[i, 0, 1]]
    a[[0, i]] = a[[i, 0]]
    return a, rows


@pytest.mark.parametrize(
    "f",
    [in_the_order_of_fortran, pivoted, pivoted_under_a_test, solved, other_items, of_a_plain_array, of_one_axis],
    **ids,
)
@pytest.mark.parametrize("natively", [True, False])
def test_one_record_serves_all_calls(f, natively, monkeypatch):
    if not natively:
        by_numpy(monkeypatch)
    compiled = staged(f)
    for a, b in POINTS:
        found, expected = compiled(a, b), f(a, b)
        for x, y in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.flags.c_contiguous == y.flags.c_contiguous
    assert len(compiled.sources) == 1 or f is of_a_plain_array  # which is read at a staged row before it is written to


def swapped(a, b):
    a = sr.zeros((4, 4)) + a
    for k in range(4):
        p = k + int(np.argmax(np.abs(sr.value(a)[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]] * b[k]
    return np.sum(a * a * b)


@pytest.mark.parametrize("mode", [grad, lambda f: lambda a, b: jvp(lambda a: f(a, b), (a,), (np.ones((4, 4)),))])
def test_derivatives(mode):
    compiled = staged(mode(swapped))
    for a, b in POINTS[:5]:
        np.testing.assert_allclose(compiled(a, b), mode(swapped)(a, b), rtol=1e-12)


def test_a_wrong_item_raises_the_error_of_numpy():
    def f(a, b, item=THREE):
        a, i = a.copy(), int(np.argmax(b))
        a[[i, 0]] = item
        return a

    compiled = staged(f)
    for _ in range(2):
        with pytest.raises(ValueError, match="shape mismatch") as expected:
            f(*POINTS[0])
        with pytest.raises(ValueError, match="shape mismatch") as found:
            compiled(*POINTS[0])
        assert str(found.value) == str(expected.value)
    item = np.arange(8.0).reshape(1, 2, 4)
    np.testing.assert_array_equal(compiled(*POINTS[0], item), f(*POINTS[0], item))


def test_a_row_that_is_not_there_raises_the_error_of_numpy():
    def f(a, b):
        a, i = a.copy(), int(b[0])
        a[[0, i]] = a[[i, 0]]
        return a

    compiled = staged(f)
    for first in (1.0, 2.0, 3.0, 1.0):
        np.testing.assert_array_equal(compiled(POINTS[0][0], np.full(4, first)), f(POINTS[0][0], np.full(4, first)))
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 4"):
        compiled(POINTS[0][0], np.full(4, 7.0))
