"""The cost of an operation on several versions of CPython, each named by its interpreter, the first as the yardstick:

python benchmarks/versions.py .venv-3.11/bin/python .venv-3.12/bin/python .venv-3.13/bin/python

Each needs the library installed. The versions take turns. Without arguments it prints the figures of its own version.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
from cases import array_chain, scalar_chain
from timing import best_of

from shiftreset_ad import grad

GOAL = 1.5


def measure() -> dict[str, float]:
    """Seconds for one operation, forward and backward."""
    n = 999
    x, w = np.full(10, 0.5), np.full(10, 0.9)
    scalars = grad(lambda x: scalar_chain(x, n))
    arrays = grad(lambda x, w: np.sum(array_chain(x, w, n, np.tanh)), argnums=(0, 1))
    times = best_of(20, {"scalar chain": lambda: scalars(0.5), "array chain, 10 elements": lambda: arrays(x, w)})
    return {case: time / n for case, time in times.items()}


def main(interpreters: list[str]) -> int:
    if not interpreters:
        print(json.dumps(measure()))
        return 0
    best: dict[str, dict[str, float]] = {}
    for _ in range(3):
        for interpreter in interpreters:
            output = subprocess.run([interpreter, __file__], check=True, capture_output=True, text=True).stdout
            for case, time in json.loads(output).items():
                cases = best.setdefault(interpreter, {})
                cases[case] = min(time, cases.get(case, time))
    worst = 0.0
    for interpreter, cases in best.items():
        version = subprocess.run([interpreter, "-V"], check=True, capture_output=True, text=True).stdout.strip()
        for case, time in cases.items():
            ratio = time / best[interpreters[0]][case]
            worst = max(worst, ratio)
            print(f"{version:14} {case:26} {time * 1e6:6.3f} us an operation, {ratio:.2f} of the first")
    print(f"goal: at most {GOAL}; worst: {worst:.2f}")
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
