"""Checkpoints in a staged function: written down once in loops and branches, and they save memory there, too."""

import subprocess
import sys

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import checkpoint, checkpointed_loop, fori_loop, grad, staged
from shiftreset_ad.staging.native import machine
from tests.peaks import peak_of
from tests.staging.native.natively import needs_native

LARGE = np.linspace(0.0, 1.0, 20_000)


def step(x):
    return np.sin(x) + 0.1 * x


def total(x):
    return np.sum(x) if np.ndim(x) else x


def by_rounds(x, n, m):
    def rounds(x):
        i = 0
        while i < m:
            x = step(x)
            i = i + 1
        return x

    j = 0
    while j < n:
        x = checkpoint(rounds)(x)
        j = j + 1
    return total(x)


def by_combinators(x, n, m):
    block = checkpoint(lambda x: fori_loop(0, m, lambda i, x: step(x), x))
    return total(fori_loop(0, n, lambda j, x: block(x), x))


def of_what_is_closed_over(x, n, m):
    rate = total(x) * 0.1

    def rounds(i, y):
        return checkpoint(lambda y: y + rate * np.cos(y) / (i + 1))(y)

    return total(fori_loop(0, n + m, rounds, x))


def in_a_branch(x, n, m):
    j = 0
    while j < n:
        x = checkpoint(lambda x: step(x) * x)(x) if j < m else step(x)
        j = j + 1
    return total(x)


def nested(x, n, m):
    inner = checkpoint(lambda x: fori_loop(0, m, lambda i, x: step(x), x))
    outer = checkpoint(lambda x: inner(inner(x)) * 0.5)
    return total(fori_loop(0, n, lambda j, x: outer(x), x))


PROGRAMS = [by_rounds, by_combinators, of_what_is_closed_over, in_a_branch, nested]
MODES = {
    "reverse": grad,
    "reverse in reverse": lambda f: grad(lambda x, n, m: total(np.sin(grad(f)(x, n, m)))),
    "forward in reverse": lambda f: lambda x, n, m: sr.hvp(lambda x: f(x, n, m), (x,), (np.cos(x),)),
    "forward": lambda f: lambda x, n, m: sr.jvp(lambda x: f(x, n, m), (x,), (np.cos(x),)),
}
POINTS = [(3, 2), (2, 5), (5, 1), (1, 1)]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("is_native", [pytest.param(True, marks=needs_native), False])
@pytest.mark.parametrize("x", [0.7, np.array([0.3, 0.8, -1.1])], ids=["of a float", "of an array"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_loops_with_checkpoints_are_written_down_once(program, mode, x, is_native, monkeypatch):
    if not is_native:
        monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    f = MODES[mode](program)
    g = staged(f)
    for n, m in (*POINTS, *POINTS):
        found, expected = g(x, n, m), f(x, n, m)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert len(g.sources) == 1
    assert ("no native code" in g.llvm[0]) != is_native


def repeated(x):
    for _ in range(5):
        x = checkpoint(block)(x)
    return np.sum(x)


def block(x):
    for _ in range(10):
        x = step(x)
    return x


def looped(x):
    return np.sum(checkpointed_loop(lambda k, x: step(x), x, 50, snapshots=6))


def looped_often(x):
    """Each of the few states is the start of many runs."""
    return np.sum(checkpointed_loop(lambda k, x: step(x), x, 50, snapshots=3))


@pytest.mark.parametrize(("program", "most"), [(repeated, 22), (looped, 18), (looped_often, 13)])
def test_memory_of_straight_code(program, most):
    slope = staged(grad(program))
    peak = peak_of(lambda: slope(LARGE))
    assert len(slope.sources) == 1
    assert peak < most * LARGE.nbytes  # and not 100 arrays: two in each step
    np.testing.assert_array_equal(slope(LARGE), grad(program)(LARGE))


@pytest.mark.slow
def test_memory_of_loops_by_numpy():
    slope = staged(grad(by_combinators))
    x = np.linspace(0.0, 1.0, 200_000)  # native code takes fewer elements
    peak = peak_of(lambda: slope(x, 8, 8))
    assert len(slope.sources) == 1
    assert peak < 50 * x.nbytes  # and not 8 * 8 * 2 arrays


FRAMES = """
from pathlib import Path
from shiftreset_ad import grad, staged
from tests.staging.test_checkpoints import by_combinators

def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

slope = staged(grad(by_combinators))
for _ in range(4):
    slope(0.5, 10, 10)
before = peak()
slope(0.5, {n}, {m})
assert len(slope.sources) == 1 and "no native code" not in slope.llvm[0]
print(peak() - before)
"""


@pytest.mark.slow
@needs_native
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads the peak of memory from /proc")
def test_memory_of_frames():
    """Of 9 million rounds in blocks of 3,000, only the frames of a block are there at once."""

    def kilobytes(n, m):
        command = [sys.executable, "-c", FRAMES.format(n=n, m=m)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert kilobytes(3000, 3000) < 20_000
    assert kilobytes(1, 9_000_000) > 100_000
