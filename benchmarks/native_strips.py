"""Gradients over long arrays in native code, in strips and as wholes: `python benchmarks/native_strips.py`.

The programs take turns, on one thread, and the least processor time of several turns is shown. JAX takes part if it is
installed, compiled; its time is that of all its threads.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from importlib.util import find_spec
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native import in_strips

TURNS = 9
LENGTHS = (2_000, 10_000, 100_000, 1_000_000)
HAS_JAX = find_spec("jax") is not None


def option_prices(np: Any, price: Any, strike: Any, years: Any) -> Any:
    """Options by Black and Scholes, with a logistic function for the normal distribution."""
    spread = 0.2 * np.sqrt(years)
    up = (np.log(price / strike) + 0.07 * years) / spread
    chances = [1.0 / (1.0 + np.exp(-1.6 * x)) for x in (up, up - spread)]
    return np.sum(price * chances[0] - strike * np.exp(-0.05 * years) * chances[1])


def waves(np: Any, x: Any, y: Any, t: Any) -> Any:
    """Functions of mathematics, one after another."""
    return np.sum(np.tanh(x * y) * np.exp(-x * x) + np.sin(x) * np.cos(y) * t)


def potential(np: Any, x: Any, y: Any, z: Any) -> Any:
    """A field around the origin: arrays of vectors, and of their lengths."""
    at = np.stack([x, y, z])
    length = np.sqrt(np.sum(at * at, axis=0))
    return np.sum(at / length * np.exp(-length))


def staged_gradient(f: Any, args: Any, least: float) -> Any:
    """The staged gradient, after the calls in which it is compiled. Arrays of so many bytes go in strips."""
    before, in_strips.MANY = in_strips.MANY, least  # type: ignore[assignment]
    try:
        gradient = staged(grad(lambda *args: f(np, *args), (0, 1, 2)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(4):
                gradient(*args)
    finally:
        in_strips.MANY = before
    return gradient


def by_jax(f: Any, args: Any) -> Any:
    """A call of JAX's compiled gradient that waits for its answer."""
    import jax

    jax.config.update("jax_enable_x64", True)
    gradient = jax.jit(jax.grad(lambda *args: f(jax.numpy, *args), (0, 1, 2)))
    on_device = [jax.device_put(x) for x in args]
    return lambda: jax.block_until_ready(gradient(*on_device))


def main() -> None:
    """Measure all programs, and compare their gradients."""
    columns = "eager", "wholes", "strips", "JAX"
    table = Table("microseconds", "elements", *columns, "strips to wholes", "strips to JAX")
    for f in (option_prices, waves, potential):
        for n in LENGTHS:
            rng = np.random.default_rng(0)
            args = [rng.uniform(0.5, 1.5, n) for _ in range(3)]
            eager = grad(lambda *args, f=f: f(np, *args), (0, 1, 2))
            gradients = {"eager": eager, "wholes": staged_gradient(f, args, math.inf)}
            gradients["strips"] = staged_gradient(f, args, in_strips.MANY)
            programs = {name: lambda g=g, args=args: g(*args) for name, g in gradients.items()}
            if HAS_JAX:
                programs["JAX"] = by_jax(f, args)
            expected = programs["eager"]()
            for program in programs.values():
                for found, wanted in zip(program(), expected, strict=True):
                    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
            times = best_of(TURNS, programs, time.process_time)
            shown = [f"{1e6 * times[name]:,.0f}" if name in times else "-" for name in columns]
            ratios = [f"{times['strips'] / times[name]:.2f}" if name in times else "-" for name in ("wholes", "JAX")]
            table.add_row(f.__name__, f"{n:,}", *shown, *ratios)
    Console().print(table)


if __name__ == "__main__":
    main()
