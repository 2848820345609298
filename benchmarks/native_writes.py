"""Gradients of programs that write in place, and of reads by a table in a loop, whose way back adds to elements.

The functions run as they are, as steps by NumPy, and as native code.

python benchmarks/native_writes.py
SHIFTRESET_AD_NATIVE=0 python benchmarks/native_writes.py   # the steps by NumPy
"""

from __future__ import annotations

from typing import Any

import numpy as np
from timing import best_of

from shiftreset_ad import fori_loop, grad, staged

ROUNDS = 20
X = np.linspace(0.1, 1.0, 100)


def products(x: Any) -> Any:
    """Products of neighbours, one by one."""
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * x[i - 1]
    return np.sum(y * y)


def recurrence(x: Any) -> Any:
    """Each element gets a share of the one before."""
    y = x.copy()
    for i in range(1, len(x)):
        y[i] += y[i - 1] * x[i]
    return np.sum(y)


def diffusion(x: Any) -> Any:
    """Twenty steps of heat in a rod, by slices."""
    y = x * 1.0
    for _ in range(20):
        y[1:-1] += 0.1 * (y[2:] - 2.0 * y[1:-1] + y[:-2])
    return np.sum(y * y)


def by_a_table(xs: Any, table: Any, n: int) -> Any:
    """A loop that reads elements by a table."""
    return fori_loop(0, n, lambda i, s: s * 0.9 + xs[table[i]] * xs[i], 1.0)


def way_of(derivative: Any) -> str:
    """How a staged function runs."""
    return "native code" if "as native code" in derivative.report() else "steps by NumPy"


def main() -> None:
    """Measure all programs."""
    for f in (products, recurrence, diffusion):
        programs = {"function": f, "gradient": grad(f), "staged gradient": staged(grad(f))}
        times = best_of(ROUNDS, {name: lambda g=g: g(X) for name, g in programs.items()})
        shown = ", ".join(f"{name} {1e6 * seconds:.1f} us" for name, seconds in times.items())
        print(f"{f.__name__}: {shown} ({way_of(programs['staged gradient'])})")
    for n in (1_000, 10_000):
        derivative = staged(grad(by_a_table))
        xs, table = np.linspace(0.1, 1.0, n), np.random.default_rng(0).integers(n, size=n)
        seconds = best_of(3, {"": lambda xs=xs, table=table, n=n, g=derivative: g(xs, table, n)})[""]
        print(f"by_a_table, {n:,} rounds: staged gradient {1e6 * seconds:.1f} us ({way_of(derivative)})")


if __name__ == "__main__":
    main()
