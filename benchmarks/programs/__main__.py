"""Times and memory of the derivatives of programs, in several libraries, as tables."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from rich.console import Console
from rich.progress import track

from benchmarks.programs.catalogue import NAMES
from benchmarks.programs.libraries import LIBRARIES
from benchmarks.programs.measurement import measured
from benchmarks.programs.profiling import profile
from benchmarks.programs.tables import tables


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("programs", nargs="*", help=f"of {', '.join(NAMES)}; all if none is named", metavar="PROGRAM")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--rounds", type=int, default=5, help="the least time of so many rounds is taken")
    parser.add_argument("--small", action="store_true", help="take the small arguments that the tests take")
    parser.add_argument("--read-only", action="store_true", help="make the data arrays that nobody can write to")
    parser.add_argument("--profile", choices=NAMES, help="show where the time of a program goes in the first library")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the ratios, by matplotlib")
    options = parser.parse_args()
    if unknown := set(options.programs) - set(NAMES):
        parser.error(f"no program has the name {', '.join(sorted(unknown))}")
    if options.profile:
        profile(options.profile, options.libraries[0], options.small)
        return
    names = track(options.programs or NAMES, console=Console(stderr=True))
    rows = [measured(name, options.libraries, options.rounds, options.small, options.read_only) for name in names]
    Console(width=120).print(*tables(rows, options.libraries), sep="\n")
    if options.picture:
        from benchmarks.programs.picture import draw

        draw(rows, options.libraries, options.picture)


if __name__ == "__main__":
    main()
