"""Loops that write in place: the function itself, the steps by NumPy and native code agree, whoever else has the array.

A round takes no time for whole arrays, on the way there and on the way back.
"""

import re
import time

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged, zeros
from shiftreset_ad.staging.control import persistent
from shiftreset_ad.staging.native import machine
from tests.staging.native.natively import needs_native

pytestmark = needs_native

POINTS = [
    (np.array([0.3, -0.7, 1.2, 0.5]), 3),
    (np.array([0.9, 0.4, -0.2, 0.1]), 4),
    (np.array([-0.3, 0.6, 0.2, 0.8]), 2),
    (np.array([1.1, 0.15, 0.7, -0.6]), 0),
]


def recurrence(x, n):
    y = x * 1.0
    for i in range(1, n):
        y[i] = y[i - 1] * x[i] + 0.5 * np.sin(x[i])
    return np.sum(y * y)


def under_a_branch(x, n):
    y = x * 1.0
    for i in range(n):
        if y[i % 4] > 0.1:
            y[(i + 1) % 4] = y[i % 4] * x[i % 4]
        else:
            y[i % 4] = y[(i + 2) % 4] * y[i % 4] + 0.3
    return np.sum(y * y * y)


def under_one_branch_of_two(x, n):
    y = x * 1.0
    for i in range(n):
        if y[i % 4] > 0.1:
            if y[(i + 1) % 4] < 0.5:
                y[(i + 1) % 4] = y[i % 4] * x[i % 4]
            y[0] = y[0] * y[1]
    return np.sum(y * y)


def read_under_a_branch(x, n):
    s = 0.0
    for i in range(n):
        if s < 0.1:
            s = s + x[i % 4] * x[i % 4]
            if x[i % 4] > 0.4:
                s = s * x[(i + 1) % 4]
        else:
            s = s * 0.5
    return s


def in_an_inner_loop(x, n):
    y = x * 1.0
    for i in range(n):
        for j in range(i):
            y[j % 4] = y[(j + 1) % 4] * 0.5 + x[i % 4] * y[j % 4]
        y[i % 4] = y[i % 4] * 1.1
    return np.sum(y * y)


def read_in_an_inner_loop(x, n):
    s = x[0]
    for i in range(n):
        for j in range(i):
            s = s * x[j % 4] + x[i % 4]
    return s


def sorted_by_insertion(x, n):
    y = x * 1.0
    for i in range(1, n):
        j = i
        while j > 0 and y[j] < y[j - 1]:
            t = y[j]
            y[j] = y[j - 1]
            y[j - 1] = t
            j = j - 1
    return np.sum(y * y * np.arange(1.0, 5.0))


def old_elements_needed_on_the_way_back(x, n):
    y, s = x * 1.0, 0.0
    for i in range(n):
        s = s + np.sum(y * y * y)
        y[i % 4] = np.sin(s)
    return s


def old_copy_kept(x, n):
    y, s = x * 1.0, 0.0
    for i in range(n):
        old = y * 1.0
        y[i % 4] = y[(i + 1) % 4] * s + 0.2
        s = s + np.sum(old * y)
    return s


def other_array_of_the_old_one(x, n):
    y, z = x * 1.0, x * 1.0
    for i in range(n):
        z = y * z
        y[i % 4] = z[(i + 1) % 4] + 0.2
    return np.sum(z * y)


def read_through_a_view(x, n):
    y, s = x * 1.0, 0.0
    for i in range(n):
        part = y[1:3]
        s = s + np.sum(part * part)
        y[i % 4] = s * 0.1
    return s


def read_through_a_list_of_views(x, n):
    y, s = x * 1.0, 0.0
    for i in range(n):
        a, b = np.split(y, 2)
        s = s + np.sum(a * a * b)
        y[i % 4] = s * 0.1
    return s


def read_without_dimensions(x, n):
    y, s = x * 1.0, 0.0
    for i in range(n):
        a = y[1, ...]
        s = s + a * a
        y[1] = s * 0.1
        y[i % 4] = s * 0.2
    return s


def rows(x, n):
    y = x.reshape(-1, 1) * np.ones(5)
    for i in range(n):
        y[i % 4] = 0.5 * y[(i + 1) % 4] + np.sin(y[i % 4]) * x[i % 4]
    return np.sum(y * y)


def rows_onto_rows(x, n):
    y = x.reshape(-1, 1) * np.arange(5.0)
    for i in range(n):
        y[i % 4] = y[(i + 3) % 4]
        y[i % 4, 1:3] = y[i % 4, 0:2]
        y[i % 4, 0] = x[i % 4]
    return np.sum(y * y)


def parts_onto_themselves(x, n):
    y = x * 1.0
    for i in range(n):
        y[1:] = y[:-1]
        y[0] = y[0] * 1.1 + x[i % 4]
        y[1:] += y[:-1] * y[1:]
    return np.sum(y * y)


def whole(x, n):
    y = x * 1.0
    for i in range(n):
        y[:] = y * y[i % 4] + x
        y[i % 4] = 0.0
    return np.sum(y * y)


def two_loops(x, n):
    y = x * 1.0
    for i in range(n):
        y[i % 4] = y[(i + 1) % 4] * 0.7
    z = y * 2.0
    for i in range(n):
        z[i % 4] = y[i % 4] * z[(i + 1) % 4]
        y[(i + 1) % 4] = z[i % 4] * 0.3
    return np.sum(z * y)


def swapped(x, n):
    a, b = x * 1.0, np.sin(x)
    s = 0.0
    for i in range(n):
        a, b = b, a
        b[i % 4] = a[(i + 1) % 4] * b[i % 4]
        s = s + a[i % 4] * b[(i + 2) % 4]
    return s


