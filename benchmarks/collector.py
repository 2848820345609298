"""What the cyclic garbage collector costs, by its threshold for young objects: `python benchmarks/collector.py`."""

from __future__ import annotations

import gc

import numpy as np
from cases import indexing_loop, scalar_chain
from timing import best_of

from shiftreset_ad import grad
from shiftreset_ad.modes.reverse import collector


def main() -> None:
    chain = grad(scalar_chain)
    loop = grad(indexing_loop)
    few, many = np.linspace(0.0, 1.0, 1_000), np.linspace(0.0, 1.0, 100_000)
    programs = {
        "1e3 operations": (1_000, 30, lambda: chain(0.5, 1_000)),
        "1e6 operations": (1_000_000, 2, lambda: chain(0.5, 1_000_000)),
        "x[i] loop, 1e3": (1_000, 30, lambda: loop(few)),
        "x[i] loop, 1e5": (100_000, 4, lambda: loop(many)),
    }
    collector.YOUNG_OBJECTS = 0  # the library leaves the threshold alone; it is set here instead
    for threshold in (700, 10_000, 100_000, 1_000_000, 0):
        gc.set_threshold(threshold, 10, 10)
        costs = (best_of(rounds, {"": run})[""] / n * 1e6 for n, rounds, run in programs.values())
        label = f"threshold {threshold:,}" if threshold else "off"
        print(f"{label:20}", *(f"{name}: {cost:5.2f} us   " for name, cost in zip(programs, costs, strict=True)))


if __name__ == "__main__":
    main()
