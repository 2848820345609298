"""What `import shiftreset_ad` costs after `import numpy`, by `python benchmarks/imports.py`.

Each round is a fresh interpreter. The modules are compiled before; the least of the rounds is printed, in milliseconds
of the processor. Beside it: NumPy itself, and how many modules of ours are imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

ROUNDS = 20
PROGRAM = """
import sys, time
start = time.process_time()
import numpy
between = time.process_time()
import shiftreset_ad
ours = sum(name.startswith("shiftreset_ad") for name in sys.modules)
print(between - start, time.process_time() - between, ours)
"""


def main() -> None:
    rounds = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(ROUNDS + 1):  # the first one compiles
            run = subprocess.run(
                [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
            )
            rounds.append([float(word) for word in run.stdout.split()])
    numpy, ours, modules = (min(column) for column in zip(*rounds[1:], strict=True))
    print(f"numpy {numpy * 1e3:.0f} ms; shiftreset_ad after it {ours * 1e3:.0f} ms, {modules:.0f} modules")


if __name__ == "__main__":
    main()
