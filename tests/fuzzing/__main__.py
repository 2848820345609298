"""Look at any number of random programs: `python -m tests.fuzzing 20000`; `--seed` and `--processes` repeat a run."""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzzing.run import examine

SHARE = 100  # programs that a process looks at before it reports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, processes {arguments.processes}", flush=True)
    counts: Counter[str] = Counter()
    found = 0
    starts = range(arguments.seed, arguments.seed + arguments.programs, SHARE)
    with ProcessPoolExecutor(arguments.processes) as pool:
        shares = [
            pool.submit(examine, start, min(SHARE, arguments.seed + arguments.programs - start)) for start in starts
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
