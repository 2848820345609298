"""What native code costs and saves, against g++ and against the NumPy steps: `python benchmarks/native.py`.

The programs in C++ are the same steps, compiled by `g++ -O3 -march=native -ffp-contract=off`. All take turns, so that
the machine's noise hits all alike; only the ratios mean something.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from cases import network, rosenbrock
from native_loops import KERNELS, loop_in_c
from native_trees import IN_C, NODES, slope, tree
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr
from shiftreset_ad.staging.native.compiled import Native
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.generation import generated
from shiftreset_ad.staging.steps.trace import LONGEST_NATIVE, Trace
from shiftreset_ad.staging.steps.values import Staged

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
REPEATS = 200  # of a program in C++, in one call from Python


def determinant(x: float) -> Any:
    """Of a matrix of five rows that depends on a number, by elimination."""
    rows = [[1.0 / (i + j + 1 + x) + (3.0 + x if i == j else 0.0) for j in range(5)] for i in range(5)]
    product: Any = 1.0
    for i in range(5):
        product = product * rows[i][i]
        for k in range(i + 1, 5):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return product


def oscillator(x: float) -> Any:
    """Twenty steps of Runge and Kutta's."""
    y, v, h = x, 0.5 * x, 0.05
    for _ in range(20):
        a, b = v, -y - 0.1 * v * v * v
        c, d = v + h / 2 * b, -(y + h / 2 * a) - 0.1 * (v + h / 2 * b) * (v + h / 2 * b)
        y, v = y + h * c, v + h * d
    return y * y + v * v


def newton(x: float) -> Any:
    """A square root, with a branch in each round."""
    y = x
    while abs(y * y - x) > 1e-12:
        y = (y + x / y) / 2
    return y


def waves(x: float) -> Any:
    """Functions of mathematics, one after another."""
    y: Any = x
    for _ in range(10):
        y = np.sin(y) * x + np.exp(-y) + 0.1 * np.tanh(y)
    return y


def logistic(rounds: int) -> Callable[[float], Any]:
    def f(x: float) -> Any:
        y = x
        for _ in range(rounds):
            y = 2.5 * y * (1.0 - y)
        return y

    return f


PROGRAMS: dict[str, tuple[Callable[[float], Any], float]] = {
    "determinant of 5 rows": (sr.grad(determinant), 0.3),
    "Runge and Kutta, 20 steps": (sr.grad(oscillator), 0.7),
    "Newton, with branches": (sr.grad(newton), 2.0),
    "sin, exp, tanh": (sr.grad(waves), 0.7),
}


def of(f: Callable[..., Any], *args: Any) -> tuple[Native, Any, str]:
    """The native code of a function, its steps by NumPy, and their source."""
    trace = Trace(LONGEST_NATIVE)
    outputs = [f(*[Staged(trace, trace.place_for(x)) for x in args])]  # type: ignore[arg-type]
    native = Native(trace, outputs, Eliminated(trace, outputs))
    return native, *generated(trace, outputs)[:2]


def in_c(source: str) -> str:
    """The steps in C++."""
    lines = []
    for line in map(str.strip, source.splitlines()[2:]):
        line = re.sub(r"if not \(\((.*)\) is (True|False)\): return \d+", r"if ((\1) != \2) return 1e99;", line)
        line = re.sub(r"return \[(.*)\]", r"return \1;", line.replace("bool(", "("))
        line = re.sub(r"\bc\d+\(", "std::fabs(", line)  # the only function here without a name of its own
        line = re.sub(r"\b(float|sin|cos|exp|tanh)\(", lambda m: f"{m[1].replace('float', 'double')}(", line)
        if line.startswith("v"):
            line += ";"
        if not line.startswith("with "):
            lines.append(line.replace("False", "false").replace("True", "true"))
    variables = sorted(set(re.findall(r"\bv\d+\b", source)) - {"v0"})
    return "\n".join(
        [
            "#include <cmath>\nusing std::sin, std::cos, std::exp, std::tanh;",
            f"__attribute__((noinline)) static double steps(double v0) {{ double {', '.join(variables)};",
            *lines,
            '}\nextern "C" double run(double x, long n) {',
            "double sum = 0.0; for (long i = 0; i < n; ++i) { sum = steps(x + 1e-300 * sum); } return sum; }",
        ]
    )


