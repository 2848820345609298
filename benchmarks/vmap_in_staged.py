"""A vmapped function inside a staged one: steps and times, beside the same by hand and the function as it is.

python benchmarks/vmap_in_staged.py, or with --processor on a machine that is shared, for times of the processor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of
from vmap import by_hand as gradients_by_hand
from vmap import loss_by

from shiftreset_ad import grad, staged, vmap

ROUNDS = 20
ROWS = (10, 100, 1000)
AXES = (None, 0, 0)
loss = loss_by(np)  # of one row


def loss_of_rows(p: Any, x: Any, y: Any) -> Any:
    """The cross entropies of all rows, as one writes it for all rows."""
    z = np.tanh(x @ p["a"] + p["b"]) @ p["c"] + p["d"]
    return np.log(np.sum(np.exp(z), 1)) - np.sum(z * y, 1)


def mean_of(losses: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the mean of all rows."""
    return lambda p, x, y: grad(lambda p: np.mean(losses(p, x, y)))(p)


# With `vmap`, and by hand
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "a gradient for each row": (vmap(grad(loss), AXES), gradients_by_hand),
    "gradient of the mean": (mean_of(vmap(loss, AXES)), mean_of(loss_of_rows)),
}


def steps(f: Any) -> int:
    """The steps of the newest way of a staged function."""
    return sum(" = " in line for line in f.ir[0].splitlines())


def main() -> None:
    """Print the steps of the records and the times of all programs, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processor", action="store_true", help="measure the time of the processor, not by the clock")
    clock = time.process_time if parser.parse_args().processor else time.perf_counter
    rng = np.random.default_rng(0)
    inputs, hidden, outputs = 20, 20, 3
    p = {
        "a": 0.1 * rng.normal(size=(inputs, hidden)),
        "b": np.zeros(hidden),
        "c": 0.1 * rng.normal(size=(hidden, outputs)),
        "d": np.zeros(outputs),
    }
    titles = ("program", "rows", "steps", "steps by hand", "staged, us", "by hand, staged, us", "as it is, us")
    table = Table(*titles, title="vmap in a staged function")
    for name, (batched, by_hand) in PROGRAMS.items():
        for rows in ROWS:
            x, y = rng.normal(size=(rows, inputs)), np.eye(outputs)[rng.integers(0, outputs, rows)]
            with_vmap, of_hand = staged(batched), staged(by_hand)
            for _ in range(10):  # until records are native code
                found, expected = with_vmap(p, x, y), of_hand(p, x, y)
                batched(p, x, y)
            for key, value in expected.items():
                np.testing.assert_allclose(found[key], value, rtol=1e-9, atol=1e-12)
            programs = {
                "staged": lambda f=with_vmap, x=x, y=y: f(p, x, y),
                "by hand": lambda f=of_hand, x=x, y=y: f(p, x, y),
                "as it is": lambda f=batched, x=x, y=y: f(p, x, y),
            }
            times = [f"{seconds * 1e6:.0f}" for seconds in best_of(ROUNDS, programs, clock).values()]
            table.add_row(name, f"{rows:,}", f"{steps(with_vmap)}", f"{steps(of_hand)}", *times)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
