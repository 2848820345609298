"""Plain arrays that the program makes may get staged values; others stay plain."""

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import POINTS, by_numpy, ids
from tests.staging.native.natively import needs_native

XS = np.array([0.5, -1.2, 2.0, 0.1])


def of_zeros(x, n):
    a = np.zeros(4)
    for k in range(4):
        if x > 0.4 * k:
            a[k] = x * k
    return np.sum(a * a)


def at_a_staged_index(x, n):
    a = np.zeros(8)
    for k in range(n):
        a[k] = x * k
        a[(k + 1) % 8] += a[k] * x
    return np.sum(a * a)


def of_parts(x, n):
    a = np.empty((3, 3))
    a[...] = 1.0
    a[0], a[1, 1:] = x, x * x
    a[:, 0] += x
    return np.sum(a @ a) + n


def of_copies(x, n):
    a, b = XS.copy(), np.ones_like(XS)
    a[n % 4] = x
    b[1:3] = a[:2]
    return np.sum(a * b)


def of_full(x, n):
    a = np.full((2, 3), x)
    a[0, n % 3] = 2.0
    return np.sum(a * a)


def with_two_names(x, n):
    a = b = np.arange(4.0)
    b[0] = x
    a[1] += x
    return np.sum(a * a) + np.sum(b)


def with_a_third_name(x, n):
    a = np.arange(4.0)
    b = np.asarray(a)
    b[0] = x
    a[1] += x
    return np.sum(a * a) + np.sum(b)


def with_a_name_for_the_same(x, n):
    a = np.zeros(3)
    b = np.array(a, copy=False)
    b[0] = x
    return np.sum(a) * x


def through_a_view(x, n):
    a = np.zeros((2, 3))
    row = a[1]
    a[0, 0] = x
    row[1] = x * x
    return np.sum(a * a) + np.sum(row)


class Table:
    def __init__(self, n):
        self.values = np.zeros(n)

    def put(self, k, v):
        self.values[k] = v if v > 0.5 else 0.5


def in_an_object(x, n):
    table = Table(3)
    for k in range(3):
        table.put(k, x * k)
    return np.sum(table.values * np.arange(3.0))


def in_a_list(x, n):
    rows = [np.zeros(2) for _ in range(3)]
    for k in range(n):
        rows[1][k % 2] = x + k
    return np.sum(np.stack(rows))


def returned(x, n):
    a = np.zeros(3)
    a[1] = x
    return a


def decides(x, n):
    a = np.zeros(3)
    a[1] = x
    k = 0
    while a[1] > 0.1 and k < n:
        a[1] = a[1] * 0.5
        k = k + 1
    return a[1] + k


PROGRAMS = [of_zeros, at_a_staged_index, of_parts, of_copies, of_full, with_two_names, in_an_object, returned, decides]


def require_right(f):
    compiled = staged(f)
    for x, n in (*POINTS, *POINTS[::-1]):
        np.testing.assert_array_equal(compiled(x, n), f(x, n))
    return compiled


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_it_is_written_down_once(f, monkeypatch):
    by_numpy(monkeypatch)
    compiled = require_right(f)
    assert len(compiled.sources) == 1


@needs_native
@pytest.mark.parametrize(
    "f", [*PROGRAMS, in_a_list, with_a_third_name, with_a_name_for_the_same, through_a_view], **ids
)
def test_native_code_is_right(f):
    require_right(f)


def test_an_array_with_plain_items_alone_stays_a_constant(monkeypatch):
    def f(x, n):
        weights, a = np.zeros(50), np.zeros(2)
        for k in range(50):
            weights[k] = k * k
        a[1] = x * np.sum(weights)
        return np.sum(a) if x > 1.0 else a[1]

    by_numpy(monkeypatch)
    compiled = require_right(f)
    assert len(compiled.sources) == 1
    assert compiled.sources[0].count("\n") < 20


def test_integers_are_cut_off_by_numpy():
    def f(x, n):
        a = np.zeros(3, int)
        a[1] = x * 10.0
        return np.sum(a)

    require_right(f)


@pytest.mark.parametrize("f", [of_zeros, at_a_staged_index, of_parts], **ids)
def test_a_number_is_refused_as_ever(f):
    with pytest.raises(TypeError) as expected:
        grad(f)(1.3, 3)
    with pytest.raises(TypeError) as found:
        staged(grad(f))(1.3, 3)
    assert str(found.value) == str(expected.value)


def test_an_array_from_outside_is_seen_to_change():
    table = np.zeros(3)

    def f(x):
        a = np.asarray(table)
        a[1] = x
        return np.sum(a) if x > 0.0 else x

    compiled = staged(f)
    with pytest.warns(UserWarning, match="which others see"):
        assert [(compiled(x), table[1]) for x in (0.5, 0.7, 0.5, 0.9)] == [(x, x) for x in (0.5, 0.7, 0.5, 0.9)]


def summed(x, n):
    w = np.zeros(3)
    w += x
    return w * n


def scaled(x, n):
    w, v = np.ones(3), np.full((2, 3), 2.0)
    w *= x
    v /= x + 1.0
    v -= w
    return v


def stepped(x, n):
    w = np.zeros(3)
    for i in range(n):
        w -= 0.1 * (w - x) * i
    return w


def through_a_row(x, n):
    m = np.zeros((2, 3))
    row, last = m[0], m[1][1:]
    row += x
    last[0] = x * n
    last **= 2.0
    return m


class Held:
    def __init__(self, x):
        self.w = np.zeros(3)
        self.w += x
        self.w[1] -= x


def of_an_object(x, n):
    held = Held(x)
    held.w *= x
    return held.w


def of_items(x, n):
    sums, table = [np.zeros(2), np.zeros(3)], {"a": np.zeros(2)}
    for i in range(2):
        sums[i] += x * i
        sums[i] *= 2.0
    table["a"] -= x
    key = "a"
    table[key] += sums[0] + 1.0
    return sums[1], table["a"]


def in_a_loop(x, n):
    total, k = np.zeros(3), 0.0
    while k < 2.0 + x:
        total += k * x
        k += 0.5
    return total


def in_a_branch_of_a_loop(x, n):
    total, k, other = np.zeros(3), 0.0, np.ones(2)
    while k < 3.0:
        if k * x > 1.0:
            total -= k
        else:
            total *= 0.5
            other += 1.0
        k += 0.5
    return total, other


@pytest.mark.parametrize(
    "f",
    [
        *(summed, scaled, stepped, through_a_row, of_an_object, of_items),
        *(in_a_loop, in_a_branch_of_a_loop),
    ],
    **ids,
)
def test_an_array_that_is_changed_as_a_whole(f):
    compiled = staged(f)
    for x, n in ((0.5, 3), (0.7, 3), (0.2, 3), (1.5, 3)):
        for found, expected in zip(tuple(compiled(x, n)), tuple(f(x, n)), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert len(compiled.sources) == 1


def test_batches_of_descent():
    data, rng = np.random.default_rng(0).normal(size=(12, 3)), np.random.default_rng(1)

    def f(y):
        w = np.zeros(3)
        for i in range(0, 12, 4):
            x = data[i : i + 4]
            w -= 0.1 * (x.T @ (x @ w - y[i : i + 4]))
        return w

    compiled = staged(f)
    for _ in range(5):
        y = rng.normal(size=12)
        np.testing.assert_array_equal(compiled(y), f(y))
    assert len(compiled.sources) == 1