def by_gcc(program: str, folder: Path, *more: Any) -> tuple[Any, float]:
    """The function in C++ of an argument, of `more` arguments, and of a number of repeats; the compiler's seconds."""
    path = folder / f"program{time.perf_counter_ns()}.cpp"
    path.write_text(program)
    start = time.perf_counter()
    subprocess.run(["g++", *FLAGS, "-o", str(path.with_suffix(".so")), str(path)], check=True)
    seconds = time.perf_counter() - start
    run = ctypes.CDLL(str(path.with_suffix(".so"))).run
    run.restype, run.argtypes = ctypes.c_double, (ctypes.c_double, *more, ctypes.c_long)
    return run, seconds


def against_gcc(folder: Path) -> Table:
    table = Table(
        "gradient", "steps by NumPy, us", "native, with its call", "g++", "native to g++", "bits of the steps"
    )
    for name, (f, x) in PROGRAMS.items():
        native, steps, source = of(f, x)
        entry, (run, _) = native.entry(), by_gcc(in_c(source), folder)
        assert math.isclose(run(x, 1), f(x), rel_tol=1e-12), name
        programs = {"steps": lambda s=steps, x=x: s([x]), "native": lambda e=entry, x=x: e(x)}
        times = best_of(25, programs | {"g++": lambda r=run, x=x: r(x, REPEATS)})
        times["g++"] /= REPEATS
        figures = [f"{times[kind] * 1e6:.3g}" for kind in ("steps", "native", "g++")]
        table.add_row(name, *figures, f"{times['native'] / times['g++']:.2f}", f"{entry(x) == steps([x])}")
    return table


