"""How everything here is timed: the best of several rounds, as noise only ever adds."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import Any

SECONDS_A_ROUND = 0.02  # a program that is shorter runs several times over, so that caches are warm for all
Clock = Callable[[], float]


def best_of(rounds: int, programs: dict[str, Callable[[], Any]], clock: Clock = time.perf_counter) -> dict[str, float]:
    """The shortest time, in seconds, of each program, over rounds in which the programs take turns."""
    repeats = {}
    for name, program in programs.items():
        for _ in range(3):  # which may import, stage, or compile, and do not tell how often to repeat
            program()
        repeats[name] = math.ceil(SECONDS_A_ROUND / duration(program, 1, clock))
    gc.freeze()  # a program whose garbage is cyclic must not pay for all that the other libraries have imported
    times = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for name, program in programs.items():
            times[name] = min(times[name], duration(program, repeats[name], clock))
    return times


def duration(program: Callable[[], Any], repeats: int, clock: Clock = time.perf_counter) -> float:
    """Seconds for one run, as the mean of `repeats`."""
    gc.collect()
    start = clock()
    for _ in range(repeats):
        program()
    return (clock() - start) / repeats
