"""What a sum over shards takes on a cluster of Dask: a model, its constants, and what it predicts beside measurements.

The model: the scheduler, with the client, is one process and takes so long for each task; workers compute their shards
in turns; the additions are a tree with a fan-in of eight. On one machine all processes share the cores, so there the
times of all tasks add up. docs/scale.md explains it.

python benchmarks/scale.py
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported, here and in the workers

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import distributed
import numpy as np
from executors import COLUMNS, regression
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import value_and_grad
from shiftreset_ad.executors import Sum
from shiftreset_ad.executors.reduction import GROUP

ROUNDS = 5
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
FEW, MANY = 8, 512  # shards that cost nothing
SHARDS = ((8, 200_000), (32, 50_000), (128, 10_000), (256, 1_000))  # their number, and the rows in each


def rows(count: int) -> Any:
    """Some rows, made where they are needed."""
    return np.full((count, COLUMNS + 1), 0.5)


def nothing(params: Any, data: Any) -> Any:
    """A function that costs next to nothing."""
    return params[0]


def seconds_of_a_shard(count: int) -> float:
    """Seconds for a shard of so many rows in this process; other processes compute theirs at the same time."""
    return best_of(ROUNDS, {"": lambda: value_and_grad(regression)(np.ones(COLUMNS), rows(count))})[""]


class Constants(NamedTuple):
    """Seconds: of a sum, of a task, of the scheduler for a task, and of a row."""

    once: float
    task: float
    scheduler: float
    row: float


def tasks(shards: int) -> int:
    """The shards, and the additions."""
    count = shards
    while shards > 1:
        shards = math.ceil(shards / GROUP)
        count += shards
    return count


def on_one_machine(constants: Constants, workers: int, shards: int, per_shard: float) -> float:
    """Seconds of a sum by workers that share the cores with the scheduler."""
    return constants.once + tasks(shards) * constants.task + math.ceil(shards / min(workers, CORES)) * per_shard


def on_a_cluster(constants: Constants, workers: int, shards: int, per_shard: float) -> float:
    """Seconds of a sum by workers with a core each, while the scheduler has its own."""
    levels = math.ceil(math.log(shards, GROUP))
    turns = math.ceil(shards / workers)
    worked = turns * (per_shard + constants.task)
    return constants.once + max(tasks(shards) * constants.scheduler, worked) + levels * constants.task


def local(workers: int) -> Any:
    """A cluster on this machine."""
    return distributed.Client(n_workers=workers, threads_per_worker=1, dashboard_address=None)


def measured(client: Any, f: Callable[..., Any], shards: list[Any], params: Any) -> tuple[float, float]:
    """Seconds of a sum by the clock, and of the processor in this process, which has the scheduler."""
    total = Sum(f, shards, client)
    total.value_and_grad(params)
    best, busy = math.inf, math.inf
    for _ in range(ROUNDS):
        start, started = time.perf_counter(), time.process_time()
        total.value_and_grad(params)
        best, busy = min(best, time.perf_counter() - start), min(busy, time.process_time() - started)
    return best, busy


def constants() -> Constants:
    """Measure sums of few and of many shards that cost nothing, on two workers, and a row in this process."""
    with local(2) as client:
        few, busy_few = measured(client, nothing, list(range(FEW)), np.ones(COLUMNS))
        many, busy_many = measured(client, nothing, list(range(MANY)), np.ones(COLUMNS))
    more = tasks(MANY) - tasks(FEW)
    task = (many - few) / more
    return Constants(
        max(few - tasks(FEW) * task, 0.0), task, (busy_many - busy_few) / more, seconds_of_a_shard(10**5) / 10**5
    )


def main() -> None:
    """Measure the constants, compare predictions with clusters on this machine, and predict larger ones."""
    console, found = Console(width=120), constants()
    console.print(
        f"a sum: {1e3 * found.once:.1f} ms; a task: {1e3 * found.task:.2f} ms, of which the scheduler "
        f"{1e3 * found.scheduler:.2f} ms; a row: {1e9 * found.row:.0f} ns"
    )
    table = Table("workers", "shards", "rows in each", "predicted, ms", "measured, ms", "measured / predicted")
    for workers in (2, 3, 4):
        with local(workers) as client:
            for shards, count in SHARDS:
                per_shard = max(client.run(seconds_of_a_shard, count).values())
                expected = on_one_machine(found, workers, shards, per_shard)
                seconds, _ = measured(client, regression, [partial(rows, count)] * shards, np.ones(COLUMNS))
                cells = (f"{1e3 * expected:.0f}", f"{1e3 * seconds:.0f}", f"{seconds / expected:.2f}")
                table.add_row(str(workers), str(shards), f"{count:,}", *cells)
    console.print(table)
    table = Table("rows", "workers", "shards", "predicted, s", "speed-up", "what limits it")
    for total in (10**8, 10**9, 10**10):
        alone = total * found.row
        for workers in (10, 100, 1000):
            seconds, shards = min(
                (on_a_cluster(found, workers, n, alone / n), n) for n in (workers, 2 * workers, 4 * workers)
            )
            limit = "the scheduler" if tasks(shards) * found.scheduler > alone / workers else "the rows"
            table.add_row(f"{total:.0e}", str(workers), str(shards), f"{seconds:.2f}", f"{alone / seconds:.0f}", limit)
    console.print(table)


if __name__ == "__main__":
    main()
