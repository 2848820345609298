"""What a shard costs beside the engine's own task, and how gradients scale: `python benchmarks/executors.py`.

The first table is of a function that does nothing: the time for each shard of a `Sum`, and for each task that is given
to the engine directly, in turns. The second is of a logistic regression, on one and on two workers. It needs loky and
Dask; an engine that is not installed is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported, here and in the workers

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np
from timing import best_of

from shiftreset_ad import value_and_grad
from shiftreset_ad.executors import Sum

SHARDS, ROUNDS = 100, 5
ROWS, COLUMNS = 200_000, 20  # of the regression, in 8 shards


def nothing(params: Any, data: Any) -> Any:
    """A function that costs nothing."""
    return params


def its_gradient(params: Any, data: Any) -> Any:
    """The task that is given to the engine directly."""
    return value_and_grad(nothing)(params, data)


def regression(params: Any, data: Any) -> Any:
    """The loss of a logistic regression."""
    return np.sum(np.logaddexp(0.0, -data[:, -1] * (data[:, :-1] @ params)))


@contextmanager
def engines(workers: int) -> Iterator[dict[str, Any]]:
    """The engines that are installed, each with so many workers."""
    with ThreadPoolExecutor(workers) as threads, ProcessPoolExecutor(workers, get_context("spawn")) as processes:
        found: dict[str, Any] = {"threads": threads, "processes": processes}
        if find_spec("loky"):
            import loky

            found["loky"] = loky.get_reusable_executor(workers)
        if not find_spec("distributed"):
            yield found
            return
        import distributed

        with (
            distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield found | {"Dask": client}


def directly(engine: Any) -> Callable[[], Any]:
    """Give the engine a task for each shard, and wait for all answers."""
    if isinstance(engine, Executor):
        return lambda: [f.result() for f in [engine.submit(its_gradient, 1.0, number) for number in range(SHARDS)]]
    return lambda: engine.gather([engine.submit(its_gradient, 1.0, number, pure=False) for number in range(SHARDS)])


def overhead() -> None:
    """Measure what a shard costs."""
    print("each of 100 shards of a function that does nothing")
    with engines(2) as found:
        for name, engine in found.items():
            total = Sum(nothing, range(SHARDS), engine)
            programs = {"Sum": lambda total=total: total.value_and_grad(1.0), "engine": directly(engine)}
            times = best_of(ROUNDS, programs)
            ours, own = (1e3 * times[key] / SHARDS for key in ("Sum", "engine"))
            print(
                f"  {name:10} {ours:7.3f} ms    the engine's own task {own:7.3f} ms    beyond it {ours - own:7.3f} ms"
            )


def scaling() -> None:
    """Measure a gradient on one and on two workers."""
    random = np.random.default_rng(0)
    data = random.normal(size=(ROWS, COLUMNS + 1))
    data[:, -1] = np.sign(data[:, 0] + 0.3 * data[:, -1])
    shards, params = np.array_split(data, 8), np.zeros(COLUMNS)
    print(f"the gradient of a regression on {ROWS:,} rows, in 8 shards")
    seconds = best_of(ROUNDS, {"": lambda: value_and_grad(regression)(params, data)})[""]
    print(f"  {'no engine':10} {1e3 * seconds:7.1f} ms")
    times: dict[str, list[float]] = {}
    for workers in (1, 2):
        with engines(workers) as found:
            for name, engine in found.items():
                if name == "Dask":
                    shards = engine.scatter(list(shards))  # the data stay where they are
                total = Sum(regression, shards, engine)
                seconds = best_of(ROUNDS, {name: lambda total=total: total.value_and_grad(params)})[name]
                times.setdefault(name, []).append(1e3 * seconds)
            shards = np.array_split(data, 8)
    for name, (one, two) in times.items():
        print(f"  {name:10} {one:7.1f} ms by one worker    {two:7.1f} ms by two")


if __name__ == "__main__":
    overhead()
    scaling()
