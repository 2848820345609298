"""Derivatives of loops in plain Python, beside JAX and Numba: `python benchmarks/loops.py`.

`staged(grad(f))` takes the program as it is. JAX has no reverse mode for a `while` whose rounds depend on data, so it
has the program in its own functions, compiled, in forward mode, and is waited for. Numba does not differentiate: it
compiles the program with the derivative written by hand beside it. Each column is there if its library is installed.
All take turns, and all answers are compared first.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad, staged

ROUNDS = 5
H = 0.001


class Program(NamedTuple):
    """A program in plain Python, the same for JAX, its derivative by hand for Numba, and the arguments."""

    f: Callable[..., Any]
    in_jax: Callable[..., Callable[..., Any]]  # of the modules `jax.lax` and `jax.numpy`
    by_hand: Callable[..., float]
    args: tuple[Any, ...]


def newton(x: Any) -> Any:
    y = x
    while abs(y * y - x) > 1e-12:
        y = (y + x / y) / 2
    return y


def newton_in_jax(lax: Any, np: Any) -> Callable[..., Any]:
    return lambda x: lax.while_loop(lambda y: np.abs(y * y - x) > 1e-12, lambda y: (y + x / y) / 2, x)


def newton_by_hand(x: float) -> float:
    y, dy = x, 1.0
    while abs(y * y - x) > 1e-12:
        y, dy = (y + x / y) / 2, (dy + 1.0 / y - x * dy / (y * y)) / 2
    return dy


def series(x: Any, rounds: Any) -> Any:
    total = x
    for _ in range(rounds):
        total = total + x / (1.0 + total)
    return total


def series_in_jax(lax: Any, np: Any) -> Callable[..., Any]:
    return lambda x, rounds: lax.fori_loop(0, rounds, lambda i, total: total + x / (1.0 + total), x)


def series_by_hand(x: float, rounds: int) -> float:
    total, slope = x, 1.0
    for _ in range(rounds):
        r = 1.0 / (1.0 + total)
        total, slope = total + x * r, slope + r - x * r * r * slope
    return slope


def oscillator(x: Any, rounds: Any) -> Any:
    y, v = x, 0.5 * x
    for _ in range(rounds):
        c = v + H / 2 * (-y - 0.1 * v * v * v)
        y, v = y + H * c, v - H * (y + H / 2 * v + 0.1 * c * c * c)
    return y * y + v * v


def oscillator_in_jax(lax: Any, np: Any) -> Callable[..., Any]:
    def body(i: Any, state: Any) -> Any:
        y, v = state
        c = v + H / 2 * (-y - 0.1 * v * v * v)
        return y + H * c, v - H * (y + H / 2 * v + 0.1 * c * c * c)

    def f(x: Any, rounds: Any) -> Any:
        y, v = lax.fori_loop(0, rounds, body, (x, 0.5 * x))
        return y * y + v * v

    return f


def oscillator_by_hand(x: float, rounds: int) -> float:
    y, v, dy, dv = x, 0.5 * x, 1.0, 0.5
    for _ in range(rounds):
        c = v + H / 2 * (-y - 0.1 * v * v * v)
        dc = dv + H / 2 * (-dy - 0.3 * v * v * dv)
        y, v, dy, dv = (
            y + H * c,
            v - H * (y + H / 2 * v + 0.1 * c * c * c),
            dy + H * dc,
            dv - H * (dy + H / 2 * dv + 0.3 * c * c * dc),
        )
    return 2.0 * y * dy + 2.0 * v * dv


PROGRAMS = {
    "Newton's square root": Program(newton, newton_in_jax, newton_by_hand, (2.0,)),
    "sum, 1,000 rounds": Program(series, series_in_jax, series_by_hand, (2.0, 1_000)),
    "sum, 100,000 rounds": Program(series, series_in_jax, series_by_hand, (2.0, 100_000)),
    "oscillator, 1,000 rounds": Program(oscillator, oscillator_in_jax, oscillator_by_hand, (0.7, 1_000)),
    "oscillator, 100,000 rounds": Program(oscillator, oscillator_in_jax, oscillator_by_hand, (0.7, 100_000)),
}


def contenders(program: Program) -> dict[str, Callable[[], Any]]:
    """The derivative by each library, called with the arguments."""
    args, recorded = program.args, staged(grad(program.f))
    found = {"staged": lambda: recorded(*args)}
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        in_jax = jax.jit(jax.jacfwd(program.in_jax(jax.lax, jax.numpy)))
        found["JAX, forward"] = lambda: in_jax(*args).block_until_ready()
    if importlib.util.find_spec("numba"):
        import numba

        by_hand = numba.njit(program.by_hand)
        found["Numba, by hand"] = lambda: by_hand(*args)
    return found


def measured() -> Table:
    table = Table("us for a derivative", "plain grad", "staged", "JAX, forward", "Numba, by hand")
    for name, program in PROGRAMS.items():
        runs = contenders(program)
        wanted = program.by_hand(*program.args)
        for run in runs.values():
            for _ in range(4):  # staged code is native from the third call on
                assert abs(float(run()) - wanted) <= 1e-9 * abs(wanted), name
        times = best_of(ROUNDS, runs)
        plain = best_of(1, {"plain": lambda program=program: grad(program.f)(*program.args)})["plain"]
        cells = [f"{times[column.header] * 1e6:.3g}" if column.header in times else "" for column in table.columns[2:]]
        table.add_row(name, f"{plain * 1e6:.3g}", *cells)
    return table


if __name__ == "__main__":
    Console(width=120).print(measured())
