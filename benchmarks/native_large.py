"""Gradients on large arrays: eager, by NumPy's steps, in native code, and by JAX: `python benchmarks/native_large.py`.

The arrays have 4,000,000 elements, or as many as `--elements` says, in rows of 1,000. The programs take turns, on one
thread, and the least processor time of several turns is shown, in milliseconds; JAX has all its threads, and its time
is that of all of them. The memory is the most that a call of native code has beside its arguments and answers.
"""

from __future__ import annotations

import argparse
import os
import re
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad, staged

TURNS = 5
FRAME = re.compile(r"%frame = call ptr @PyMem_RawMalloc\(i64 (\d+)\)")


def choice(np: Any, m: Any) -> Any:
    return np.sum(np.where(m > 0.0, m * m, np.exp(m)))


def activation(np: Any, m: Any) -> Any:
    return np.sum(np.tanh(m * 0.5 + 0.1) * m)


def stencil(np: Any, m: Any) -> Any:
    inner = m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4.0 * m[1:-1, 1:-1]
    return np.sum(inner * inner)


def softmax(np: Any, m: Any) -> Any:
    return np.sum(np.log(np.sum(np.exp(m - np.max(m, axis=1, keepdims=True)), axis=1)))


def variance(np: Any, m: Any) -> Any:
    return np.sum((m - np.mean(m, axis=0)) ** 2)


def transposed(np: Any, m: Any) -> Any:
    return np.sum(np.exp(m.T) * m.T)


def shifted(np: Any, m: Any) -> Any:
    return np.sum(np.concatenate([m[1:], m[:1]]) * m)


def running(np: Any, m: Any) -> Any:
    return np.sum(np.cumsum(m, axis=1) ** 2)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a choice of squares and exponentials": choice,
    "hyperbolic tangent": activation,
    "stencil in two directions": stencil,
    "log of a sum of exponentials, by rows": softmax,
    "variance by columns": variance,
    "a transposed array": transposed,
    "rows that are joined in another order": shifted,
    "running sums": running,
}


def by_jax(f: Callable[[Any, Any], Any], x: Any) -> Callable[[], Any]:
    """A call of JAX's compiled gradient that waits for its answer."""
    import jax

    jax.config.update("jax_enable_x64", True)
    gradient = jax.jit(jax.grad(lambda x: f(jax.numpy, x)))
    on_device = jax.device_put(x)
    return lambda: jax.block_until_ready(gradient(on_device))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=4_000_000)
    elements = parser.parse_args().elements
    columns = "eager", "steps", "native", "JAX", "native to steps", "native to JAX", "memory, MB"
    table = Table("milliseconds", *columns, title=f"{elements:,} elements")
    x = np.random.default_rng(0).normal(size=(elements // 1000, 1000))
    for name, f in PROGRAMS.items():
        eager = grad(lambda x, f=f: f(np, x))
        gradient = staged(eager)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(4):
                gradient(x)
        (way,) = [way for signature in gradient._calls._signatures.values() for way in signature.ways]
        steps, native = way.take.steps, way.take.entry  # type: ignore[attr-defined]
        programs = {
            "eager": lambda eager=eager: eager(x),
            "steps": lambda steps=steps: steps([x]),
            "native": lambda native=native: native(x),
        }
        if find_spec("jax") is not None:
            programs["JAX"] = by_jax(f, x)
            np.testing.assert_allclose(programs["native"]()[0], programs["JAX"](), rtol=1e-9, atol=1e-9)
        times = best_of(TURNS, programs, time.process_time)
        memory = FRAME.search(way.llvm)
        ratios = [times["native"] / times[other] if other in times else float("nan") for other in ("steps", "JAX")]
        figures = [f"{times[column] * 1e3:,.1f}" if column in times else "" for column in columns[:4]]
        table.add_row(
            name,
            *figures,
            *(f"{ratio:.2f}" for ratio in ratios),
            f"{int(memory[1]) / 1e6:,.0f}" if memory else "0",
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
