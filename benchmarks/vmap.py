"""Gradients of each row of a small network: `vmap(grad(f))` beside the program by hand, torch.func, JAX and a loop.

python benchmarks/vmap.py, or with --processor on a machine that is shared, for times of the processor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad, vmap

ROUNDS = 20
SIZES = {
    "32 rows, 256-128-10": (32, 256, 128, 10),
    "128 rows, 64-64-10": (128, 64, 64, 10),
    "1,000 rows, 20-20-3": (1000, 20, 20, 3),
}


def loss_by(namespace: Any) -> Callable[..., Any]:
    """The cross entropy of one row, over a module like NumPy."""

    def loss(p: Any, x: Any, y: Any) -> Any:
        z = namespace.tanh(x @ p["a"] + p["b"]) @ p["c"] + p["d"]
        return namespace.log(namespace.sum(namespace.exp(z))) - namespace.sum(z * y)

    return loss


def by_hand(p: Any, x: Any, y: Any) -> dict[str, Any]:
    """The gradient of each row, as one writes it for all rows."""
    hidden = np.tanh(x @ p["a"] + p["b"])
    e = np.exp(hidden @ p["c"] + p["d"])
    z_bar = e / np.sum(e, axis=1, keepdims=True) - y
    hidden_bar = (z_bar @ p["c"].T) * (1.0 - hidden * hidden)
    return {
        "a": x[:, :, None] * hidden_bar[:, None],
        "b": hidden_bar,
        "c": hidden[:, :, None] * z_bar[:, None],
        "d": z_bar,
    }


def measured(rows: int, inputs: int, hidden: int, outputs: int, clock: Callable[[], float]) -> dict[str, float]:
    """Seconds of each program."""
    rng = np.random.default_rng(0)
    p = {
        "a": 0.1 * rng.normal(size=(inputs, hidden)),
        "b": np.zeros(hidden),
        "c": 0.1 * rng.normal(size=(hidden, outputs)),
        "d": np.zeros(outputs),
    }
    x, y = rng.normal(size=(rows, inputs)), np.eye(outputs)[rng.integers(0, outputs, rows)]
    axes = (None, 0, 0)
    ours, one = vmap(grad(loss_by(np)), axes), grad(loss_by(np))
    in_jax = jax.vmap(jax.grad(loss_by(jax.numpy)), axes)
    in_torch = torch.func.vmap(torch.func.grad(loss_by(torch)), axes)
    of_torch = [{name: torch.tensor(v) for name, v in p.items()}, torch.tensor(x), torch.tensor(y)]
    of_jax = [{name: jax.numpy.array(v) for name, v in p.items()}, jax.numpy.array(x), jax.numpy.array(y)]
    compiled = jax.jit(in_jax)
    expected = by_hand(p, x, y)
    for found in (ours(p, x, y), ours(*of_torch), in_torch(*of_torch), in_jax(*of_jax)):
        for name, value in expected.items():
            np.testing.assert_allclose(np.asarray(found[name]), value, rtol=1e-9, atol=1e-12)
    return best_of(
        ROUNDS,
        {
            "by hand": lambda: by_hand(p, x, y),
            "vmap": lambda: ours(p, x, y),
            "vmap, tensors": lambda: ours(*of_torch),
            "torch.func": lambda: in_torch(*of_torch),
            "JAX": lambda: jax.block_until_ready(in_jax(*of_jax)),
            "JAX, compiled": lambda: jax.block_until_ready(compiled(*of_jax)),
            "a loop": lambda: [one(p, a, b) for a, b in zip(x, y, strict=True)],
        },
        clock,
    )


def main() -> None:
    """Measure all sizes, and print the times and the ratio to the program by hand (the goal is 1.5)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processor", action="store_true", help="measure the time of the processor, not by the clock")
    clock = time.process_time if parser.parse_args().processor else time.perf_counter
    jax.config.update("jax_enable_x64", True)
    torch.set_num_threads(1)
    names = ("by hand", "vmap", "vmap, tensors", "torch.func", "JAX", "JAX, compiled", "a loop")
    table = Table(
        "rows and network", *[f"{name}, ms" for name in names], "vmap to by hand", title="gradients of each row"
    )
    for size, numbers in SIZES.items():
        times = measured(*numbers, clock)
        row = [f"{times[name] * 1e3:.3g}" for name in names]
        table.add_row(size, *row, f"{times['vmap'] / times['by hand']:.2f}")
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
