"""Speed against HIPS autograd, PyTorch and micrograd, all in one run: `python benchmarks/peers.py`.

Times are for forward and backward together, per operation of the program. The libraries take turns, so that the
machine's noise hits all alike; only the ratios mean something. On a machine that is shared, `--processor` takes the
time of the processor. Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
import torch
from cases import array_chain, indexing_loop, scalar_chain
from micrograd.engine import Value
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad

torch.set_num_threads(1)


def ours_scalar(n: int) -> Callable[[], Any]:
    gradient = grad(lambda x: scalar_chain(x, n))
    return lambda: gradient(0.5)


def autograd_scalar(n: int) -> Callable[[], Any]:
    gradient = autograd.grad(lambda x: scalar_chain(x, n))
    return lambda: gradient(0.5)


def torch_scalar(n: int) -> Callable[[], Any]:
    def run() -> Any:
        x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        scalar_chain(x, n).backward()
        return x.grad

    return run


def micrograd_scalar(n: int) -> Callable[[], Any]:
    def run() -> Any:
        x = Value(0.5)
        scalar_chain(x, n).backward()  # recursive: the limit is raised in main
        return x.grad

    return run


def ours_array(n: int, size: int) -> Callable[[], Any]:
    x, w = np.full(size, 0.5), np.full(size, 0.9)
    gradient = grad(lambda x, w: np.sum(array_chain(x, w, n, np.tanh)), argnums=(0, 1))
    return lambda: gradient(x, w)


def autograd_array(n: int, size: int) -> Callable[[], Any]:
    x, w = np.full(size, 0.5), np.full(size, 0.9)
    gradient = autograd.grad(lambda x, w: anp.sum(array_chain(x, w, n, anp.tanh)), argnum=(0, 1))
    return lambda: gradient(x, w)


def torch_array(n: int, size: int) -> Callable[[], Any]:
    def run() -> Any:
        x = torch.full((size,), 0.5, dtype=torch.float64, requires_grad=True)
        w = torch.full((size,), 0.9, dtype=torch.float64, requires_grad=True)
        array_chain(x, w, n, torch.tanh).sum().backward()
        return x.grad, w.grad

    return run


def ours_indexing(size: int) -> Callable[[], Any]:
    x = np.linspace(0.0, 1.0, size)
    gradient = grad(indexing_loop)
    return lambda: gradient(x)


def bytes_per_operation(n: int) -> float:
    gradient = grad(lambda x: scalar_chain(x, n))
    tracemalloc.start()
    gradient(0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / n


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processor", action="store_true", help="times of the processor")
    clock = time.process_time if parser.parse_args().processor else time.perf_counter
    sys.setrecursionlimit(100_000)  # for micrograd alone
    table = Table(
        *("case", "against", "ours", "theirs", "ratio", "goal", ""), title="forward and backward, us per operation"
    )
    missed = []

    def row(case: str, against: str, ours: float, theirs: float, goal: float) -> None:
        ratio = ours / theirs
        missed.extend([case] if ratio > goal else [])
        figures = f"{ours:.3g}", f"{theirs:.3g}", f"{ratio:.3f}", f"<= {goal:.3f}"
        table.add_row(case, against, *figures, "reached" if ratio <= goal else "MISSED")

    def micros(rounds: int, operations: int, programs: dict[str, Callable[[], Any]]) -> dict[str, float]:
        return {name: time / operations * 1e6 for name, time in best_of(rounds, programs, clock).items()}

    n = 1000
    makers = {"autograd": autograd_scalar, "PyTorch": torch_scalar, "micrograd": micrograd_scalar}
    scalar = micros(30, n, {"ours": ours_scalar(n)} | {peer: make(n) for peer, make in makers.items()})
    for peer, goal in (("autograd", 1 / 14), ("PyTorch", 1 / 3), ("micrograd", 1.1)):
        row(f"scalar chain, {n} operations", peer, scalar["ours"], scalar[peer], goal)

    for size, n, rounds, goals in ((10, 999, 30, (0.25, 0.75)), (1_000_000, 30, 10, (1.0, 1.3))):
        makers = {"ours": ours_array, "autograd": autograd_array, "PyTorch": torch_array}
        array = micros(rounds, n, {name: make(n, size) for name, make in makers.items()})
        for peer, goal in zip(("autograd", "PyTorch"), goals, strict=True):
            row(f"array chain, {size} elements", peer, array["ours"], array[peer], goal)

    million = 1_000_000  # after the others, as it leaves its memory to them in pieces
    long = micros(3, million, {"ours": ours_scalar(million)})["ours"]
    row("scalar chain, 1e6 operations", "ours at 1e3", long, scalar["ours"], 2.5)

    few = micros(30, 1_000, {"ours": ours_indexing(1_000)})["ours"]
    many = micros(5, 100_000, {"ours": ours_indexing(100_000)})["ours"]
    row("indexing loop, 1e5 elements", "ours at 1e3", many, few, 1.5)
    row("bytes per scalar operation", "the goal", bytes_per_operation(100_000), 450, 1.0)

    Console(width=110).print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