def another_name_after_the_loop(x, n):
    y = x * 1.0
    z = y
    for i in range(n):
        y[i % 4] = y[(i + 1) % 4] * 0.9 + 0.1
    return np.sum(z * y)


def added_to(x, n):
    y = zeros(4)
    for i in range(n):
        y[(i * i) % 4] += x[i % 4] * x[(i + 1) % 4]
    return np.sum(y * y * y)


def until_a_break(x, n):
    y = x * 1.0
    for i in range(n):
        y[i % 4] = y[i % 4] * y[(i + 1) % 4] + 0.1
        if y[i % 4] > 0.9:
            break
        y[(i + 2) % 4] = y[i % 4] * 0.5
    return np.sum(y * y)


def over_an_array_that_is_written_to(x, n):
    y, s = x * 1.0, 0.0
    for e in y:
        if e > 0.2:
            s = s + e * e
            y[n % 4] = s
    return s + np.sum(y)


def of_two_axes(x, n):
    t = np.zeros((4, 4)) + x
    for i in range(1, n):
        for j in range(1, 4):
            t[i % 4, j] = t[(i - 1) % 4, j] * x[j] + t[i % 4, j - 1] * 0.5
    return np.sum(t * t)


PROGRAMS = [
    *(recurrence, under_a_branch, under_one_branch_of_two, read_under_a_branch, in_an_inner_loop),
    *(read_in_an_inner_loop, sorted_by_insertion, old_elements_needed_on_the_way_back, old_copy_kept),
    *(other_array_of_the_old_one, read_through_a_view, read_through_a_list_of_views, read_without_dimensions, rows),
    *(rows_onto_rows, parts_onto_themselves, whole, two_loops, swapped, another_name_after_the_loop, added_to),
    *(until_a_break, over_an_array_that_is_written_to, of_two_axes),
]


def along(f):
    return lambda x, n: jvp(lambda x: f(x, n), (x,), (np.cos(x),))[1]


def twice(f):
    return grad(lambda x, n: np.sum(np.sin(grad(f)(x, n))))


MODES = {"value": lambda f: f, "reverse": grad, "reverse in reverse": twice}
SLOW = {
    "forward": along,
    "forward in reverse": lambda f: grad(along(f)),
    "reverse in forward": lambda f: along(grad(f)),
}
CASES = [*MODES, *[pytest.param(mode, marks=pytest.mark.slow) for mode in SLOW]]


def answers(f):
    """The answers of a staged function after some turns, one of them with read-only arguments."""
    g = staged(f)
    for turn in range(3):
        found = []
        for x, n in POINTS:
            argument = x.copy()
            argument.flags.writeable = turn != 1
            found.append(np.asarray(g(argument, n)))
            np.testing.assert_array_equal(argument, x)
    return found, g


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("mode", CASES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_all_ways_agree(program, mode, monkeypatch):
    monkeypatch.setattr(persistent, "FEW", 1)
    f = (MODES | SLOW)[mode](program)
    expected = [f(x.copy(), n) for x, n in POINTS]
    natively, g = answers(f)
    for code in g.llvm:
        assert "it gave other answers" not in code
    with monkeypatch.context() as patch:
        patch.setattr(machine, "unfit", lambda: "it is switched off")
        by_numpy, h = answers(f)
    assert len(h.sources) == len(g.sources) >= 1
    for one, other, right in zip(natively, by_numpy, expected, strict=True):
        assert one.tobytes() == other.tobytes()
        np.testing.assert_allclose(one, right, rtol=1e-9, atol=1e-12)


# The number of rounds does not depend on the length of the array.


def many_branches(x, n):
    y = x * 1.0
    for i in range(1, n):
        if y[i - 1] > 0.1:
            y[i] = y[i - 1] * x[i]
        else:
            y[i] = y[i] + 0.3 * y[i - 1]
    return np.sum(y[:5])


def many_rows(x, n):
    y = x.reshape(-1, 2) * np.ones(2)
    for i in range(1, n):
        y[i] = 0.5 * y[i - 1] + np.sin(y[i]) * 0.1
    return np.sum(y[:5])


def many_inner_rounds(x, n):
    y = x * 1.0
    for i in range(1, n):
        j = 0
        while j < 2:
            y[i] = y[i - 1] * 0.5 + x[j] * y[i]
            j = j + 1
    return np.sum(y[:5])


LONG, SHORT, ROUNDS = 60_000, 600, 250


@pytest.mark.slow_but_every(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", [recurrence, many_branches, many_rows, many_inner_rounds, read_under_a_branch])
def test_a_round_takes_no_time_for_the_length_of_the_array(program, mode):
    """A copy of the longer array in each round would take a hundred times as long as all the rest."""
    times = {}
    for length in (SHORT, LONG):
        g = staged(MODES[mode](program))
        x = np.random.default_rng(0).uniform(0.1, 1.0, length)
        for _ in range(3):
            g(x, ROUNDS)
        assert "no native code" not in g.llvm[0]

        def turn(n, g=g, x=x):
            start = time.process_time()
            g(x, n)
            return time.process_time() - start

        # what the rounds take beside what the arrays take outside of them
        times[length] = min(turn(ROUNDS) for _ in range(15)) - min(turn(1) for _ in range(15))
    assert times[LONG] < 10 * times[SHORT] + 0.002


def test_a_round_of_native_code_copies_no_array():
    g = staged(grad(grad_of_a_sum))
    for _ in range(3):
        g(np.linspace(0.1, 0.9, 50), 20)
    rounds = re.findall(r"\nround_(\w+):(.*?)\nend_\1:", g.llvm[0], re.DOTALL)
    assert len(rounds) == 4
    assert not any("memcpy" in text for _, text in rounds)


def grad_of_a_sum(x, n):
    return np.sum(grad(recurrence)(x, n) ** 2)
