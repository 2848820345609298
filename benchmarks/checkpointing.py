"""A long loop in little memory: steps and memory against the theory, by `python benchmarks/checkpointing.py`.

The gradient through n steps of y = sin(y) + y/2 on 1,000 elements. With s snapshots, and r the least number for which
(s + r)! / (s! r!) >= n, the binomial schedule needs r n - (s + r)! / ((s + 1)! (r - 1)!) steps to go back; one more is
for the state at the end, and each step runs once more as it is gone back through. Memory is the peak that tracemalloc
sees, in states.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from math import comb
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from shiftreset_ad import checkpointed_loop, grad

STEPS, SIZE = 10_000, 1_000
X = np.linspace(0.1, 1.0, SIZE)

Loop = Callable[[Callable[[int, Any], Any], Any], Any]


def step(k: int, y: Any) -> Any:
    return np.sin(y) + 0.5 * y


def plain_loop(step: Callable[[int, Any], Any], y: Any) -> Any:
    for k in range(STEPS):
        y = step(k, y)
    return y


def theory(snapshots: int) -> int:
    """The steps that run, by the formulas above."""
    repeats = 0
    while comb(snapshots + repeats, snapshots) < STEPS:
        repeats += 1
    return repeats * STEPS - comb(snapshots + repeats, snapshots + 1) + 1 + STEPS


def steps_run(loop: Loop) -> int:
    runs: list[int] = []

    def counted(k: int, y: Any) -> Any:
        runs.append(k)
        return step(k, y)

    grad(lambda x: np.sum(loop(counted, x)))(X)
    return len(runs)


def seconds_and_states(loop: Loop) -> tuple[float, float]:
    gradient = grad(lambda x: np.sum(loop(step, x)))
    start = time.perf_counter()
    gradient(X)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    gradient(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak / X.nbytes


def main() -> None:
    table = Table("snapshots", "steps run", "theory", "peak, in states", "seconds", title=f"{STEPS} steps")
    loops: dict[str, tuple[Loop, int]] = {"plain loop": (plain_loop, STEPS)}
    for snapshots in (5, 14, 40, 100):
        loop: Loop = partial(checkpointed_loop, n=STEPS, snapshots=snapshots)
        loops[str(snapshots)] = loop, theory(snapshots)
    for name, (loop, expected) in loops.items():
        seconds, states = seconds_and_states(loop)
        table.add_row(name, f"{steps_run(loop):,}", f"{expected:,}", f"{states:,.1f}", f"{seconds:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
