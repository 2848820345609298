"""What an operation costs by family, there and back, beside other libraries: `python benchmarks/operations.py`.

Each step is written once, over each library's own NumPy, and a chain of steps is differentiated. Its time is divided by
the number of steps: microseconds for a step, with all the operations that it names. NumPy's column is the function
itself, without a derivative. The second order is a Hessian times a vector. PyTorch and JAX, which is timed operation by
operation, take part where they are installed. The libraries take turns, and the shortest run counts, by the time of the
processor: a run is so short that some meet no other process. With names of families, `... operations.py joins
products`, only these are measured, and with numbers of elements, `... operations.py linalg 4096`, only these sizes.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import autograd
import autograd.numpy as anp
import numpy as np
from rich.console import Console
from rich.table import Table

import shiftreset_ad as sr

STEPS = 100  # so many that the call itself counts little: 0.3 us for a step, or 0.5 of a Hessian times a vector
SIZES = 4, 1024  # elements
SECONDS = 0.3  # for each library in each row
Program = Callable[[], Any]


class Step(NamedTuple):
    """One step of a chain, `step(np, x, c)`, which gives an array of the shape of `x`; `c` is a constant array.

    Arrays are vectors, or square matrices where `matrices` says so; of these, `x` may be a single `row`. `writes` says
    that the step writes in place, which the other libraries cannot differentiate.
    """

    family: str
    name: str
    step: Callable[[Any, Any, Any], Any]
    matrices: bool = False
    writes: bool = False
    row: bool = False


def overwritten(np: Any, x: Any, c: Any) -> Any:
    y = x.copy()
    y[1:] = x[:-1]
    return y


def added_to(np: Any, x: Any, c: Any) -> Any:
    y = x * c
    y[1:] += x[:-1]
    return y


FAMILIES = [
    Step("elementwise", "tanh", lambda np, x, c: np.tanh(x)),
    Step("elementwise", "product with a constant", lambda np, x, c: x * c),
    Step("reductions", "x - sum(x)", lambda np, x, c: x - np.sum(x)),
    Step("reductions", "x - mean(x)", lambda np, x, c: x - np.mean(x)),
    Step("reductions", "x - max(x)", lambda np, x, c: x - np.max(x)),
    Step("reductions", "x / norm(x)", lambda np, x, c: x / np.linalg.norm(x)),
    Step("shapes", "two reshapes", lambda np, x, c: np.reshape(np.reshape(x, (2, -1)), (-1,))),
    Step("shapes", "transpose, ravel, reshape", lambda np, x, c: np.reshape(np.ravel(x.T), x.shape), matrices=True),
    Step("joins", "concatenate and a slice", lambda np, x, c: np.concatenate([x, c])[: len(c)]),
    Step("joins", "stack and an index", lambda np, x, c: np.stack([x, c])[0]),
    Step("indexing", "x[1:-1] joined to its ends", lambda np, x, c: np.concatenate([x[-1:], x[1:-1], x[:1]])),
    Step("indexing", "x at an array of positions", lambda np, x, c: x[positions(np, len(c))]),
    Step("products", "dot and a product", lambda np, x, c: x * np.dot(x, c)),
    Step("products", "matmul and a product", lambda np, x, c: (c @ x) * c, matrices=True),
    Step("products", "einsum and a product", lambda np, x, c: np.einsum("ij,jk->ik", c, x) * c, matrices=True),
    Step("linalg", "solve and a product", lambda np, x, c: np.linalg.solve(c, x) * c, matrices=True),
    Step("linalg", "solve for a vector, and a product", lambda np, x, c: np.linalg.solve(c, x) * c[0], True, row=True),
    Step("linalg", "inv and a product", lambda np, x, c: np.linalg.inv(c + x) * c, matrices=True),
    Step("choices", "where", lambda np, x, c: np.where(c > 0.5, x, c)),
    Step("choices", "maximum", lambda np, x, c: np.maximum(x, c)),
    Step("choices", "clip", lambda np, x, c: np.clip(x, 0.2, 0.8)),
    Step("writes in place", "y = x.copy(); y[1:] = x[:-1]", overwritten, writes=True),
    Step("writes in place", "y = x * c; y[1:] += x[:-1]", added_to, writes=True),
]


def positions(np: Any, size: int) -> Any:
    """All positions, in another order."""
    return KNOWN_POSITIONS.setdefault((np.__name__, size), (np.arange(size) + 2) % size)


KNOWN_POSITIONS: dict[tuple[str, int], Any] = {}


def chain(np: Any, case: Step, c: Any) -> Callable[[Any], Any]:
    """The sum of what many steps make of an array."""

    def f(x: Any) -> Any:
        for _ in range(STEPS):
            x = case.step(np, x, c)
        return np.sum(x)

    return f


def arrays(case: Step, size: int) -> tuple[Any, Any]:
    """Where the chain begins, and the constant."""
    rng = np.random.default_rng(0)
    x, c = rng.uniform(0.1, 0.9, size=(2, size))
    if not case.matrices:
        return x, c
    rows = int(size**0.5)
    return x[:rows] if case.row else x.reshape(rows, rows), c.reshape(rows, rows) / rows + np.eye(rows)


def programs(case: Step, size: int, order: int) -> dict[str, Program]:
    """What is timed, by library."""
    x, c = arrays(case, size)
    v = np.ones_like(x)
    f = chain(np, case, c)
    found: dict[str, Program] = {"NumPy": lambda: f(x)}
    if order == 1:
        found["ours"] = lambda: sr.grad(f)(x)
    else:
        found["ours"] = lambda: sr.hvp(f, (x,), (v,))
    if case.writes:
        return found
    by_autograd = chain(anp, case, c)
    product = autograd.hessian_vector_product(by_autograd)
    found["autograd"] = (lambda: autograd.grad(by_autograd)(x)) if order == 1 else lambda: product(x, v)
    if find_spec("torch"):
        found["PyTorch"] = by_torch(case, x, c, order)
    if find_spec("jax"):
        found["JAX"] = by_jax(case, x, c, order)
    return found


def by_torch(case: Step, x: Any, c: Any, order: int) -> Program:
    import torch

    torch.set_num_threads(1)
    start, v = torch.tensor(x), torch.ones_like(torch.tensor(x))
    f = chain(torch, case, torch.tensor(c))

    def gradient() -> Any:
        x = start.clone().requires_grad_()
        f(x).backward()
        return x.grad

    return gradient if order == 1 else lambda: torch.autograd.functional.vhp(f, start, v)[1]


def by_jax(case: Step, x: Any, c: Any, order: int) -> Program:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    start, v = jnp.asarray(x), jnp.ones_like(x)
    f = chain(jnp, case, jnp.asarray(c))
    if order == 1:
        return lambda: jax.block_until_ready(jax.grad(f)(start))
    return lambda: jax.block_until_ready(jax.jvp(jax.grad(f), (start,), (v,))[1])


def shortest(programs: dict[str, Program]) -> dict[str, float]:
    """The shortest run of each program, in seconds."""
    least, spent = dict.fromkeys(programs, math.inf), dict.fromkeys(programs, 0.0)
    while min(spent.values()) < SECONDS:
        for name, program in programs.items():
            if spent[name] < SECONDS:
                start = time.process_time()
                program()
                seconds = time.process_time() - start
                least[name], spent[name] = min(least[name], seconds), spent[name] + seconds
    return least


LIBRARIES = ["NumPy", "ours", "autograd", "PyTorch", "JAX"]


def main() -> None:
    sizes = tuple(map(int, filter(str.isdigit, sys.argv[1:]))) or SIZES
    chosen = [argument for argument in sys.argv[1:] if not argument.isdigit()]  # families
    for size in sizes:
        for order in (1, 2):
            title = f"{size:,} elements, {'gradient' if order == 1 else 'Hessian times a vector'}, us for a step"
            table = Table("family", "step", *LIBRARIES, "ours / autograd", "ours - 2 NumPy", title=title)
            for case in FAMILIES:
                if chosen and case.family not in chosen:
                    continue
                times = {name: least / STEPS * 1e6 for name, least in shortest(programs(case, size, order)).items()}
                ours, peer = times["ours"], times.get("autograd")
                table.add_row(
                    *(case.family, case.name),
                    *(f"{times[name]:.3g}" if name in times else "" for name in LIBRARIES),
                    "" if peer is None else f"{ours / peer:.2f}",
                    f"{ours - 2 * times['NumPy']:.3g}",
                )
            Console(width=140).print(table)


if __name__ == "__main__":
    main()
