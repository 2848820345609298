"""Sparse Jacobians and Hessians beside the function itself and the dense ones, by `python benchmarks/sparse.py`.

For each problem: its size, the products that it takes, the time to find the pattern and its colours once, and the time
of the sparse matrix in evaluations of the function: with the check of the pattern and without it, and both by `staged`,
too. The dense matrix is timed where it is small enough. All times are of the processor. Where asdex is installed, which
does this for JAX, the same problems are timed beside it by the clock.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr

DENSE_AT_MOST = 2000  # elements of the argument


class Problem(NamedTuple):
    name: str
    f: Callable[[Any], Any]
    x: Any
    of_scalar: bool = False


def band(u: Any) -> Any:
    """The equations of a rod with a source that depends on the temperature."""
    left, right = np.pad(u[:-1], (1, 0)), np.pad(u[1:], (0, 1))
    return np.exp(-u) * (left - 2.0 * u + right) + np.sin(u) * right


def plate(u: Any) -> Any:
    """Bratu's equation on a square."""
    n = int(len(u) ** 0.5)
    v = np.pad(np.reshape(u, (n, n)), 1)
    return np.ravel(
        4.0 * v[1:-1, 1:-1] - v[2:, 1:-1] - v[:-2, 1:-1] - v[1:-1, 2:] - v[1:-1, :-2] - np.exp(v[1:-1, 1:-1])
    )


def arrow(x: Any) -> Any:
    """Each residual has its own parameter and a common one, and the last residual has all parameters."""
    return np.append(x[1:] * x[0] + x[1:] ** 3, np.sum(x**2))


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def membrane(u: Any) -> Any:
    """The area of a surface over a square."""
    n = int(len(u) ** 0.5)
    v = np.pad(np.reshape(u, (n, n)), 1)
    return np.sum(np.sqrt(1.0 + np.diff(v, axis=0)[:, 1:] ** 2 + np.diff(v, axis=1)[1:] ** 2))


PROBLEMS = (
    Problem("a band, 100,000", band, np.linspace(0.0, 1.0, 100_000)),
    Problem("a plate, 100 x 100", plate, np.linspace(0.0, 1.0, 10_000)),
    Problem("an arrow, 1,000", arrow, np.linspace(0.5, 1.0, 1000)),
    Problem("Rosenbrock, 10,000", rosenbrock, np.linspace(0.0, 1.0, 10_000), True),
    Problem("a membrane, 30 x 30", membrane, np.linspace(0.0, 1.0, 900), True),
)


def main() -> None:
    """Measure the problems, here and by asdex where it is installed."""
    console = Console(width=120)
    console.print(in_evaluations())
    console.print("One evaluation is that of the function for a Jacobian, and that of the gradient for a Hessian.")
    if find_spec("asdex"):
        console.print(beside_asdex())


def in_evaluations() -> Table:
    """The time in evaluations of the function."""
    of_setting_up = "products", "pattern, ms", "colours, ms"
    table = Table("matrix", *of_setting_up, "evaluations", "checked", "staged", "staged, checked", "dense")
    for name, f, x, of_scalar in PROBLEMS:
        first = sr.grad(f) if of_scalar else f
        start = time.process_time()
        pattern = sr.sparsity(first)(x)
        between = time.process_time()
        colours = sr.colouring(pattern, "symmetric" if of_scalar else None)
        end = time.process_time()
        operator = sr.sparse_hessian if of_scalar else sr.sparse_jacobian
        fast, checked = operator(f, colours, check=False), operator(f, colours)
        functions = {"f": first, "fast": fast, "checked": checked}
        functions |= {"staged": recorded(fast, x), "staged, checked": recorded(checked, x)}
        programs = {key: lambda function=function, x=x: function(x) for key, function in functions.items()}
        if x.size <= DENSE_AT_MOST:
            programs["dense"] = lambda first=first, x=x: sr.jacobian(first)(x)
        times = best_of(10, programs, time.process_time)
        each = [times[key] / times["f"] for key in programs if key != "f"]
        cells = [f"{(between - start) * 1e3:.0f}", f"{(end - between) * 1e3:.0f}", *(f"{ratio:.2g}" for ratio in each)]
        table.add_row(f"{'Hessian' if of_scalar else 'Jacobian'}: {name}", str(colours.passes), *cells)
    return table


def recorded(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """The staged function, when it has been recorded and compared."""
    staged = sr.staged(f)
    for _ in range(3):
        staged(x)
    return staged


def beside_asdex() -> Table:
    """The time to find pattern and colours, and that of a matrix, in ms by the clock, here and by asdex for JAX."""
    import asdex
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    table = Table("matrix, ms", "set-up", "matrix", "staged", "asdex: set-up", "asdex: compiled", "asdex: not compiled")
    for name, f, x, of_scalar in PROBLEMS:
        in_jax = FunctionType(f.__code__, {**f.__globals__, "np": jnp})
        start = time.perf_counter()
        colours = sr.colouring(sr.sparsity(sr.grad(f) if of_scalar else f)(x), "symmetric" if of_scalar else None)
        between = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", asdex.DenseColoringWarning)  # of the arrow
            found = (asdex.hessian_coloring if of_scalar else asdex.jacobian_coloring)(in_jax, x)
        end = time.perf_counter()
        ours = (sr.sparse_hessian if of_scalar else sr.sparse_jacobian)(f, colours, check=False)
        eager = (asdex.hessian_from_coloring if of_scalar else asdex.jacobian_from_coloring)(in_jax, found)
        compiled, staged = jax.jit(eager), recorded(ours, x)
        times = best_of(
            5,
            {
                "ours": lambda ours=ours, x=x: ours(x),
                "staged": lambda staged=staged, x=x: staged(x),
                "compiled": lambda compiled=compiled, x=x: compiled(x).data.block_until_ready(),
                "eager": lambda eager=eager, x=x: eager(x).data.block_until_ready(),
            },
        )
        difference = np.max(np.abs((compiled(x).todense() if x.size <= DENSE_AT_MOST else 0.0) - _dense(ours(x), x)))
        assert difference < 1e-8
        seconds = between - start, times["ours"], times["staged"], end - between, times["compiled"], times["eager"]
        table.add_row(name, *(f"{1e3 * second:.3g}" for second in seconds))
    return table


def _dense(matrix: Any, x: Any) -> Any:
    return matrix.toarray() if x.size <= DENSE_AT_MOST else 0.0


if __name__ == "__main__":
    main()
