"""Programs that write to one array against the same programs without writing, by `python benchmarks/in_place.py`.

Times are of value and gradient, for each operation that the derivative records: a write is one, and so is a slice.
Memory is what a write of one element adds to the peak, of a small array and of a large one. Exit status 1 if a program
that writes takes more than three times as long an operation as its twin, or if memory depends on the size of the array.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr
from shiftreset_ad import grad, value_and_grad
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.modes.reverse.recording import Recording

STEPS = 50
AT_MOST = 3.0


def heat(u: Any) -> Any:
    u = u.copy()
    for _ in range(STEPS):
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def heat_anew(u: Any) -> Any:
    for _ in range(STEPS):
        u = np.concatenate([u[:1], u[1:-1] + 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2]), u[-1:]])
    return np.sum(u**2)


def elimination(a: Any) -> Any:
    a = a.copy()
    for k in range(len(a) - 1):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(np.log(np.abs(np.diagonal(a))))


def elimination_anew(a: Any) -> Any:
    total = 0.0
    while len(a) > 1:
        p = int(np.argmax(np.abs(a[:, 0])))
        if p:
            order = np.arange(len(a))
            order[[0, p]] = p, 0
            a = a[order]
        total = total + np.log(np.abs(a[0, 0]))
        a = a[1:, 1:] - np.outer(a[1:, 0] / a[0, 0], a[0, 1:])
    return total + np.log(np.abs(a[0, 0]))


def least(a: Any, b: Any, c: Any) -> Any:
    return -np.log(np.exp(-a) + np.exp(-b) + np.exp(-c))


def edit_distance(costs: Any) -> Any:
    n, m = costs.shape
    table = sr.zeros((n + 1, m + 1))
    table[:, 0], table[0] = np.arange(n + 1.0), np.arange(m + 1.0)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i, j] = least(table[i - 1, j] + 1.0, table[i, j - 1] + 1.0, table[i - 1, j - 1] + costs[i - 1, j - 1])
    return table[n, m]


def edit_distance_anew(costs: Any) -> Any:
    n, m = costs.shape
    above = [float(j) for j in range(m + 1)]
    for i in range(1, n + 1):
        row = [float(i)]
        for j in range(1, m + 1):
            row.append(least(above[j] + 1.0, row[j - 1] + 1.0, above[j - 1] + costs[i - 1, j - 1]))
        above = row
    return above[m]


def operations(f: Callable[[Any], Any], x: Any) -> int:
    """How many operations the derivative of `f` records."""
    return len(Recording("in_place", f, Arguments("in_place", 0, (x,)))._pending)


def memory_of_a_write(size: int) -> float:
    """Bytes that one more write of an element to an array of this size adds to the peak of the gradient."""

    def peak(count: int) -> int:
        def f(x: Any) -> Any:
            y = np.zeros_like(x)
            for i in range(count):
                y[i % 10] = x[i % 10] * 0.5
            return np.sum(y)

        x = np.ones(size)
        grad(f)(x)
        gc.collect()
        tracemalloc.start()
        grad(f)(x)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    return (peak(4_000) - peak(2_000)) / 2_000


def main() -> int:
    random = np.random.default_rng(0)
    cases = {
        "heat equation, 100 cells": (heat, heat_anew, random.normal(size=100)),
        "heat equation, 100,000 cells": (heat, heat_anew, random.normal(size=100_000)),
        "elimination, 40 rows": (elimination, elimination_anew, random.normal(size=(40, 40))),
        "edit distance, 12 by 12": (edit_distance, edit_distance_anew, random.uniform(size=(12, 12))),
    }
    table = Table("program", "operations", "us an operation", "twin: operations", "us an operation", "ratio")
    missed = False
    for name, (f, twin, x) in cases.items():
        np.testing.assert_allclose(grad(f)(x), grad(twin)(x), rtol=1e-8)
        times = best_of(5, {"f": lambda: value_and_grad(f)(x), "twin": lambda: value_and_grad(twin)(x)})  # noqa: B023
        counts = operations(f, x), operations(twin, x)
        each = times["f"] / counts[0] * 1e6, times["twin"] / counts[1] * 1e6
        missed |= each[0] > AT_MOST * each[1]
        table.add_row(
            name, f"{counts[0]:,}", f"{each[0]:.3g}", f"{counts[1]:,}", f"{each[1]:.3g}", f"{each[0] / each[1]:.2f}"
        )
    small, large = memory_of_a_write(100), memory_of_a_write(100_000)
    missed |= large > 1.5 * small
    console = Console()
    console.print(table)
    console.print(f"bytes a write: {small:.0f} to an array of 100 elements, {large:.0f} to one of 100,000")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
