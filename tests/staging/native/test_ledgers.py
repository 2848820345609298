"""Limited loops in native code: the rounds that are carried out are counted, and the memory is measured."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from shiftreset_ad import fori_loop, grad, staged, while_loop
from shiftreset_ad.staging.native import mathematics
from shiftreset_ad.staging.python.ledgers import FEWEST
from shiftreset_ad.transforms.checkpointing.revolve import advances
from tests.staging.in_threads import require_same_in_threads
from tests.staging.native.natively import needs_native
from tests.staging.test_ledgers import Run

pytestmark = needs_native


def counted(x, n):
    return fori_loop(0, n, lambda i, x: x + 0.001 * np.sin(x), x)


def not_counted(x, n):
    return while_loop(lambda s: s[0] * s[0] < n * n, lambda s: (s[0] + 1, s[1] + 0.001 * np.sin(s[1])), (0, x))[1]


def by_twos(x, n):
    return while_loop(lambda s: s[0] < 2 * n, lambda s: (s[0] + 2, s[1] + 0.001 * np.sin(s[1])), (0, x))[1]


def with_an_end_that_moves(x, n):
    def round_of(s):
        return s[0] + 1, s[1] - 1, s[2] + 0.001 * np.sin(s[2])

    return while_loop(lambda s: s[0] < s[1], round_of, (0, 2 * n, x))[2]


def nested(x, n):
    def rounds(i, x):
        return fori_loop(0, 3, lambda j, x: x + 0.001 * np.sin(x), x)

    return fori_loop(0, n, rounds, x)


@pytest.fixture
def sines(monkeypatch):
    """How often native code calls NumPy's loop for the sine: in a list, as it is counted."""
    counts, alive = [0], []
    found = mathematics.loops_in

    def watched(text):
        loops = found(text)
        pair = (ctypes.c_void_p * 2).from_address(loops["loop_sin"])  # the function, and its data
        original = mathematics.Loop(pair[0])

        def counting(*args):
            counts[0] += 1
            original(*args)

        callback = mathematics.Loop(counting)
        other = (ctypes.c_void_p * 2)(ctypes.cast(callback, ctypes.c_void_p), pair[1])
        alive.append((callback, other))
        return {**loops, "loop_sin": ctypes.addressof(other)}

    monkeypatch.setattr(mathematics, "loops_in", watched)
    yield counts
    alive.clear()


def compiled(f, limit):
    slope = staged(grad(f), memory_limit=limit)
    for _ in range(4):
        slope(0.5, 6)
    assert "no native code" not in slope.llvm[0]
    return slope


def rounds_of(f, limit, sines, n):
    """How many rounds are carried out of a loop with n rounds, whose bits are those without a limit."""
    slope, without = compiled(f, limit), compiled(f, None)
    before = sines[0]
    found = slope(0.5, n)
    rounds = sines[0] - before
    assert found == without(0.5, n)
    assert len(slope.sources) == 1
    return rounds


@pytest.mark.parametrize("n", [3, 9, 46, 300, 1000])
def test_a_counted_loop_repeats_the_least_number_of_rounds(sines, n):
    assert rounds_of(counted, 1, sines, n) == n + advances(n, FEWEST)


@pytest.mark.parametrize("f", [not_counted, by_twos, with_an_end_that_moves], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [3, 9, 46, 300, 1000])
def test_another_loop_repeats_as_many_rounds_as_by_numpy(sines, n, f):
    assert rounds_of(f, 1, sines, n) == n + Run(n, 1, FEWEST, False).repeated


def test_a_loop_within_the_limit_repeats_none(sines):
    assert rounds_of(counted, 100_000, sines, 1000) == 1000
    assert rounds_of(nested, 300_000, sines, 1000) == 3000


def test_a_loop_with_a_loop_in_it_repeats_whole_rounds(sines):
    assert rounds_of(nested, 1, sines, 300) == 3 * (300 + Run(300, 1, FEWEST, False).repeated)


def test_threads_have_ledgers_of_their_own():
    slope = compiled(counted, 2000)
    require_same_in_threads(slope, [(0.1 * i, 500 + i) for i in range(8)])


PEAK = """
from pathlib import Path
from shiftreset_ad import grad, staged
from tests.staging.native.test_ledgers import {name}

def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])

slope = staged(grad({name}), memory_limit={limit})
for _ in range(4):
    slope(0.5, 6)
before = peak()
slope(0.5, {n})
assert len(slope.sources) == 1 and "no native code" not in slope.llvm[0]
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads the peak of memory from /proc")
@pytest.mark.parametrize(("name", "n"), [("counted", 9_000_000), ("not_counted", 9_000_000), ("nested", 3_000_000)])
def test_memory_of_nine_million_rounds(name, n):
    def kilobytes(limit):
        command = [sys.executable, "-c", PEAK.format(name=name, limit=limit, n=n)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert kilobytes(None) > 100_000
    assert kilobytes(16 * 2**20) < 1.1 * 16 * 2**10
    assert kilobytes(2**20) < 2_000
