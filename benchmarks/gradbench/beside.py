"""Our evals beside GradBench's programs for PyTorch, in one process: `python -m benchmarks.gradbench.beside CHECKOUT`.

The two take turns, and the shortest run counts, by the time of the processor. So a busy machine, and what else the
harness does, hardly matter. The inputs are random, of the size that is given.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from .evals import EVALS

TURNS, REPEATS = 60, 6  # a turn runs a program several times over, so that its caches are warm


def mixture(d: int, k: int, n: int = 1000) -> dict[str, Any]:
    """A message for `gmm`."""
    rng = np.random.default_rng(0)
    arrays = {"x": rng.normal(size=(n, d)), "alpha": rng.normal(size=k), "mu": rng.uniform(size=(k, d))}
    arrays |= {"q": rng.normal(size=(k, d)), "l": rng.normal(size=(k, d * (d - 1) // 2))}
    return {"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0} | {name: x.tolist() for name, x in arrays.items()}


def clusters(d: int, k: int, n: int = 1000) -> dict[str, Any]:
    """A message for `kmeans`."""
    rng = np.random.default_rng(0)
    return {"points": rng.normal(size=(n, d)).tolist(), "centroids": rng.normal(size=(k, d)).tolist()}


# The eval, its function, what the row is about, the message, and the name of what prepares the message for PyTorch.
ROWS: list[tuple[str, str, str, Any, str]] = [
    ("hello", "double", "at 4", 4.0, "to_tensor"),
    ("lse", "gradient", "2,500", {"x": np.random.default_rng(0).normal(size=2500).tolist()}, "prepare_input"),
    ("kmeans", "dir", "k 10, d 16", clusters(16, 10), "prepare_input"),
    ("gmm", "jacobian", "d 2, k 5", mixture(2, 5), "prepare"),
    ("gmm", "jacobian", "d 10, k 5", mixture(10, 5), "prepare"),
]


def in_turns(programs: list[Callable[[], Any]]) -> list[float]:
    """The shortest time of each program, in seconds."""
    least = [math.inf] * len(programs)
    for _ in range(TURNS):
        for i, program in enumerate(programs):
            start = time.process_time()
            for _ in range(REPEATS):
                program()
            least[i] = min(least[i], (time.process_time() - start) / REPEATS)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="a clone of GradBench")
    sys.path.insert(0, str(parser.parse_args().checkout / "python" / "gradbench"))
    importlib.import_module("torch").set_num_threads(1)
    table = Table("eval", "size", "ours, us", "PyTorch, us", "ratio", title="evaluations, in turns")
    for name, function, size, message, prepare in ROWS:
        theirs = importlib.import_module(f"gradbench.tools.pytorch.{name}")
        arguments, tensors = EVALS[name][function].read(message), getattr(theirs, prepare)(message)
        ours, compute = EVALS[name][function].compute, getattr(theirs, function).function
        by_us, by_torch = in_turns([lambda c=ours, a=arguments: c(*a), lambda c=compute, t=tensors: c(t)])
        table.add_row(name, size, f"{by_us * 1e6:.3g}", f"{by_torch * 1e6:.3g}", f"{by_us / by_torch:.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
