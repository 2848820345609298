"""Steps by NumPy write to arrays that nothing else needs: a round of a loop takes no time for whole arrays."""

import re

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged, zeros
from shiftreset_ad.staging.native import llvm, machine

WHOLE = ("scatter(", "replaced(", "zeros", "copy(")  # they take as long as the array


def in_loops(source):
    """The lines of the loops in the source of steps."""
    found, depth = [], None
    for line in source.splitlines():
        indent = len(line) - len(line.lstrip())
        if depth is not None and indent <= depth:
            depth = None
        if depth is not None:
            found.append(line)
        elif re.match(r"\s*(while|for) ", line):
            depth = indent
    return found


def read_at_two_places(xs, t, n):
    s = 0.0
    for i in range(n):
        s = s + xs[t[i]] * xs[i]
    return s


def written_and_read(xs, t, n):
    b = xs * 1.0
    for i in range(n):
        b[t[i]] = b[i] * b[t[i]] + 0.5
    return np.sum(b)


def added_to(xs, t, n):
    b = zeros(5)
    for i in range(n):
        b[t[i]] += xs[i] * xs[t[i]]
    return np.sum(b * b)


def in_a_loop_in_a_loop(xs, t, n):
    b = xs * 1.0
    for i in range(n):
        for j in range(n):
            b[t[j]] = 0.9 * b[j] * xs[i]
    return np.sum(b)


PROGRAMS = [read_at_two_places, written_and_read, added_to, in_a_loop_in_a_loop]
TABLES = [[1, 0, 3, 2, 1], [0, 1, 2, 3, 4], [-1, 1, 4, -5, 0]]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_round_of_the_way_back_takes_no_time_for_whole_arrays(program, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    f = grad(program)
    g = staged(f)
    for table in TABLES:
        for n in (3, 0, 5, 4):
            xs, t = np.array([0.3, -0.7, 1.2, 0.5, -0.4]), np.array(table)
            for _ in range(2):
                np.testing.assert_allclose(g(xs, t, n), f(xs, t, n), rtol=1e-12, atol=1e-14)
    (source,) = g.sources
    lines = in_loops(source)
    depth = 3 if program is in_a_loop_in_a_loop else 1  # an inner loop may begin with a copy
    innermost = [line for line in lines if len(line) - len(line.lstrip()) > 4 * depth]
    assert any("with_" in line for line in innermost)
    assert not [line for line in innermost if any(name in line for name in WHOLE) and "for" not in line]


def layers(w, b, x, n):
    for i in range(n):
        x = np.tanh(x @ w[i] + b[i])
    return np.sum(x * x)


@pytest.mark.parametrize("largest", [4, 2**20])
def test_rows_are_added_to_arrays_of_any_size(largest, monkeypatch):
    """Also to those that are too large for native code, and rows that are sums of others."""
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    monkeypatch.setattr(llvm, "LARGEST", largest)
    rng = np.random.default_rng(0)
    w, b, x = rng.normal(size=(5, 3, 3)), rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    f = grad(layers, (0, 1))
    g = staged(f)
    for n in (3, 3, 0, 5, 4):
        for found, expected in zip(g(w, b, x, n), f(w, b, x, n), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    (source,) = g.sources
    lines = in_loops(source)
    assert sum("with_added" in line for line in lines) == 2
    assert not [line for line in lines if "scatter(" in line]


def kept_for_the_way_back(x, n):
    """The way back needs the arrays of all rounds."""
    b, s = x * np.ones(3), 0.0
    for i in range(n):
        s = s + np.sum(b * b * b)
        b[i % 3] = np.sin(s)
    return s


def needed_after_it_is_replaced(x, n):
    b, s = x * np.ones(3), 0.0
    for i in range(n):
        old = b * 1.0
        b[i % 3] = s + x
        s = s + np.sum(old * b)
    return s


def with_a_view_of_the_copy(x, n):
    b, s = x * np.ones(3), 0.0
    for i in range(n):
        part = (b * 2.0)[1:]
        b[i % 3] = s + x
        s = s + part[0]
    return s


def gives_the_array_to_two_loops(x, n):
    b = x * np.ones(3)
    c = b * 2.0
    for i in range(n):
        b[i % 3] = x * i
    for i in range(n):
        c[i % 3] = b[0] * c[1]
    return np.sum(b * c)


NEEDED = [kept_for_the_way_back, needed_after_it_is_replaced, with_a_view_of_the_copy, gives_the_array_to_two_loops]


@pytest.mark.parametrize("program", NEEDED)
def test_an_array_that_is_needed_stays_as_it_is(program, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    modes = (program, grad(program), grad(grad(program)), lambda x, n: jvp(lambda x: program(x, n), (x,), (1.0,)))
    for f in modes:
        g = staged(f)
        for n in (2, 0, 4, 3):
            for _ in range(2):
                np.testing.assert_allclose(g(0.7, n), f(0.7, n), rtol=1e-12)


def test_a_copy_that_is_left_out_keeps_the_parentheses_of_what_it_copies():
    f = lambda x, y: np.copy(x + y, order="C") * 1.5  # noqa: E731
    g = staged(f)
    for _ in range(3):
        assert np.array_equal(g(np.arange(3.0), np.ones(3)), f(np.arange(3.0), np.ones(3)))
    assert len(g.sources) == 1
