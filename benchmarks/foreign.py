"""What calls of NumPy in native code cost and save, against the steps by NumPy: `python benchmarks/foreign.py`.

Each loop has steps without a native form. In some of them all steps are such ones, so there is little to gain. The time
is that of the processor, and both take turns. The column "gain" is what `native/paying.py` expects, per round.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr
from shiftreset_ad.staging.native import paying, program

ROUNDS, TURNS = 200, 15
MATRIX = np.eye(10) * 3.0 + np.random.default_rng(0).random((10, 10)) / 10.0


class Case(NamedTuple):
    """A round of a loop, from a number and an array to others, and the array at first."""

    body: Callable[[Any, Any], tuple[Any, Any]]
    x: Any


def oscillator(s: Any, x: Any) -> tuple[Any, Any]:
    """Eight steps of Euler's on numbers, and a solution of ten equations."""
    v = x[0]
    for _ in range(8):
        s, v = s + 0.01 * v, v - 0.01 * (s + 0.1 * v * v * v)
    return s, np.linalg.solve(MATRIX, x) + v


def on_numbers(s: Any, x: Any) -> tuple[Any, Any]:
    """Thirty steps of Euler's on numbers, and a sum that NumPy alone has."""
    v = x[0]
    for _ in range(30):
        s, v = s + 0.01 * v, v - 0.01 * (s + 0.1 * v * v * v)
    return s, np.sort(x) * 0.9 + v * 0.01


CASES = {
    "solve of 10 x 10, and 64 steps on numbers": Case(oscillator, np.linspace(0.1, 1.0, 10)),
    "sort of 10, and 240 steps on numbers": Case(on_numbers, np.linspace(0.1, 1.0, 10)),
    "solve of 10 x 10, and a product": Case(lambda s, x: (s, np.linalg.solve(MATRIX, x) * 0.9), np.linspace(0, 1, 10)),
    "solve of 10 x 10 alone": Case(lambda s, x: (s, np.linalg.solve(MATRIX, x)), np.linspace(0.1, 1.0, 10)),
    "sort of 10 alone": Case(lambda s, x: (s, np.sort(x)), np.linspace(0.1, 1.0, 10)),
    "sort of 1,000 alone": Case(lambda s, x: (s, np.sort(x)), np.linspace(0.1, 1.0, 1000)),
    "sort of 1,000, and four elementwise": Case(
        lambda s, x: (s, np.sort(x) * 0.9 + 0.1 * x * x), np.linspace(0.1, 1.0, 1000)
    ),
    "sort of 100,000, and a sum": Case(
        lambda s, x: (s + np.sum(x) * 0.001, np.sort(x) * 0.9), np.linspace(0.1, 1.0, 100_000)
    ),
    "eigenvalues of 10 x 10, and a trace": Case(
        lambda s, x: (s + np.trace(x) * 0.01, x * 0.9 + np.linalg.eigh(x + x.T)[0] * 0.01), MATRIX
    ),
    "fft and back of 64": Case(lambda s, x: (s, np.fft.irfft(np.fft.rfft(x) * 0.9)), np.linspace(0.1, 1.0, 64)),
}


def looped(case: Case) -> Callable[[Any, int], Any]:
    def f(x: Any, n: int) -> Any:
        s, i = 0.1, 0
        while i < n:
            s, x = case.body(s, x)
            i += 1
        return s + np.sum(x)

    return f


def forced(f: Callable[..., Any], *calls: Any) -> Any:
    """The way of a function, with native code whether it pays or not; and what is expected to be gained."""
    gains: list[float] = []
    pays = program.pays
    program.pays = lambda gain: bool(gains.append(gain)) or True  # type: ignore[func-returns-value]
    try:
        staged = sr.staged(f)
        for args in calls:
            staged(*args)
        (way,) = [way for signature in staged._calls._signatures.values() for way in signature.ways]
    finally:
        program.pays = pays
    return way, gains[-1] if gains else 0.0


def main() -> None:
    table = Table("loop", "steps by NumPy, us a round", "native", "native to steps", "gain, us", "pays", "same bits")
    for name, case in CASES.items():
        for kind, f in (("value", looped(case)), ("gradient", sr.grad(looped(case)))):
            rounds = ROUNDS if np.size(case.x) < 10_000 else 10
            args = case.x, rounds
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                way, gain = forced(f, args, args, args, args)
            if getattr(way.take, "entry", None) is None:
                table.add_row(f"{name}, {kind}", "", "", "", "", way.llvm.removeprefix("; no native code: "), "")
                continue
            entry, steps = way.take.entry, way.take.steps
            times = best_of(
                TURNS,
                {"steps": lambda s=steps, a=args: s(list(a)), "native": lambda e=entry, a=args: e(*a)},
                time.process_time,
            )
            figures = [f"{times[kind] / rounds * 1e6:.3g}" for kind in ("steps", "native")]
            same = all(map(np.array_equal, entry(*args), steps(list(args))))
            table.add_row(
                f"{name}, {kind}",
                *figures,
                f"{times['native'] / times['steps']:.2f}",
                f"{gain / paying.ROUNDS / 1000:.2f}",
                f"{program.pays(gain)}",
                f"{same}",
            )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
