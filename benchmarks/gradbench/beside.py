"""Our evals beside GradBench's programs for PyTorch and JAX, in one process.

`python -m benchmarks.gradbench.beside CHECKOUT`, with names of evals behind it for these alone. The programs take
turns, and the shortest run counts, by the time of the processor. So a busy machine, and what else the harness does,
hardly matter. JAX works operation by operation. The inputs are random, of the size that is given, or GradBench's own.

PyTorch's programs for `ba` and `ht` go through observations and points one at a time, so these have few of them here.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from .checkout import ONE_THREAD
from .evals import EVALS
from .tool import keep_memory

SECONDS, TURN = 3.0, 0.005  # for each row; a turn runs a short program several times over, so that its caches are warm
TURNS = 3  # at least


class Row(NamedTuple):
    """A derivative: its eval, function, size and message, and what prepares the message for the other libraries."""

    eval: str
    function: str
    size: str
    message: Any
    torch: str | None = None
    jax: str | None = None


def numbers(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).tolist()


def mixture(d: int, k: int, n: int = 1000) -> dict[str, Any]:
    """A message for `gmm`."""
    arrays = {"x": numbers(n, d), "alpha": numbers(k), "mu": numbers(k, d), "q": numbers(k, d)}
    return {"d": d, "k": k, "n": n, "m": 0, "gamma": 1.0, "l": numbers(k, d * (d - 1) // 2)} | arrays


def clusters(d: int, k: int, n: int = 1000) -> dict[str, Any]:
    """A message for `kmeans`."""
    return {"points": numbers(n, d), "centroids": np.random.default_rng(1).normal(size=(k, d)).tolist()}


def bundle(checkout: Path, observations: int) -> dict[str, Any]:
    """A message for `ba`: the first of GradBench's files, with few observations."""
    (data,) = (checkout / "evals/ba/data").glob("ba1_*.txt")
    return importlib.import_module("gradbench.evals.ba.run").parse(data) | {"p": observations}  # type: ignore[no-any-return]


def hand(checkout: Path, variant: str, points: int) -> dict[str, Any]:
    """A message for `ht`: the first of GradBench's files for the small hand, with few points."""
    folder = checkout / "evals/ht/data" / f"{variant}_small"
    (data,) = folder.glob("hand1_*.txt")
    read = importlib.import_module("gradbench.evals.ht.io").read_hand_instance
    message = read(folder / "model", data, variant == "complicated").to_dict()
    message = json.loads(json.dumps(message))
    for name in ("points", "correspondences"):
        message["data"][name] = message["data"][name][:points]
    message["us"] = message["us"][:points]
    return message  # type: ignore[no-any-return]


def text(layers: int, characters: int, bits: int = 7) -> dict[str, Any]:
    """A message for `lstm`, of a random text in ASCII."""
    sequence = np.random.default_rng(0).integers(0, 2, (characters, bits)).astype(float).tolist()
    parameters = {"main_params": numbers(2 * layers, 4 * bits), "extra_params": numbers(3, bits)}
    return parameters | {"state": numbers(2 * layers, bits), "sequence": sequence}


