"""The command: measures the programs that it is asked for, and prints the tables."""

from __future__ import annotations

import argparse
import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from rich.console import Console
from rich.progress import track

from benchmarks.programs import tables
from benchmarks.programs.catalogue import NAMES
from benchmarks.programs.libraries import LIBRARIES
from benchmarks.programs.measurement import measured


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.programs", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(NAMES)}; all if none is named")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--rounds", type=int, default=10, help="the least time of so many is taken")
    parser.add_argument("--small", action="store_true", help="with small arguments, as the tests have them")
    options = parser.parse_args()
    names = options.programs or NAMES
    progress = Console(stderr=True)
    rows = [measured(name, options.libraries, options.rounds, options.small) for name in track(names, console=progress)]
    console = Console(width=160)
    console.print(tables.of_times(rows), tables.of_ratios(rows), tables.of_peaks(rows))


if __name__ == "__main__":
    main()
