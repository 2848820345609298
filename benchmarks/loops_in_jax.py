"""The loops on arrays of `native_loops.py` by JAX, as `lax.scan` under `jit`: `python benchmarks/loops_in_jax.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from timing import best_of

jax.config.update("jax_enable_x64", True)


def recurrence(x: Any) -> Any:
    data = x * np.linspace(0.1, 0.9, 1000)
    return lax.scan(lambda y, element: (y * 0.5 + element * y, None), x, data)[0]


def spinning(x: Any) -> Any:
    start = jnp.stack([x, 0.5 * x, 1.0])
    return jnp.sum(lax.scan(lambda y, _: (y + 0.001 * (y[1] * y - x * y * y), None), start, None, length=1000)[0])


def layers(x: Any) -> Any:
    weights = np.cos(np.arange(64.0)).reshape(8, 8) * 0.3
    start = x * np.linspace(0.1, 0.8, 8)
    return jnp.sum(lax.scan(lambda y, _: (jnp.tanh(weights @ y) + 0.5 * y, None), start, None, length=100)[0])


if __name__ == "__main__":
    programs: dict[str, Callable[[], Any]] = {}
    for f in (recurrence, spinning, layers):
        gradient = jax.jit(jax.grad(f))
        programs[f.__name__] = lambda gradient=gradient: gradient(0.5).block_until_ready()
    for name, seconds in best_of(25, programs).items():
        print(f"{name}: {seconds * 1e6:.3g} us")
