"""A long loop within a limit of memory, by `python benchmarks/memory_limit.py`: time and peak of memory, for limits.

The gradient through 9,000,000 rounds on a number, and through 3,000 rounds on 1,000 elements, as native code where
llvmlite is installed. Each limit has a process of its own, as the peak is that of the process: what the call adds to
it. The time is that of the processor, for the call after that. The processes take turns, and the least time counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from shiftreset_ad import fori_loop, grad, staged

CASES: dict[str, tuple[Any, int]] = {"number": (0.5, 9_000_000), "array": (np.linspace(0.1, 1.0, 1000), 3_000)}
LIMITS = {"number": (None, 2**28, 2**24, 2**20, 2**14), "array": (None, 2**27, 2**24, 2**20, 2**18)}
TURNS = 2


def rounds(x: Any, n: int) -> Any:
    return np.sum(fori_loop(0, n, lambda i, x: x - 1e-7 * np.sin(x) * i, x))


def peak() -> int:
    """The most kilobytes that the process has had."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


def measured(case: str, limit: int | None) -> tuple[float, int]:
    """The seconds of the processor, and the kilobytes, of a call."""
    x, n = CASES[case]
    slope = staged(grad(rounds), memory_limit=limit)
    for _ in range(4):
        slope(x, 10)
    before = peak()
    slope(x, n)
    added = peak() - before
    start = time.process_time()
    slope(x, n)
    return time.process_time() - start, added


def in_a_process(case: str, limit: int | None) -> tuple[float, int]:
    command = [sys.executable, __file__, case, f"{limit or 0}"]
    seconds, added = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), int(added)


def main() -> None:
    if len(sys.argv) == 3:
        print(*measured(sys.argv[1], int(sys.argv[2]) or None))
        return
    for case, (_, n) in CASES.items():
        table = Table(title=f"{n:,} rounds on {'a number' if case == 'number' else '1,000 elements'}")
        for column in ("limit, KB", "peak of memory, KB", "seconds", "of the time without a limit"):
            table.add_column(column, justify="right")
        found: dict[int | None, list[tuple[float, int]]] = {limit: [] for limit in LIMITS[case]}
        for _ in range(TURNS):
            for limit in found:
                found[limit].append(in_a_process(case, limit))
        seconds = {limit: min(second for second, _ in runs) for limit, runs in found.items()}
        for limit, runs in found.items():
            most = max(added for _, added in runs)
            name = "none" if limit is None else f"{limit // 2**10:,}"
            table.add_row(name, f"{most:,}", f"{seconds[limit]:.2f}", f"{seconds[limit] / seconds[None]:.2f}")
        Console().print(table)


if __name__ == "__main__":
    main()
