"""A loop is written down where it has rounds left, and a round may look beyond the end of an array that it never reads.

The programs go over the pairs of points. In some rounds the inner loop is entered with its last point, or with none.
"""

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged
from tests.staging.front.agreement import by_numpy, ids

POINTS = 6


def energy(d):
    r2 = d @ d
    return (1.0 / (r2 + 0.1) - 1.0) ** 2


def going_on(x):
    e = 0.0
    for i in range(len(x) - 1):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            if d @ d > 0.5:
                continue
            e += energy(d)
    return e


def going_on_in_while(x):
    e, i = 0.0, 0
    while i < len(x) - 1:
        j = i
        while j + 1 < len(x):
            j += 1
            d = x[i] - x[j]
            if d @ d > 0.5:
                continue
            e += energy(d)
        i += 1
    return e


def breaking(x):
    e = 0.0
    for i in range(len(x) - 1):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            if d @ d < 0.02:
                break
            e += energy(d)
        else:
            e *= 1.5
    return e


def breaking_in_while(x):
    e, i = 0.0, 0
    while i < len(x) - 1:
        j = i + 1
        while j < len(x):
            d = x[i] - x[j]
            if d @ d < 0.02:
                break
            e += energy(d)
            j += 1
        i += 1
    return e


def counted_before_the_break(x):
    e = 0.0
    for i in range(len(x)):
        j = i
        while j < len(x) - 1:
            j += 1
            d = x[i] - x[j]
            if d @ d < 0.02:
                break
            e += energy(d)
    return e


def both(x):
    e = 0.0
    for i, a in enumerate(x):
        for j, b in enumerate(x):
            if j <= i:
                continue
            d = a - b
            if d @ d > 0.5:
                continue
            if d @ d < 0.02:
                break
            e += energy(d)
    return e


def returning(x):
    for i in range(len(x) - 1):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            if d @ d < 0.02:
                return d @ d * i
    return np.sum(x * x)


def over_a_generator(x):
    e = 0.0
    for a in (y * y for y in x):
        if a @ a > 0.5:
            continue
        e += energy(a)
    return e


def reading_beyond(x):
    """`x[k]` of the branch, and of the next test, has no value where the loop ends."""
    e, k = 0.0, 0
    while k < len(x) and x[k] @ x[k] < 0.9:
        k += 1
        e += energy(x[k]) if k < len(x) else 3.0 * e
    return e


def writing_beyond(x):
    y, total = np.zeros_like(x[:, 0]), 0.0
    for i in range(len(x)):
        j = i
        while j < len(x):
            y[j] = y[j] * 0.5 + x[i] @ x[j]
            total += y[j]
            if total > 1.0:
                total *= 0.25
                break
            j += 1
    return total + y @ y


def rows_beyond(x):
    rows, e = [[p[0], p[1]] for p in x], 0.0
    for i in range(len(rows)):
        j = i
        while j < len(rows):
            a = rows[j][0] * rows[i][1]
            if a > 0.4:
                break
            e += a * a
            j += 1
    return e


PROGRAMS = [
    *(going_on, going_on_in_while, breaking, breaking_in_while, counted_before_the_break, both, returning),
    *(over_a_generator, reading_beyond, writing_beyond, rows_beyond),
]


def along(f):
    return lambda x: jvp(f, (x,), (np.cos(x),))


@pytest.mark.parametrize("mode", [lambda f: f, grad, along], ids=["plain", "grad", "jvp"])
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_one_record_serves_all_patterns(f, mode, monkeypatch):
    rng = np.random.default_rng(3)
    compiled = staged(mode(f))
    for k in range(8):
        x = rng.uniform(0.0, 1.0, (POINTS, 2))
        for got, expected in zip(np.atleast_1d(compiled(x)), np.atleast_1d(mode(f)(x)), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
        if k == 3:
            by_numpy(monkeypatch)
    assert len(compiled.sources) == 1, compiled.report()


def item_in_a_branch(x, k):
    return x[k] if k < 10 else 0.0


def item_of_a_list_in_a_branch(x, k):
    items = [x[0], x[1] * 2.0]
    return items[k] if k < 10 else 0.0


def written_in_a_branch(x, k):
    y = np.zeros_like(x)
    if k < 10:
        y[k] = x[0] * 2.0
    return y @ x


def written_in_a_loop(x, k):
    y = np.zeros_like(x)
    while k < 10:
        y[k] = x[0] * 2.0
        k += 4
    return y @ x


def written_to_an_array_of_the_round(x, k):
    total = 0.0
    while k < 3:
        y = np.zeros_like(x)
        y[k] = x[0] * 2.0
        total, k = total + y @ x, k + 1
    return total


class Rows:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, k):
        return self.x[k]


def to_the_end_by_an_error(x, k):
    """Python goes over an object up to the index that raises IndexError."""
    total = 0.0
    while k < 3:
        for v in Rows(x):
            total = total + v
        k = k + 1
    return total


def caught(x, k):
    try:
        return x[k] if k < 10 else 0.0
    except IndexError:
        return x[0] * 3.0


@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
@pytest.mark.parametrize(
    "f",
    [
        *(item_in_a_branch, item_of_a_list_in_a_branch, written_in_a_branch, written_in_a_loop, caught),
        *(written_to_an_array_of_the_round, to_the_end_by_an_error),
    ],
    **ids,
)
@pytest.mark.parametrize("ks", [(12, 0, 5, 1, 5, 11), (0, 1, 5, 12, 0, 7), (5, 7, 12, 1, 5), (0, 0, 0, 7, 7, 7)])
def test_an_index_beyond_the_end_raises_its_error_where_it_is_reached(f, mode, ks):
    x, compiled = np.array([0.7, 1.3, -0.4]), staged(mode(f))
    for k in ks:
        np.testing.assert_equal(outcome(compiled, x, k), outcome(mode(f), x, k))


def test_a_write_in_a_round_that_is_not_reached_needs_no_record_of_its_own():
    x, compiled = np.array([0.7, 1.3, -0.4]), staged(written_to_an_array_of_the_round)
    for k in (3, 0, 1, 5, 2, 0):
        assert compiled(x, k) == written_to_an_array_of_the_round(x, k)
    assert len(compiled.sources) == 1


def outcome(f, *args):
    try:
        return f(*args)
    except IndexError as error:
        return str(error)