def rows(checkout: Path) -> list[Row]:
    both = ("prepare_input", "prepare_input")
    return [
        Row("hello", "double", "at 4", 4.0, "to_tensor", "to_tensor"),
        Row("llsq", "gradient", "n 16", {"x": numbers(16), "n": 16}, None, "prepare_input"),
        Row("llsq", "gradient", "n 1,024", {"x": numbers(128), "n": 1024}, None, "prepare_input"),
        Row("lse", "gradient", "2,500", {"x": numbers(2500)}, *both),
        Row("lse", "gradient", "160,000", {"x": numbers(160_000)}, *both),
        Row("ode", "gradient", "1,000, 10 steps", {"x": numbers(1000), "s": 10}, None, "prepare_input"),
        Row("kmeans", "dir", "k 10, d 8", clusters(8, 10), *both),
        Row("kmeans", "dir", "k 10, d 16", clusters(16, 10), *both),
        Row("kmeans", "dir", "k 100, d 16", clusters(16, 100), *both),
        Row("gmm", "jacobian", "d 2, k 5", mixture(2, 5), "prepare", "prepare"),
        Row("gmm", "jacobian", "d 10, k 5", mixture(10, 5), "prepare", "prepare"),
        Row("gmm", "jacobian", "d 10, k 25", mixture(10, 25), "prepare", "prepare"),
        Row("lstm", "jacobian", "2 layers, 50", text(2, 50), "prepare_input"),
        Row("lstm", "jacobian", "4 layers, 50", text(4, 50), "prepare_input"),
        Row("ba", "jacobian", "1 observation", bundle(checkout, 1), "prepare_input"),
        Row("ba", "jacobian", "20 observations", bundle(checkout, 20), "prepare_input"),
        Row("ht", "jacobian", "simple, 1 point", hand(checkout, "simple", 1), "prepare_input"),
        Row("ht", "jacobian", "complicated, 2 points", hand(checkout, "complicated", 2), "prepare_input"),
    ]


def in_turns(programs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The shortest time of each program, in seconds."""
    repeats = {}
    for name, program in programs.items():
        program()
        repeats[name] = max(1, int(TURN / max(run(program, 3), 1e-6)))
    least, spent, turns = dict.fromkeys(programs, math.inf), 0.0, 0
    while turns < TURNS or spent < SECONDS:
        for name, program in programs.items():
            seconds = run(program, repeats[name])
            least[name], spent = min(least[name], seconds), spent + seconds * repeats[name]
        turns += 1
    return least


def run(program: Callable[[], Any], repeats: int) -> float:
    """The time of one of so many runs."""
    start = time.process_time()
    for _ in range(repeats):
        program()
    return (time.process_time() - start) / repeats


def program_of(library: str, row: Row, prepare: str) -> Callable[[], Any]:
    """GradBench's program for another library, which is given what it prepares of the message."""
    module = importlib.import_module(f"gradbench.tools.{library}.{row.eval}")
    limits = {"min_runs": 1, "min_seconds": 0}
    prepared = getattr(module, prepare)(row.message | limits if isinstance(row.message, dict) else row.message)
    function = getattr(module, row.function).function
    if library == "pytorch":
        return lambda: function(prepared)
    ready = importlib.import_module("jax").block_until_ready
    return lambda: ready(function(prepared))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="a clone of GradBench")
    parser.add_argument("evals", nargs="*", help="only these")
    args = parser.parse_args()
    os.environ |= ONE_THREAD | {"JAX_DISABLE_JIT": "1"}
    sys.path.insert(0, str(args.checkout / "python" / "gradbench"))
    importlib.import_module("torch").set_num_threads(1)
    keep_memory()
    columns = ("ours, us", "PyTorch, us", "JAX, us", "ours / PyTorch", "ours / JAX")
    table = Table("eval", "size", *columns, title="evaluations, in turns")
    for row in rows(args.checkout):
        if args.evals and row.eval not in args.evals:
            continue
        function = EVALS[row.eval][row.function]
        arguments = function.read(row.message)
        programs: dict[str, Callable[[], Any]] = {"ours": lambda f=function, given=arguments: f.compute(*given)}
        for library, prepare in (("pytorch", row.torch), ("jax", row.jax)):
            if prepare:
                programs[library] = program_of(library, row, prepare)
        times = in_turns(programs)
        shown = [f"{times[name] * 1e6:.3g}" if name in times else "" for name in ("ours", "pytorch", "jax")]
        shown += [f"{times['ours'] / times[name]:.2g}" if name in times else "" for name in ("pytorch", "jax")]
        table.add_row(row.eval, row.size, *shown)
        print(row.eval, row.size, *shown, sep="; ", file=sys.stderr, flush=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
