"""Look at any number of random programs: `python -m tests.staging.programs 2000`; `--seed` repeats a run."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.staging.programs.run import examine

SHARE = 20  # programs that a process looks at before it reports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--whole", action="store_true", help="do not make counterexamples small")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, processes {arguments.processes}", flush=True)
    counts: Counter[str] = Counter()
    found = 0
    end = arguments.seed + arguments.programs
    with ProcessPoolExecutor(arguments.processes) as pool:
        shares = [
            pool.submit(examine, start, min(SHARE, end - start), not arguments.whole)
            for start in range(arguments.seed, end, SHARE)
        ]
        for share in as_completed(shares):
            these, scripts = share.result()
            counts += these
            found += len(scripts)
            for script in scripts:
                print(f"\n{script}", flush=True)
    for name, times in counts.most_common():
        print(f"{times:8} {name}")
    print(f"{arguments.programs} programs, {found} counterexamples")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
