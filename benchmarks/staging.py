"""What staging costs and saves, against NumPy written by hand: `python benchmarks/staging.py`.

The products with a Hessian are written out by hand as well as we could. All take turns, so that the machine's noise
hits all alike; only the ratios mean something.
"""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from cases import network, rosenbrock
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr

rng = np.random.default_rng(0)
BATCH, PARAMETERS, DIRECTION = rng.normal(size=(20, 4)), rng.normal(size=49), rng.normal(size=49)
POINT, ONES = rng.normal(size=1000), np.ones(1000)


def network_by_hand(parameters: Any) -> Any:
    """Its Hessian times the direction."""
    w, b, u, c = parameters[:32].reshape(4, 8), parameters[32:40], parameters[40:48], parameters[48]
    w_dot, b_dot, u_dot, c_dot = DIRECTION[:32].reshape(4, 8), DIRECTION[32:40], DIRECTION[40:48], DIRECTION[48]
    h = np.tanh(BATCH @ w + b)
    slope = 1 - h * h
    h_dot = slope * (BATCH @ w_dot + b_dot)
    y_bar = (h @ u + c) * (2 / 20)
    y_bar_dot = (h_dot @ u + h @ u_dot + c_dot) * (2 / 20)
    h_bar, h_bar_dot = y_bar[:, None] * u, y_bar_dot[:, None] * u + y_bar[:, None] * u_dot
    a_bar_dot = h_bar_dot * slope - h_bar * (2 * h * h_dot)
    product = np.empty(49)
    product[:32] = (BATCH.T @ a_bar_dot).ravel()
    product[32:40] = np.add.reduce(a_bar_dot, 0)
    product[40:48] = y_bar_dot @ h + y_bar @ h_dot
    product[48] = np.add.reduce(y_bar_dot)
    return product


def rosenbrock_by_hand(x: Any) -> Any:
    """Its Hessian times ones."""
    a, a_dot = x[:-1], ONES[:-1]
    t_bar, t_bar_dot = 200 * (x[1:] - a * a), 200 * (ONES[1:] - 2 * a * a_dot)
    product = np.zeros(1000)
    product[1:] = t_bar_dot
    product[:-1] += 2 * a_dot - 2 * (t_bar_dot * a + t_bar * a_dot)
    return product


def in_microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.3g}"


def against_numpy() -> Table:
    table = Table(
        "Hessian times a vector", "plain, us", "staged", "NumPy by hand", "staged to NumPy", "plain to staged"
    )
    for name, f, by_hand, x, v in (
        ("network of 49", lambda p: network(np, p, BATCH), network_by_hand, PARAMETERS, DIRECTION),
        ("Rosenbrock of 1000", lambda x: rosenbrock(np, x), rosenbrock_by_hand, POINT, ONES),
    ):

        def plain(x: Any, f: Any = f, v: Any = v) -> Any:
            return sr.hvp(f, (x,), (v,))

        staged = sr.staged(plain)
        np.testing.assert_allclose(plain(x), by_hand(x))
        for _ in range(3):
            np.testing.assert_allclose(staged(x), by_hand(x))
        times = best_of(
            5,
            {
                "plain": lambda plain=plain, x=x: plain(x),
                "staged": lambda staged=staged, x=x: staged(x),
                "by hand": lambda by_hand=by_hand, x=x: by_hand(x),
            },
        )
        ratios = times["staged"] / times["by hand"], times["plain"] / times["staged"]
        table.add_row(name, *map(in_microseconds, times.values()), *(f"{ratio:.2f}" for ratio in ratios))
    return table


def calls() -> Table:
    """Of a call: alone, and for each array and number that the function sees from outside."""
    small, large, number = np.ones(10), np.ones(100_000), 2.0
    objects, numbers = [SimpleNamespace(k=1.0) for _ in range(4_000)], {k: float(k) for k in range(30_000)}
    large.flags.writeable = True
    functions = {
        "x * 2": lambda x: x * 2.0,
        "x * a number from outside": lambda x: x * number,
        "x * an array of 10 from outside": lambda x: x * small,
        "x * an element of one of 100,000": lambda x: x * large[0],
        "x * an attribute of one of 4,000 objects": lambda x: x * objects[7].k,
        "x * an entry of a dictionary of 30,000": lambda x: x * numbers[7],
    }
    staged = {name: sr.staged(f) for name, f in functions.items()}
    for f in staged.values():
        f(1.0), f(2.0), f(3.0)
    table = Table("one staged call", "us")
    times = best_of(5, {name: lambda f=f: f(1.0) for name, f in staged.items()})
    for name, seconds in times.items():
        table.add_row(name, in_microseconds(seconds))
    return table


def first_calls() -> Table:
    """Of the gradient of a loop: the first call, a call by the steps, and one of the function itself."""
    table = Table("gradient of a loop", "first call, ms", "a round, us", "by the steps, ms", "plain, ms")
    for rounds in (100, 1000, 3000):

        def f(x: float, rounds: int = rounds) -> float:
            for _ in range(rounds):
                x = x * x * 0.5 + 0.1
            return x

        staged = sr.staged(sr.grad(f))
        start = time.perf_counter()
        staged(1.0)
        first = time.perf_counter() - start
        staged(1.0)
        times = best_of(3, {"steps": lambda staged=staged: staged(1.0), "plain": lambda f=f: sr.grad(f)(1.0)})
        table.add_row(
            f"{rounds} rounds",
            f"{first * 1e3:.3g}",
            in_microseconds(first / rounds),
            *(f"{seconds * 1e3:.3g}" for seconds in times.values()),
        )
    return table


def large_arrays() -> Table:
    """A million elements, where NumPy's own time is all."""
    x = rng.normal(size=1_000_000)
    functions = {
        "a polynomial": lambda x: x * x * x - 2.0 * x * x + 3.0 * x - 1.0,
        "gradient of tanh and exp": sr.grad(lambda x: np.sum(np.tanh(x) * np.exp(-x * x))),
    }
    table = Table("a million elements", "plain, ms", "staged", "staged to plain")
    for name, f in functions.items():
        staged = sr.staged(f)
        staged(x), staged(x)
        times = best_of(5, {"plain": lambda f=f: f(x), "staged": lambda staged=staged: staged(x)})
        in_ms = (f"{seconds * 1e3:.3g}" for seconds in times.values())
        table.add_row(name, *in_ms, f"{times['staged'] / times['plain']:.2f}")
    return table


if __name__ == "__main__":
    for make in (against_numpy, calls, first_calls, large_arrays):
        Console(width=120).print(make())
