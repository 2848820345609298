"""Jacobians, Hessians and higher derivatives against HIPS autograd and JAX: `python benchmarks/derivatives.py`.

The programs are written once, over each library's own NumPy. The libraries take turns, so that the machine's noise hits
all alike; only the ratios mean something. On a machine that is shared, `--processor` takes the time of the processor.
JAX is timed operation by operation, as the other two work, and compiled; ours also staged, as what is called more than
twice would be. The time that compiling and staging take is given apart.
Exit status 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import autograd
import autograd.numpy as anp
import jax
import jax.numpy as jnp
import numpy as np
from cases import network, rosenbrock
from jax.experimental.jet import jet
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr

jax.config.update("jax_enable_x64", True)

GOAL = 1 / 5  # of autograd's time
Program = Callable[[], Any]


def rosenbrock_in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(len(x) - 1):
        total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def layers(np: Any, w: Any, x: Any) -> Any:
    """A map of 100 to 100 numbers."""
    for _ in range(3):
        x = np.tanh(w @ x) + 0.1 * x
    return x


def scalar(np: Any, x: Any) -> Any:
    return np.exp(np.sin(x)) / (1.0 + x * x)


def nested(derivative: Callable[[Any], Any], f: Any, order: int) -> Any:
    for _ in range(order):
        f = derivative(f)
    return f


def taylor_by_jax(order: int) -> Callable[[Any], Any]:
    series = [[1.0] + [0.0] * (order - 1)]
    return lambda x: jet(lambda x: scalar(jnp, x), (x,), series)


Case = tuple[str, Callable[[Any], Any] | None, Callable[[Any], Any] | None, Callable[[Any], Any] | None, Any]


def cases() -> list[Case]:
    """For each case ours, autograd's and JAX's function, and its argument."""
    rng = np.random.default_rng(0)
    batch, w = rng.normal(size=(20, 4)), rng.normal(size=(100, 100)) / 10
    fifty, parameters, hundred, direction = (rng.normal(size=n) for n in (50, 49, 100, 49))
    thousand = rng.normal(size=1000)
    one = 0.5

    def hvp_by_autograd(f: Any, v: Any) -> Any:
        product = autograd.hessian_vector_product(f)
        return lambda x: product(x, v)

    def hvp_by_jax(f: Any, v: Any) -> Any:
        return lambda x: jax.jvp(jax.grad(f), (x,), (v,))[1]

    rosenbrocks = [lambda x, np=np: rosenbrock(np, x) for np in (np, anp, jnp)]
    networks = [lambda p, np=np: network(np, p, batch) for np in (np, anp, jnp)]
    maps = [lambda x, np=np: layers(np, w, x) for np in (np, anp, jnp)]
    scalars = [lambda x, np=np: scalar(np, x) for np in (np, anp, jnp)]
    v = np.ones(1000)
    return [
        (
            "Hessian, Rosenbrock of 50",
            *(sr.hessian(rosenbrocks[0]), autograd.hessian(rosenbrocks[1]), jax.hessian(rosenbrocks[2]), fifty),
        ),
        (
            "Hessian, network of 49",
            *(sr.hessian(networks[0]), autograd.hessian(networks[1]), jax.hessian(networks[2]), parameters),
        ),
        (
            "Hessian times vector, network of 49",
            lambda x: sr.hvp(networks[0], (x,), (direction,)),
            hvp_by_autograd(networks[1], direction),
            hvp_by_jax(networks[2], direction),
            parameters,
        ),
        (
            "Hessian times vector, Rosenbrock of 1000",
            lambda x: sr.hvp(rosenbrocks[0], (x,), (v,)),
            hvp_by_autograd(rosenbrocks[1], v),
            hvp_by_jax(rosenbrocks[2], v),
            thousand,
        ),
        (
            "Hessian times vector, Rosenbrock of 20, in a loop",
            lambda x: sr.hvp(rosenbrock_in_a_loop, (x,), (v[:20],)),
            hvp_by_autograd(rosenbrock_in_a_loop, v[:20]),
            hvp_by_jax(rosenbrock_in_a_loop, v[:20]),
            thousand[:20],
        ),
        (
            "Jacobian, 100 to 100",
            *(sr.jacobian(maps[0]), autograd.jacobian(maps[1]), jax.jacrev(maps[2]), hundred),
        ),
        (
            "6th derivative",
            *(sr.derivative(scalars[0], 6), nested(autograd.grad, scalars[1], 6), nested(jax.grad, scalars[2], 6), one),
        ),
        (
            "Taylor series, order 8",
            lambda x: sr.taylor(scalars[0], x, 8),
            nested(autograd.grad, scalars[1], 8),
            taylor_by_jax(8),
            one,
        ),
        ("Taylor series, order 20", lambda x: sr.taylor(scalars[0], x, 20), None, taylor_by_jax(20), one),
    ]


def first_calls(program: Program, count: int, clock: Callable[[], float]) -> float:
    """Seconds that the first calls take, in which a function is compiled or staged, and checked."""
    start = clock()
    for _ in range(count):
        program()
    return clock() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processor", action="store_true", help="times of the processor")
    clock = time.process_time if parser.parse_args().processor else time.perf_counter
    table = Table(
        *("case", "ours, ms", "staged", "autograd", "JAX", "JAX, compiled", "to stage, ms", "to compile, ms"),
        *("ours to autograd", "staged to autograd", "ours to JAX", "staged to compiled", ""),
        title=f"derivatives; ratios below 1 are ours; the goal is {GOAL:.2f} of autograd, as it is or staged",
    )
    missed = 0
    for name, ours, theirs, jaxs, x in cases():
        staged, compiled = sr.staged(ours), jax.jit(jaxs)
        programs: dict[str, Program] = {
            "ours": lambda ours=ours, x=x: ours(x),
            "staged": lambda staged=staged, x=x: staged(x),
            "JAX": lambda jaxs=jaxs, x=x: jax.block_until_ready(jaxs(x)),
            "compiled": lambda compiled=compiled, x=x: jax.block_until_ready(compiled(x)),
        }
        to_stage, to_compile = first_calls(programs["staged"], 2, clock), first_calls(programs["compiled"], 1, clock)
        np.testing.assert_allclose(staged(x), ours(x), rtol=1e-9, atol=1e-9)
        if theirs is not None:
            programs["autograd"] = lambda theirs=theirs, x=x: theirs(x)
            if "Taylor" not in name:
                np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-6, atol=1e-8)
                np.testing.assert_allclose(ours(x), jaxs(x), rtol=1e-6, atol=1e-8)
        times = best_of(5, programs, clock)
        ratios = [times[ours] / times["autograd"] if theirs else float("nan") for ours in ("ours", "staged")]
        is_missed = min(ratios) > GOAL
        missed += is_missed
        table.add_row(
            name,
            *(f"{times[who] * 1e3:.3g}" if who in times else "" for who in ("ours", "staged", "autograd", "JAX")),
            *(f"{seconds * 1e3:.3g}" for seconds in (times["compiled"], to_stage, to_compile)),
            *(f"{ratio:.4f}" if theirs else "" for ratio in ratios),
            f"{times['ours'] / times['JAX']:.3f}",
            f"{times['staged'] / times['compiled']:.2f}",
            "MISSED" if is_missed else "",
        )
    Console(width=190).print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
