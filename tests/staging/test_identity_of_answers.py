"""What an answer is, and not only what it has: the argument itself, a view of it, or the same array as another answer.

Control copies what it takes from lists, so a record must not stand in for a function that hands on the items.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, fori_loop, grad, staged, value, value_and_grad
from shiftreset_ad.staging.steps.sources import Sources

X, Y, TABLE = np.array([1.0, 5.0]), np.array([2.0, 4.0]), np.arange(12.0).reshape(4, 3)
HELD = [np.arange(2.0), np.ones(2), np.arange(12.0).reshape(4, 3)]  # the last one is a view of an array without a name


def row(x, n):
    return x[n]


def first_rows(x, n):
    return x[:n]


def row_of_the_greatest(x, n):
    return x[np.argmax(x[:, 0] * n)]


def squeezed(x, n):
    return np.squeeze(x[n : n + 1]), x[n] * 2.0


def reshaped(x, n):
    return x.reshape(1)


def rows_after_a_branch(x, n):
    y = x * 1.0
    if n > 1:
        y = y + 1.0
    return x[:n], y


def chosen(x, y, n):
    return [x, y * 2.0][n]


def by_key(x, y, n):
    return {0: x, 1: y}[n]


def row_of_an_outer_array(x, n):
    found = x * 1.0
    for row in HELD[2]:
        if row[0] > n:
            found = row
    return found


def row_in_a_branch(x, n):
    return HELD[2][n] if n > 1 else x * 2.0


def row_in_a_growing_list(x, n):
    rows = []
    for i in range(n):
        row = HELD[2][i]
        rows.append(row)
    return rows[0] if n > 0 else x * 2.0


def outer_array(x, n):
    found = x * 1.0
    for array in HELD[:2]:
        if array[0] > n:
            found = array
    return found


def held(x, n):
    return HELD[n], x * 2.0


def chosen_twice(x, y, n):
    return [[x, y * 2.0][n], y * 3.0][0]


def kept(x, y, n):
    return [v for v in (x, y * 2.0) if v[0] > n]


def rows(x, n):
    return [x[i] for i in range(n)]


def last(x, n):
    found = [x]
    while found[-1][0] < n:
        found.append(found[-1] * 2.0)
    return found[-1]


def last_of_new_ones(x, n):
    found = [x * 1.0]
    while found[-1][0] < n:
        found.append(found[-1] * 2.0)
    return found[-1], found[0] + 1.0


def in_a_branch(x, n):
    z = x * 2.0
    w = z
    if n > 2:
        z = z + 1.0
    return z, w


def in_the_other_branch(x, n):
    w = x * 2.0
    if n > 2:
        v = w + 1.0
    else:
        w = v = w * 3.0
    return v, w


def after_a_loop(x, n):
    z = w = x * 2.0
    while z[0] < n:
        z, w = z * 2.0, w * 3.0
    return z, w


def after_a_loop_from_equal_arrays(x, n):
    z, w = np.zeros_like(x), np.zeros_like(x)
    while z[0] < n:
        z, w = z + 1.0, w + 3.0
    return z, w[::-1]


def relations(answer: Any, arguments: Any) -> list[tuple[bool, bool]]:
    """Which arrays of an answer are the same, or share memory, with one another, an argument or an outer array."""
    found = [answer] if isinstance(answer, np.ndarray) else [*answer]
    known = [x for x in (*arguments, *HELD) if isinstance(x, np.ndarray)]
    return [(x is y, np.shares_memory(x, y)) for i, x in enumerate(found) for y in (*found[:i], *known)]


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (row, [(TABLE, 2), (TABLE, 1)]),
        (first_rows, [(TABLE, 2), (TABLE, 1), (TABLE, 0)]),
        (row_of_the_greatest, [(TABLE, 1.0), (TABLE, -1.0)]),
        (squeezed, [(TABLE, 2), (TABLE, 1)]),
        (rows_after_a_branch, [(TABLE, 2), (TABLE, 1), (TABLE, 3)]),
        (reshaped, [(np.array(2.5), 1)]),
        (chosen, [(X, Y, 1), (X, Y, 0)]),
        (chosen, [(X, Y, 0), (X, Y, 1)]),
        (by_key, [(X, Y, 1), (X, Y, 0)]),
        (held, [(X, 1), (X, 0)]),
        (row_in_a_branch, [(TABLE[0], 0), (TABLE[0], 2), (TABLE[0], 3), (TABLE[0], 0)]),
        (outer_array, [(X, 99.0), (X, 0.5), (X, 99.0)]),
        (chosen_twice, [(X, Y, 1), (X, Y, 0)]),
        (kept, [(X, Y, 1.5), (X, Y, 0.0), (X, Y, 9.0)]),
        (rows, [(TABLE, 2), (TABLE, 3), (TABLE, 0)]),
        (last, [(X, 5.0), (X, 0.0)]),
        (last_of_new_ones, [(X, 5.0), (X, 0.0)]),
        (in_a_branch, [(X, 3), (X, 1), (X, 3)]),
        (in_the_other_branch, [(X, 3), (X, 1), (X, 3)]),
        (after_a_loop, [(X, 9.0), (X, 0.0), (X, 3.0)]),
        (after_a_loop_from_equal_arrays, [(X, 4.0), (X, -1.0), (X, 2.0)]),
    ],
)
def test_answers_are_the_arrays_that_they_are_in_the_function(f, calls):
    found = staged(f)
    for args in calls:
        for _ in range(4):
            answer, expected = found(*args), f(*args)
            np.testing.assert_equal(answer, expected)
            assert relations(answer, args) == relations(expected, args)
    assert found.report().startswith(f"staged({f.__name__}) runs in steps")


@pytest.mark.parametrize(
    ("f", "without", "with_a_view"), [(row_of_an_outer_array, 99.0, 1.0), (row_in_a_growing_list, 0, 2)]
)
def test_a_view_of_an_outer_array_is_not_a_copy(f, without, with_a_view):
    found, x = staged(f), TABLE[0]
    for _ in range(4):
        assert relations(found(x, without), (x,)) == relations(f(x, without), (x,))
    with pytest.warns(StagingWarning, match="it returns a view of an array that it sees from outside. Return a copy"):
        assert found(x, with_a_view).base is HELD[2].base
    assert found(x, with_a_view).base is HELD[2].base


def test_an_answer_that_is_an_outer_array_in_python_is_no_copy_even_if_the_record_does_not_know(monkeypatch):
    monkeypatch.setattr(Sources, "copied", lambda sources, x: [])
    found = staged(by_key)
    for n in (1, 1, 1, 0, 0):
        assert relations(found(X, Y, n), (X, Y)) == relations(by_key(X, Y, n), (X, Y))


def test_a_view_of_an_argument_that_is_read_only_is_read_only():
    found, x = staged(first_rows), TABLE.copy()
    x.flags.writeable = False
    assert not any(found(x, 2).flags.writeable for _ in range(4))


@pytest.mark.parametrize("f", [last_of_new_ones, in_a_branch, after_a_loop])
def test_new_arrays_are_still_written_down_once(f):
    found = staged(f)
    for n in (9.0, 0.0, 3.0, 20.0):
        np.testing.assert_array_equal(found(X, n), f(X, n))
    assert " in 1 way" in found.report()


def twice_the_same(x, y, n):
    return fori_loop(0, n, lambda i, s: s * 1.5, x)


def test_an_array_that_is_given_twice_may_be_the_state_of_a_loop():
    found = staged(twice_the_same)
    for n in (2, 0, 3, 2):
        for _ in range(2):
            answer = found(X, X, n)
            np.testing.assert_array_equal(answer, twice_the_same(X, X, n))
            assert (answer is X) == (n == 0)


# Dictionaries whose keys are values


def rounded(x):
    return {round(x): 1.0}


def whole(x):
    return {x: 2.0 * x}


def inside(x):
    return {"a": {(round(x), 1): x}, "b": [{x > 1: x * 3}], 2.5: (x,)}


def counted(x):
    found = {}
    for v in (x, x * 2, x + 0.2):
        found[round(v)] = found.get(round(v), 0) + v
    return found


def of_elements(x):
    return dict.fromkeys((np.array([1.0, 2.0]) * x).tolist(), 1.0)


def by_default(x):
    found = defaultdict(list)
    found[int(x)].append(x)
    found[int(x * 2)].append(x * x)
    return found


def ordered(x):
    return OrderedDict([(x + 1, 1.0), (x, 2.0)])


def of_an_aside(x):
    return value_and_grad(lambda x: (x * x, {round(value(x)): x + 3.0}), has_aux=True)(x)


def of_a_derivative(x):
    return grad(lambda p: p[round(x)] ** 2)({round(x): x})


@pytest.mark.parametrize(
    "f", [rounded, whole, inside, counted, of_elements, by_default, ordered, of_an_aside, of_a_derivative]
)
@pytest.mark.parametrize("points", [(1.5, 2.5, -1.0, -2.0, 1.5), (-2, -1, 3)], ids=["floats", "integers"])
def test_keys_of_an_answer_are_plain(f, points):
    if f in (of_an_aside, of_a_derivative) and type(points[0]) is int:
        points = tuple(map(float, points))
    found = staged(f)
    for x in points:
        for _ in range(4):
            answer, expected = found(x), f(x)
            assert type(answer) is type(expected)
            assert repr(answer) == repr(expected)
    assert found.report().startswith(f"staged({f.__name__}) runs in steps")
