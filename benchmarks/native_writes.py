"""Gradients of programs that write in place, and of reads by a table in a loop, whose way back adds to elements.

The functions run as they are, as steps by NumPy, and as native code.

python benchmarks/native_writes.py
SHIFTRESET_AD_NATIVE=0 python benchmarks/native_writes.py   # the steps by NumPy
"""

import time

import numpy as np

from shiftreset_ad import fori_loop, grad, staged

X = np.linspace(0.1, 1.0, 100)


def products(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * x[i - 1]
    return np.sum(y * y)


def recurrence(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] += y[i - 1] * x[i]
    return np.sum(y)


def diffusion(x):
    y = x * 1.0
    for _ in range(20):
        y[1:-1] += 0.1 * (y[2:] - 2.0 * y[1:-1] + y[:-2])
    return np.sum(y * y)


def by_a_table(xs, table, n):
    return fori_loop(0, n, lambda i, s: s * 0.9 + xs[table[i]] * xs[i], 1.0)


def microseconds(f, *args, calls=100):
    """The least time of a call, after the calls in which a staged function is recorded and compiled."""
    for _ in range(4):
        f(*args)
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


if __name__ == "__main__":
    for f in (products, recurrence, diffusion):
        derivative = staged(grad(f))
        times = [microseconds(g, X) for g in (f, grad(f), derivative)]
        way = "native" if "as native code" in derivative.report() else "steps by NumPy"
        print(f"{f.__name__}: function {times[0]:.0f}, gradient {times[1]:.0f}, staged {times[2]:.1f} us ({way})")
    derivative = staged(grad(by_a_table))
    for n in (1_000, 10_000):
        xs, table = np.linspace(0.1, 1.0, n), np.random.default_rng(0).integers(n, size=n)
        print(f"by_a_table, {n} rounds: staged {microseconds(derivative, xs, table, n, calls=3):.0f} us")
