"""Gradients as native code against gradients in C++ by hand: `python benchmarks/native_kernels.py [--only NAME]`.

Both have the same arguments, and the gradients are compared before they are timed. The programs in C++ are in
`benchmarks/kernels`, compiled by `g++ -O3 -march=native -ffp-contract=off`. All run on one thread and take turns; the
least processor time of several turns is shown. A call of native code is that of its entry, without the checks of what
the function sees from outside. A "staged call" has them, as a call of what JAX has compiled has JAX's own. JAX takes
part if it is installed, with the programs of `native_kernels_in_jax.py`. The time is that of all threads of the
process, so more of them would gain nothing.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from native_kernels_in_python import KERNELS, Kernel
from rich.console import Console
from rich.table import Column, Table
from timing import best_of, duration

import shiftreset_ad as sr

HAS_JAX = find_spec("jax") is not None
if HAS_JAX:
    from native_kernels_in_jax import compiled, gradient_of

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-std=c++17", "-shared", "-fPIC")
KINDS = ("eager", "steps", "native", "g++", "call", "JAX")
RATIOS = (("native", "g++"), ("native", "JAX"), ("call", "JAX"))
TURNS = 15
ONE_CALL = 1e-2  # seconds of repeats in one call of C++, next to which the call is short


def by_gcc(kernel: Kernel, folder: Path, length: int) -> tuple[Callable[[int], None], Any]:
    """A function that computes the gradient so many times in C++, and the array in which it leaves the gradient."""
    source, library = Path(__file__).parent / "kernels" / f"{kernel.in_cpp}.cpp", folder / f"{kernel.in_cpp}.so"
    if not library.exists():
        subprocess.run(["g++", *FLAGS, "-o", str(library), str(source)], check=True)
    run = ctypes.CDLL(str(library)).run
    run.restype, run.argtypes = None, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)
    arrays = list(map(np.ascontiguousarray, kernel.arrays))
    pointers = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
    sizes, out = np.array(kernel.sizes, dtype=np.int64), np.zeros(length)

    def compute(repeats: int, kept: Any = arrays) -> None:
        run(ctypes.addressof(pointers), sizes.ctypes.data, out.ctypes.data, repeats)

    return compute, out


def flat(gradient: Any) -> Any:
    """All numbers of a gradient, one after another."""
    parts = gradient.values() if isinstance(gradient, dict) else gradient
    return np.concatenate([flat(x) for x in parts]) if isinstance(gradient, dict | tuple | list) else np.ravel(gradient)


def in_order_of_cpp(kernel: Kernel, gradient: Any) -> Any:
    """The gradient as the program in C++ leaves it: of bundle adjustment, a block of 15 for each of two errors."""
    if kernel.in_cpp != "ba":
        return flat(gradient)
    *rows, weights = gradient
    blocks = [np.concatenate((camera, point, weight[None])).T for camera, point, weight in rows]
    return np.concatenate((np.stack(blocks, axis=1).ravel(), weights))


def way_of(staged: Any) -> Any:
    """The record that the calls so far have made."""
    (way,) = [way for signature in staged._calls._signatures.values() for way in signature.ways]
    return way


def staged_calls(staged: Any, args: Any) -> float:
    """The seconds of the first calls, in which a record is made, compiled, and compared with the function."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            staged(*args)
    return time.perf_counter() - start


def repeats_of(in_cpp: Callable[[int], None]) -> int:
    """How many repeats take as long as one call should; a single one tells little of a short program."""
    about = int(ONE_CALL / duration(partial(in_cpp, 1), 1)) + 1
    return int(ONE_CALL * about / duration(partial(in_cpp, about), 1)) + 1


def row(name: str, folder: Path) -> list[str]:
    kernel = KERNELS[name]()
    staged, first = sr.staged(kernel.gradient), kernel.shorter or kernel.args
    seconds = staged_calls(staged, first)
    expected = in_order_of_cpp(kernel, (staged if kernel.shorter else kernel.gradient)(*kernel.args))
    require_close(name, in_order_of_cpp(kernel, staged(*kernel.args)), expected)
    programs: dict[str, Callable[[], Any]] = {"call": lambda: staged(*kernel.args)}
    repeats, to_compile = 1, float("nan")
    if kernel.in_cpp is not None:
        in_cpp, out = by_gcc(kernel, folder, expected.size)
        in_cpp(1)
        require_close(name, out, expected)
        repeats = repeats_of(in_cpp)
        programs["g++"] = lambda: in_cpp(repeats)
    if HAS_JAX:
        programs["JAX"], to_compile = compiled(gradient_of(kernel), kernel.args)
        require_close(name, in_order_of_cpp(kernel, programs["JAX"]()), expected)
    inputs, take = leaves(kernel.args), way_of(staged).take
    entry, steps = getattr(take, "entry", None), getattr(take, "steps", take)
    if entry is not None:
        given = leaves(first)
        if not all(map(np.array_equal, entry(*given), steps(given))):
            raise AssertionError(f"{name} has other bits as native code")
        programs["native"] = lambda: entry(*inputs)
    times = best_of(TURNS, programs, time.process_time)
    if kernel.shorter is None:
        slow = {"eager": lambda: kernel.gradient(*kernel.args), "steps": lambda: steps(inputs)}
        times |= best_of(1, slow, time.process_time)
    times["g++"] = times.get("g++", float("nan")) / repeats
    shown = [microseconds(times[kind]) if kind in times else "-" for kind in KINDS]
    ratios = [f"{times[a] / times[b]:.2g}" if {a, b} <= times.keys() else "-" for a, b in RATIOS]
    reason = [] if entry else [staged.llvm[0].removeprefix("; no native code: ")]
    return [name, *shown, *ratios, f"{seconds:.2g}", f"{to_compile:.2g}", *reason]


def microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f}" if seconds >= 1e-3 else f"{seconds * 1e6:.4g}"


def require_close(name: str, gradient: Any, expected: Any) -> None:
    np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-10 * np.max(np.abs(expected)), err_msg=name)


def leaves(args: Any) -> list[Any]:
    """The arrays and numbers in arguments, in the order in which a record takes them."""
    if isinstance(args, dict):
        return [x for name in sorted(args) for x in leaves(args[name])]
    if isinstance(args, tuple | list):
        return [x for part in args for x in leaves(part)]
    return [] if args is None else [args]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the kernels whose names begin so")
    only = parser.parse_args().only
    columns = ("eager, us", "steps", "native", "g++", "a staged call", "JAX")
    ratios = ("native to g++", "native to JAX", "call to JAX")
    table = Table(Column("a gradient", no_wrap=True), *columns, *ratios, "first calls, s", "JAX's", "")
    with tempfile.TemporaryDirectory() as made:
        for key in [name for name in KERNELS if name.startswith(only)]:
            table.add_row(*row(key, Path(made)))
            Console(width=140, stderr=True).print(key)
    Console(width=170).print(table)
