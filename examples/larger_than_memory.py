"""Logistic regression on data that do not fit in memory, on a cluster of Dask, with a checkpoint after each pass.

The rows lie in files. Each worker reads the files of its own tasks, one at a time, and the cluster adds up the
gradients: `executors.Mean` is the loss over all rows, with its gradient. The workers may not take more memory than a
limit, and the data are larger than their limits together. When the program is stopped, the same command goes on from
the checkpoint, with the same bits as if it had not been stopped.

Known: labels are drawn with probabilities of known weights, so the weights that are found must be those, up to four
standard errors, which the Hessian on one file gives. At the minimum the gradient is zero.

    python examples/larger_than_memory.py
    python examples/larger_than_memory.py --folder data     # keeps files and checkpoint there, and goes on from them
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import numpy as np
from known import compare

from shiftreset_ad import hessian, optimize
from shiftreset_ad.executors import Mean

COLUMNS = 15
WEIGHTS = np.linspace(-1.0, 1.0, COLUMNS)
WORKERS, LIMIT = 2, 256 * 2**20  # bytes for each worker


def loss(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The mean logistic loss of rows (n, columns + 1), whose last column has the labels -1 and 1."""
    return np.mean(np.logaddexp(0.0, -rows[:, -1] * (rows[:, :-1] @ weights)))


@contextmanager
def replacing(file: Path) -> Iterator[IO[bytes]]:
    """A stream to a file that is there whole or not at all."""
    partial_file = file.with_suffix(".partial")
    with partial_file.open("wb") as stream:
        yield stream
    partial_file.replace(file)


def write(file: Path, seed: int, count: int) -> None:
    """Write random rows to a file."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, COLUMNS + 1))
    probability = 1.0 / (1.0 + np.exp(-rows[:, :-1] @ WEIGHTS))
    rows[:, -1] = np.where(random.random(count) < probability, 1.0, -1.0)
    with replacing(file) as stream:
        np.save(stream, rows)


def train(total: Mean, checkpoint: Path, passes: int) -> np.ndarray:
    """Go on from the checkpoint, if there is one, to so many passes over the data, and return the weights."""
    optimizer = optimize.sgd(8.0, momentum=0.3, nesterov=True)
    weights = np.zeros(COLUMNS)
    state = optimizer.init(weights)
    if checkpoint.exists():
        with np.load(checkpoint) as kept:
            weights, state = kept["weights"], type(state)(int(kept["done"]), kept["velocity"])
        print(f"goes on after pass {state.done}")
    while state.done < passes:
        value, gradient = total.value_and_grad(weights)
        weights, state = optimizer.step(gradient, weights, state)
        with replacing(checkpoint) as stream:
            np.savez(stream, weights=weights, done=state.done, velocity=state.velocity)
        print(f"pass {state.done}: loss {value:.6f}, largest slope {np.max(np.abs(gradient)):.1e}")
    return weights


def memory_of_worker() -> int:
    """The bytes of memory that this process has."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def main() -> int:
    """Write the data, train, and compare."""
    parser = argparse.ArgumentParser(description="Train on data that do not fit in memory.")
    parser.add_argument("--folder", type=Path, help="for data and checkpoint; a temporary one otherwise")
    parser.add_argument("--passes", type=int, default=12, help="over the data")
    parser.add_argument("--shards", type=int, default=40, help="files")
    parser.add_argument("--rows", type=int, default=2**17, help="in each file")
    given = parser.parse_args()
    with nullcontext(given.folder) if given.folder else TemporaryDirectory() as folder:
        return run(Path(folder), given.passes, given.shards, given.rows)


def run(folder: Path, passes: int, shards: int, rows: int) -> int:
    """The same, with files in a folder."""
    from distributed import Client, LocalCluster

    folder.mkdir(exist_ok=True)
    files = [folder / f"rows-{number:03}.npy" for number in range(shards)]
    for seed, file in enumerate(files):
        if not file.exists():
            write(file, seed, rows)
    size = sum(file.stat().st_size for file in files) / 2**20
    print(f"{size:.0f} MiB of data, and {WORKERS} workers with {LIMIT / 2**20:.0f} MiB of memory each")
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, memory_limit=LIMIT, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        total = Mean(loss, [partial(np.load, file) for file in files], client)
        weights = train(total, folder / "checkpoint.npz", passes)
        slopes = total.grad(weights)
        memory = max(client.run(memory_of_worker).values())
    print(f"at the end, the larger worker has {memory / 2**20:.0f} MiB")
    curvature = hessian(loss)(weights, np.load(files[0]))
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)) / (shards * rows))
    return compare(
        "Logistic regression",
        [
            ("weights, in standard errors", (weights - WEIGHTS) / errors, 0.0, 4.0),
            ("slopes at the end", slopes, 0.0, 1e-5),
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