def loops_against_gcc(folder: Path) -> Table:
    """Loops with a tape; the C++ is written by hand, and its repeats are divided by their number."""
    table = Table(
        "gradient", "steps by NumPy, us", "native, with its call", "g++", "native to g++", "bits of the steps"
    )
    for name, kernel in KERNELS.items():
        f, x, rounds = sr.grad(kernel.f), kernel.x, kernel.rounds
        native, steps, _ = of(f, x, rounds)
        entry, (run, _) = native.entry(), by_gcc(loop_in_c(kernel), folder, ctypes.c_long)
        repeats = max(1, 20_000 // (rounds + 1))
        assert math.isclose(run(x, rounds, 1), f(x, rounds), rel_tol=1e-9), name
        programs = {"native": lambda e=entry, x=x, n=rounds: e(x, n)}
        times = best_of(25, programs | {"g++": lambda r=run, x=x, n=rounds, many=repeats: r(x, n, many)})
        times |= best_of(2, {"steps": lambda s=steps, x=x, n=rounds: s([x, n])})
        times["g++"] /= repeats
        figures = [f"{times[kind] * 1e6:.3g}" for kind in ("steps", "native", "g++")]
        is_same = entry(x, rounds) == steps([x, rounds])
        table.add_row(name, *figures, f"{times['native'] / times['g++']:.2f}", f"{is_same}")
    return table


def trees_against_gcc(folder: Path) -> Table:
    """Recursion on trees; the C++ is written by hand, and its repeats are divided by their number."""
    table = Table(
        "gradient", "steps by NumPy, us", "native, with its call", "g++", "native to g++", "bits of the steps"
    )
    run, _ = by_gcc(IN_C, folder, *[ctypes.c_void_p] * 3)
    for nodes in NODES:
        arrays, x, staged = tree(nodes), 1.00001, sr.staged(slope)
        for _ in range(3):
            staged(*arrays, x)
        (way,) = [way for signature in staged._calls._signatures.values() for way in signature.ways]
        entry, steps = way.take.entry, way.take.steps
        repeats, pointers = max(1, 100_000 // nodes), [array.ctypes.data for array in arrays]
        assert math.isclose(run(x, *pointers, 1), entry(*arrays, x)[0], rel_tol=1e-9), nodes
        programs = {
            "native": lambda e=entry, a=arrays, x=x: e(*a, x),
            "g++": lambda p=pointers, x=x, many=repeats: run(x, *p, many),
        }
        times = best_of(25, programs) | best_of(2, {"steps": lambda s=steps, a=arrays, x=x: s([*a, x])})
        times["g++"] /= repeats
        figures = [f"{times[kind] * 1e6:.3g}" for kind in ("steps", "native", "g++")]
        is_same = entry(*arrays, x) == steps([*arrays, x])
        table.add_row(f"tree of {nodes:,} nodes", *figures, f"{times['native'] / times['g++']:.2f}", f"{is_same}")
    return table


def with_arrays() -> Table:
    """Second derivatives on arrays. NumPy by hand is in benchmarks/staging.py."""
    rng = np.random.default_rng(0)
    batch, direction = rng.normal(size=(20, 4)), rng.normal(size=49)
    functions: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "Hessian times a vector, network of 49": (
            lambda p: sr.hvp(lambda p: network(np, p, batch), (p,), (direction,)),
            rng.normal(size=49),
        ),
        "Hessian times a vector, Rosenbrock of 1000": (
            lambda x: sr.hvp(lambda x: rosenbrock(np, x), (x,), (np.ones(1000),)),
            rng.normal(size=1000),
        ),
        "gradient of tanh(x) * x of 10": (sr.grad(lambda x: np.sum(np.tanh(x) * x)), rng.normal(size=10)),
        "polynomial of 10,000": (lambda x: x * x * x - 2.0 * x * x + 3.0 * x - 1.0, rng.normal(size=10_000)),
    }
    table = Table("arrays", "plain, us", "steps by NumPy", "native", "a staged call")
    for name, (f, x) in functions.items():
        native, steps, _ = of(f, x)
        entry, staged = native.entry(), sr.staged(f)
        for _ in range(4):
            staged(x)
        programs: dict[str, Callable[[], Any]] = {
            "plain": lambda f=f, x=x: f(x),
            "steps": lambda s=steps, x=x: s([x]),
            "native": lambda e=entry, x=x: e(x),
            "call": lambda s=staged, x=x: s(x),
        }
        assert np.array_equal(entry(x)[0], steps([x])[0])
        table.add_row(name, *(f"{seconds * 1e6:.3g}" for seconds in best_of(15, programs).values()))
    return table


def calls() -> Table:
    """Of a function that does next to nothing: what the call costs."""
    entry = of(lambda x: x * 2.0, 1.0)[0].entry()
    staged = sr.staged(lambda x: x * 2.0)
    for x in (1.0, 2.0, 3.0, 4.0):
        staged(x)
    programs: dict[str, Callable[[], Any]] = {
        "the entry": lambda: entry(1.0),
        "the staged function": lambda: staged(1.0),
        "a function of Python's": lambda: (lambda x: x * 2.0)(1.0),
    }
    table = Table("one call", "us")
    for name, seconds in best_of(15, programs).items():
        table.add_row(name, f"{seconds * 1e6:.3g}")
    return table


def compiling(folder: Path) -> Table:
    table = Table("gradient of a loop", "steps", "to text, ms", "compile", "load from disk", "g++ -O3", "a step, us")
    for rounds in (10, 100, 1000, 10_000):
        f = sr.grad(logistic(rounds))
        trace = Trace(LONGEST_NATIVE)
        outputs = [f(Staged(trace, trace.place_for(0.3)))]  # type: ignore[arg-type]
        start = time.perf_counter()
        native = Native(trace, outputs, Eliminated(trace, outputs))
        text = time.perf_counter() - start
        os.environ["SHIFTRESET_AD_CACHE"] = str(folder / "cache")
        times = []
        for _ in range(4):
            start = time.perf_counter()
            entry = native.entry()
            times.append(time.perf_counter() - start)
        gcc = f"{by_gcc(in_c(generated(trace, outputs)[1]), folder)[1] * 1e3:.0f}" if rounds <= 1000 else ""
        run = best_of(3, {"native": lambda e=entry: e(0.3)})["native"]
        shown = (text, times[0], min(times[1:]))
        table.add_row(
            f"{rounds} rounds",
            f"{len(trace.steps)}",
            *(f"{seconds * 1e3:.3g}" for seconds in shown),
            gcc,
            f"{run / len(trace.steps) * 1e6:.2g}",
        )
    return table


if __name__ == "__main__":
    if shutil.which("g++") is None:
        raise SystemExit("g++ is needed")
    with tempfile.TemporaryDirectory() as made:
        of(lambda x: x, 1.0)[0].entry()  # LLVM starts
        for show in (against_gcc, loops_against_gcc, trees_against_gcc):
            Console(width=120).print(show(Path(made)))
        for show_more in (with_arrays, calls, lambda: compiling(Path(made))):
            Console(width=120).print(show_more())
