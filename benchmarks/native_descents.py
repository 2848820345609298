"""Whole descents inside descents, staged: GradBench's saddle and particle, by `python benchmarks/native_descents.py`.

Each is a minimum over a minimum, or over a loop, with a derivative in each, by forward (f) or reverse (r) mode outside
and inside. The function answers by itself, is recorded in its first call, and answers by native code from the third
call on. All answers must have the same bits. The programs in C++ are written by hand, in `benchmarks/kernels`; their
answers may differ by roundings, and so may those of JAX, which is timed if it is installed, in the modes that it can
run: `native_descents_in_jax.py`. Native code, C++ and JAX take turns. The times are of the processor.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from native_kernels import HAS_JAX, by_gcc, flat, require_close
from native_kernels_in_python import Kernel
from rich.console import Console
from rich.table import Table

import shiftreset_ad as sr
from benchmarks.gradbench.evals import particle, saddle

if HAS_JAX:
    from native_descents_in_jax import in_modes
    from native_kernels_in_jax import compiled

EVALS = {"saddle": (saddle, ((1.0, 1.0),)), "particle": (particle, (0.0,))}
TIMES = 20  # of native code, of C++ and of JAX; the least counts


def seconds(f: Callable[..., Any], args: Any, expected: Any = None) -> tuple[float, Any]:
    """The time of the processor that a call takes, and its answer, which must be the expected one."""
    start = time.process_time()
    answer = f(*args)
    taken = time.process_time() - start
    if expected is not None and answer != expected:
        raise AssertionError(f"{answer} is not {expected}")
    return taken, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modes", nargs="*", default=["ff", "fr", "rf", "rr"])
    calls = "as it is, s", "first call, s", "second, s", "third, s"
    ratios = "native to g++", "native to JAX"
    table = Table("", "modes", *calls, "native, ms", "g++, ms", "JAX, ms", *ratios, "native code")
    with tempfile.TemporaryDirectory() as folder:
        for name, (module, args) in EVALS.items():
            for modes in parser.parse_args().modes:
                table.add_row(name, modes, *row(name, module, args, modes, Path(folder)))
    Console(width=140).print(table)


def row(name: str, module: Any, args: Any, modes: str, folder: Path) -> list[str]:
    f = module.FUNCTIONS[modes].compute
    plain, expected = seconds(f, args)
    staged = sr.staged(f)
    calls = [seconds(staged, args, expected)[0] for _ in range(3)]
    sizes = tuple(int(mode == "r") for mode in modes)
    in_cpp, out = by_gcc(Kernel(f, args, name, [flat(args)], sizes), folder, np.size(expected))
    in_cpp(1)
    require_close(name, out, np.ravel(expected))
    programs: list[tuple[Any, Any]] = [(staged, args), (in_cpp, (1,))]
    in_jax = in_modes(name, modes) if HAS_JAX else None
    if in_jax is not None:
        waiting, _ = compiled(in_jax, args)
        require_close(name, np.ravel(waiting()), np.ravel(expected))
        programs.append((waiting, ()))
    least = np.min([[seconds(*program)[0] for program in programs] for _ in range(TIMES)], axis=0)
    is_native = "as native code" in staged.report() and len(staged.sources) == 1
    shown = [f"{x * 1e3:.2f}" for x in least] + ["-"] * (3 - len(least))
    ratios = [f"{least[0] / x:.2f}" for x in least[1:]] + ["-"] * (3 - len(least))
    return [f"{plain:.1f}", *(f"{call:.2g}" for call in calls), *shown, *ratios, "yes" if is_native else "no"]


if __name__ == "__main__":
    main()
