"""The solvers of `optimize` in staged functions: `python benchmarks/staged_solvers.py [--only NAME]`.

Each program finds a minimum, a root or a saddle point, or the derivative of one in a parameter. The solver runs by
itself; in a staged function, whose first call records its rounds as loops; and as native code, from the third call on.
SciPy's BFGS with a gradient by hand and JAX's BFGS, compiled, solve the first problem, to the same tolerance; the line
search of JAX fails at some starts. The answers of the staged functions must be those of the functions. The times are of
the processor, on one thread, in one run.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
import numpy as np
import scipy.optimize
from rich.console import Console
from rich.table import Table

import shiftreset_ad as sr
from shiftreset_ad import optimize

try:
    import jax
    import jax.numpy as jnp
    from jax.scipy.optimize import minimize as minimize_in_jax

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

CALLS = 20
START = np.linspace(-1.0, 1.0, 8)
TOLERANCE = 1e-6


class Program(NamedTuple):
    """A program of one argument, what it is called with, and the same program by SciPy and by JAX."""

    ours: Callable[[Any], Any]
    points: list[Any]
    by_scipy: Callable[[Any], Any] | None = None
    by_jax: Callable[[Any], Any] | None = None


def steep(x: Any) -> Any:
    """A convex function, whose curvature differs from place to place."""
    return np.sum((x - 1.0) ** 4) + 0.5 * np.sum(np.exp(x)) + 0.1 * np.sum(x) ** 2


def slope_of_steep(x: Any) -> Any:
    return 4.0 * (x - 1.0) ** 3 + 0.5 * np.exp(x) + 0.2 * np.sum(x)


def by_scipy(x: Any) -> Any:
    found = scipy.optimize.minimize(steep, x, jac=slope_of_steep, method="BFGS", options={"gtol": TOLERANCE})
    return found.x


def steep_in_jax(x: Any) -> Any:
    return jnp.sum((x - 1.0) ** 4) + 0.5 * jnp.sum(jnp.exp(x)) + 0.1 * jnp.sum(x) ** 2


def by_jax(x: Any) -> Any:
    return minimize_in_jax(steep_in_jax, x, method="BFGS", options={"gtol": TOLERANCE}).x


def minimum(method: str) -> Callable[[Any], Any]:
    return lambda x: optimize.minimize(steep, x, method=method, tolerance=TOLERANCE).x


def ridge(p: Any) -> Any:
    """The squared error of a point that a penalty draws to zero."""
    x = optimize.argmin(lambda x: np.sum((x - START) ** 2) + p * np.sum(x**4), np.zeros(8))
    return np.sum((x - 0.5) ** 2)


STARTS = [START * (1.0 + 0.02 * i) for i in range(CALLS)]
PARAMETERS = [1.0 + 0.05 * i for i in range(CALLS)]
PROGRAMS = {
    "minimum, 8 variables, bfgs": Program(minimum("bfgs"), STARTS, by_scipy, by_jax),
    "the same, l-bfgs": Program(minimum("l-bfgs"), STARTS),
    "the same, newton-cg": Program(minimum("newton-cg"), STARTS),
    "root, 8 equations": Program(lambda x: optimize.root(lambda y: y**3 + y - 5.0 + 0.1 * np.sum(y), x), STARTS),
    "fixed point, 8 equations": Program(lambda x: optimize.fixed_point(lambda y: np.cos(0.5 * y), x), STARTS),
    "saddle point": Program(
        lambda p: optimize.minimax(lambda x, y: (x - p) ** 2 + x * y - y * y, 1.0, 1.0).x, PARAMETERS
    ),
    "derivative of a minimum": Program(sr.grad(ridge), PARAMETERS),
}


def each(f: Callable[[Any], Any], points: list[Any]) -> tuple[float, list[Any]]:
    """The microseconds of a call, on the average, and the answers."""
    start = time.process_time()
    answers = [f(x) for x in points]
    return (time.process_time() - start) / len(points) * 1e6, answers


def row(program: Program) -> list[str]:
    alone, expected = each(program.ours, program.points)
    staged = sr.staged(program.ours)
    start = time.process_time()
    staged(program.points[0])
    first = time.process_time() - start
    each(staged, program.points)
    native, found = each(staged, program.points)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    if len(staged._calls.ways) != 1:
        raise AssertionError("it has several records")
    times = [f"{alone:,.0f}", f"{first:.1f}", f"{native:,.1f}", f"{alone / native:,.0f}"]
    for f in (program.by_scipy, jax and program.by_jax and jax.jit(program.by_jax)):
        if f is None:
            times.append("")
            continue
        f(program.points[0])
        taken, answers = each(lambda x, f=f: np.asarray(f(x)), program.points)
        failed = sum(not np.allclose(x, y, atol=1e-4) for x, y in zip(answers, expected, strict=True))
        times.append(f"{taken:,.0f} ({taken / native:,.1f})" + (f", {failed} of {len(answers)} fail" if failed else ""))
    return times


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the programs whose names begin so")
    only = parser.parse_args().only
    columns = "alone, us", "first staged call, s", "native, us", "gain", "SciPy", "JAX, compiled"
    table = Table("program", *columns, title="Solvers in staged functions")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SHIFTRESET_AD_CACHE"] = folder
        for name, program in PROGRAMS.items():
            if name.startswith(only):
                table.add_row(name, *row(program))
    Console(width=150).print(table)
