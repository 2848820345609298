"""Autograd's own examples with this library: `python benchmarks/autograd_examples.py FOLDER`, its folder `examples`.

Each example runs twice: as it is, with autograd, and with the changes below, with this library. Both runs print what
they find, and the table has the greatest relative difference between the numbers. Loops of training have four rounds.
An example that learns its own source has another source in each run. The command needs autograd, SciPy and matplotlib,
and the examples of autograd's repository. Examples that download MNIST get random images.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROUNDS = 4
SECONDS = 60.0
CHANGES = {
    # imports
    r"import autograd\.numpy as np.*": "import numpy as np",
    r"import autograd\.numpy\.random as npr": "import numpy.random as npr",
    r"from autograd\.numpy\.linalg": "from numpy.linalg",
    r"import autograd\.scipy\.stats\.(\w+) as (\w+)": r"from shiftreset_ad.scipy.stats import \1 as \2",
    r"autograd\.scipy": "shiftreset_ad.scipy",
    r"from autograd\.misc(?:\.\w+)? import": "from helpers import",
    r"from autograd\.builtins import tuple\n": "",
    r"from autograd\.test_util": "from shiftreset_ad.testing",
    r"from autograd import grad, hessian_vector_product": (
        "from shiftreset_ad import grad\nfrom helpers import hessian_vector_product"
    ),
    r"from autograd import": "from shiftreset_ad import",
    # two names of arguments
    r"\bargnum=": "argnums=",
    r"check_grads\((\w+), modes=(.*?)\)\((\w+)\)": r"check_grads(\1, (\3,), order=1, modes=\2)",
}
# What autograd.misc has, on this library's names
HELPERS = """
from shiftreset_ad import hvp, optimize
from shiftreset_ad.optimize import ravel as flatten

def rounds_of(optimizer):
    def rounds(gradient, x, callback, num_iters):
        state = optimizer.init(x)
        for i in range(num_iters):
            g = gradient(x, i)
            if callback:
                callback(x, i, g)
            x, state = optimizer.step(g, x, state)
        return x
    return rounds

def adam(gradient, x, callback=None, num_iters=100, step_size=0.001):
    return rounds_of(optimize.adam(step_size))(gradient, x, callback, num_iters)

def sgd(gradient, x, callback=None, num_iters=200, step_size=0.1, mass=0.9):
    return rounds_of(optimize.sgd(step_size * (1.0 - mass), mass))(gradient, x, callback, num_iters)

def flatten_func(f, x):
    vector, unravel = flatten(x)
    return lambda v: f(unravel(v)), unravel, vector

def hessian_vector_product(f):
    return lambda x, v: hvp(f, (x,), (v,))

def fixed_point(f, a, x0, distance, tol):
    return optimize.fixed_point(f(a), x0, tolerance=tol)
"""
MNIST = """
import numpy as np

def mnist():
    rng = np.random.RandomState(5)
    return tuple(rng.randint(0, top, shape).astype(np.uint8)
                 for n in (300, 50) for top, shape in ((255, (n, 28, 28)), (10, n)))
"""
SHORTER = re.compile(r"\b(num_iters|num_epochs|iters|num_steps)\s*=\s*\d+")
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
NO_PROGRAMS = ("__init__", "data", "data_mnist", "helpers")


class Run(NamedTuple):
    """How a run ended, and the numbers that it has printed."""

    end: str
    numbers: list[float]


def changed(source: str) -> str:
    """An example of autograd's as it runs with this library."""
    for pattern, replacement in CHANGES.items():
        source = re.sub(pattern, replacement, source)
    return source


def copy(examples: Path, folder: Path, ours: bool) -> None:
    """The examples in a folder, with short loops."""
    shutil.copytree(examples, folder)
    for path in folder.rglob("*.py"):
        source = SHORTER.sub(rf"\1={ROUNDS}", path.read_text())
        path.write_text(changed(source) if ours else source)
    (folder / "data_mnist.py").write_text(MNIST)
    (folder / "helpers.py").write_text(HELPERS)


def run(folder: Path, name: str) -> Run:
    """Run an example, and stop it after a minute."""
    command = [sys.executable, "-W", "ignore", f"{name}.py"]
    settings = {"cwd": folder, "env": {**os.environ, "MPLBACKEND": "Agg"}, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, check=False, timeout=SECONDS, **settings)
    except subprocess.TimeoutExpired as stopped:
        return Run("stopped", _numbers((stopped.stdout or b"").decode()))
    error = (done.stderr.splitlines() or [""])[-1].partition(":")[0]
    return Run("ends" if done.returncode == 0 else error, _numbers(done.stdout))


def _numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def difference(ours: list[float], theirs: list[float]) -> float:
    """The greatest relative difference between numbers that both have printed."""
    return max((abs(a - b) / max(abs(b), 1e-12) for a, b in zip(ours, theirs, strict=False)), default=float("nan"))


def main() -> None:
    """Run the examples, and print a row for each one."""
    from rich.live import Live  # the tests of this module do without
    from rich.table import Table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    table = Table("example", "shiftreset_ad", "autograd", "numbers", "difference")
    table.columns[0].no_wrap = True
    with TemporaryDirectory() as work, Live(table):  # a run that is stopped leaves the rows that it has
        ours, theirs = Path(work) / "ours", Path(work) / "theirs"
        copy(options.folder, ours, True)
        copy(options.folder, theirs, False)
        names = options.names or sorted(p.stem for p in options.folder.glob("*.py") if p.stem not in NO_PROGRAMS)
        for name in names:
            a, b = run(ours, name), run(theirs, name)
            count = str(min(len(a.numbers), len(b.numbers)))
            table.add_row(name, a.end, b.end, count, f"{difference(a.numbers, b.numbers):.1e}")


if __name__ == "__main__":
    main()
