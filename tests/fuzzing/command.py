"""The command that looks at any number of random programs in several processes, and prints the counterexamples."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from types import MappingProxyType
from typing import NoReturn

NO_WHOLES: Mapping[str, str] = MappingProxyType({})
Examine = Callable[[int, int], tuple[Counter[str], Sequence[str]]]  # of the first seed and the number of programs


def options(description: str | None) -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    return parser


def look_at_programs(
    arguments: argparse.Namespace, examine: Examine, share: int, wholes: Mapping[str, str] = NO_WHOLES
) -> NoReturn:
    """Look at the programs, so many at a time in each process. The exit status is 1 if there is a counterexample.

    What begins with a word in `wholes` is printed with its share of the count that the word stands for.
    """
    os.environ.setdefault("SHIFTRESET_AD_CACHE", "0")  # compiled code of random programs does not stay on the disk
    print(f"seed {arguments.seed}, processes {arguments.processes}", flush=True)
    counts: Counter[str] = Counter()
    found = 0
    end = arguments.seed + arguments.programs
    with ProcessPoolExecutor(arguments.processes) as pool:
        shares = [pool.submit(examine, start, min(share, end - start)) for start in range(arguments.seed, end, share)]
        for done in as_completed(shares):
            these, scripts = done.result()
            counts += these
            found += len(scripts)
            for script in scripts:
                print(f"\n{script}", flush=True)
    for name, times in counts.most_common():
        whole = counts[wholes.get(name.partition(":")[0], "")]
        print(f"{times:8} {f'{times / whole:7.2%}' if whole else ' ' * 7} {name}")
    print(f"{arguments.programs} programs, {found} counterexamples")
    sys.exit(bool(found))
