"""Whole descents inside descents, staged: GradBench's saddle and particle, by `python benchmarks/native_descents.py`.

Each is a minimum over a minimum, or over a loop, with a derivative in each, by forward (f) or reverse (r) mode outside
and inside. The function answers by itself, is recorded in its first call, and answers by native code from the third
call on. All answers must have the same bits. The times are of the processor.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import shiftreset_ad as sr
from benchmarks.gradbench.evals import particle, saddle

EVALS = {"saddle": (saddle, ((1.0, 1.0),)), "particle": (particle, (0.0,))}
TIMES = 20  # of native code; the least counts


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
    table = Table("", "modes", "as it is, s", "first call, s", "second, s", "third, s", "native, ms", "native code")
    for name, (module, args) in EVALS.items():
        for modes in parser.parse_args().modes:
            f = module.FUNCTIONS[modes].compute
            plain, expected = seconds(f, args)
            staged = sr.staged(f)
            calls = [seconds(staged, args, expected)[0] for _ in range(3)]
            least = min(seconds(staged, args, expected)[0] for _ in range(TIMES))
            is_native = "as native code" in staged.report() and len(staged.sources) == 1
            figures = [f"{plain:.1f}", *(f"{call:.2g}" for call in calls), f"{least * 1e3:.2f}"]
            table.add_row(name, modes, *figures, "yes" if is_native else "no")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
