"""Native code on several threads: it releases the interpreter's lock while its loops run, so threads use several cores.

Each thread computes the gradient of a price over noise of its own. Shown is the time of as many threads as there are
cores beside that of one thread, which has the work for one: 1.0 is perfect, and on two cores 2.0 is no gain. Without
staging it is Python's own code, which has the lock.

python benchmarks/cores.py
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from timing import best_of

from shiftreset_ad import fori_loop, grad, staged

LENGTH, YEARS, FEW, ROUNDS = 1_000, 200, 1, 15


def price(volatility: Any, noise: Any, years: int) -> Any:
    """A price that moves at random, step by step, over so many years of the same noise."""

    def year(_: int, s: Any) -> Any:
        return fori_loop(0, LENGTH, lambda i, s: s + s * volatility * noise[i] * 0.01, s)

    return fori_loop(0, years, year, 1.0)


def on_threads(executor: ThreadPoolExecutor, f: Callable[..., Any], work: list[Any], years: int) -> None:
    """Call a function in a thread for each part of the work."""
    list(executor.map(lambda noise: f(0.2, noise, years), work))


def main() -> None:
    """Measure one thread, and as many as there are cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    random = np.random.default_rng(0)
    work = [random.normal(size=LENGTH) for _ in range(cores)]
    derivative = staged(grad(price))
    for _ in range(3):
        derivative(0.2, work[0], FEW)  # recorded, and compiled
    print(derivative.report().splitlines()[1])
    with ThreadPoolExecutor(cores) as executor:
        for name, f, years in (("native code", derivative, YEARS), ("without staging", grad(price), FEW)):
            programs = {
                "one": lambda f=f, years=years: on_threads(executor, f, work[:1], years),
                "all": lambda f=f, years=years: on_threads(executor, f, work, years),
            }
            times = best_of(ROUNDS, programs)
            print(
                f"{name}, {years * LENGTH:,} steps in a thread: one thread {1e3 * times['one']:.2f} ms, "
                f"{cores} threads {1e3 * times['all']:.2f} ms, ratio {times['all'] / times['one']:.2f}"
            )


if __name__ == "__main__":
    main()
