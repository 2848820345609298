"""How long staging takes, by its parts, for a step: `python benchmarks/staging_times.py [--only NAME]`.

The first call runs the function as it is, and records it. The second call makes the steps by NumPy. For the third one
the text in LLVM's language is written, compiled, and loaded; the next process loads it from disk. A long record, and
one with loops, has all texts from the first call on. All of it is processor time, on one thread. `loops` are the
functions of loops in the text, which steps that are alike share: their number tells whether the time of the compiler
grows with the program, or with what is different in it. These programs are recorded round by round.

A second table has programs with long loops, recorded round by round, and with the loops written down, as it is by
itself: the time of the first call, of the calls up to the one that is native code, and of a native call.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
import numpy as np
from rich.console import Console
from rich.table import Table

import shiftreset_ad as sr
from shiftreset_ad.staging.front import long_loops

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "networks"))
import tree_lstm
import trees

Program = tuple[Callable[..., Any], tuple[Any, ...]]
LOADS = 5
CALLS = 30


def scalars(steps: int) -> Program:
    """A straight line of products and sums, there and back."""

    def f(x: Any) -> Any:
        for _ in range(steps // 7):
            x = x * x * 0.5 + 0.1
        return x

    return sr.value_and_grad(f), (0.3,)


def recurrent(rounds: int) -> Program:
    """A network of 8 neurons, each round of which is a line of its own."""
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(rounds, 4))

    def loss(w: Any, u: Any, b: Any) -> Any:
        state = np.zeros(8)
        for x in xs:
            state = np.tanh(w @ state + u @ x + b)
        return np.sum(state * state)

    return sr.grad(loss, (0, 1, 2)), (0.3 * rng.normal(size=(8, 8)), rng.normal(size=(8, 4)), np.zeros(8))


def trained(rounds: int) -> Program:
    """A perceptron with one hidden layer, and so many steps of descent."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 8)), rng.normal(size=16)

    def loss(w: Any, b: Any, v: Any) -> Any:
        errors = np.tanh(x @ w + b) @ v - y
        return np.mean(errors * errors)

    slopes = sr.grad(loss, (0, 1, 2))

    def train(*parameters: Any) -> Any:
        for _ in range(rounds):
            parameters = tuple(p - 0.1 * d for p, d in zip(parameters, slopes(*parameters), strict=True))
        return parameters

    return train, (rng.normal(size=(8, 10)), np.zeros(10), rng.normal(size=10))


def forest(count: int) -> Program:
    """The tree LSTM over so many trees of 39 nodes."""
    of = trees.synthetic(count)
    vectors, (parameters, _) = tree_lstm.vectors_of(of), tree_lstm.initial()
    return sr.value_and_grad(lambda parameters: tree_lstm.loss_of(parameters, vectors, of)), (parameters,)


def looping(rounds: int) -> Program:
    """A loop in a loop, whose body has so many lines."""

    def f(x: Any) -> Any:
        s = x
        while s < 1e3:
            t = x
            for _ in range(rounds):
                t = t * s * 0.001 + 0.1
            s = s * 1.5 + t * 0.01
        return s

    return sr.value_and_grad(f), (0.7,)


def adam(rounds: int) -> Program:
    """The same perceptron by Adam's method, with the losses of all rounds in an array."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 8)), rng.normal(size=16)

    def loss(w: Any) -> Any:
        errors = np.tanh(x @ w[:80].reshape(8, 10)) @ w[80:] - y
        return np.mean(errors * errors)

    def train(w: Any) -> Any:
        losses, m, v = np.zeros(rounds), np.zeros(90), np.zeros(90)
        for t in range(1, rounds):
            losses[t], slope = sr.value_and_grad(loss)(w)
            m = 0.9 * m + 0.1 * slope
            v = 0.999 * v + 0.001 * slope * slope
            w = w - 0.01 * (m / (1.0 - 0.9**t)) / (np.sqrt(v / (1.0 - 0.999**t)) + 1e-8)
        return w, losses

    return train, (rng.normal(size=90),)


def in_batches(epochs: int) -> Program:
    """A linear model that goes through data in batches of four rows."""
    rng = np.random.default_rng(0)
    data, wanted = rng.normal(size=(200, 4)), rng.normal(size=200)
    slope = sr.grad(lambda w, x, y: np.mean((x @ w - y) ** 2))

    def train(w: Any) -> Any:
        for _ in range(epochs):
            for i in range(0, 200, 4):
                w = w - 0.01 * slope(w, data[i : i + 4], wanted[i : i + 4])
        return w

    return train, (np.zeros(4),)


def summed(count: int) -> Program:
    """The squares of the errors of a curve, summed over points in a list."""
    points = [(0.01 * i, float(np.cos(i))) for i in range(count)]
    return sr.grad(lambda a, b: sum((a * np.exp(-b * x) - y) ** 2 for x, y in points), (0, 1)), (1.0, 0.1)


def trajectory(rounds: int) -> Program:
    """A pendulum, whose positions are in a list, and then in an array."""

    def loss(angle: Any) -> Any:
        speed, angles = 0.0, []
        for _ in range(rounds):
            speed = speed - 0.01 * np.sin(angle)
            angle = angle + 0.01 * speed
            angles.append(angle)
        return np.mean((np.stack(angles) - 0.5) ** 2)

    return sr.grad(loss), (1.0,)


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def step_length(at: Any, x: Any, direction: Any, value: Any, slope: Any) -> Any:
    """A step that makes the value small enough, and after which the slope is less steep: by doubling and bisection."""
    low, high, length = 0.0, 1e9, 1.0
    for _ in range(20):
        there, gradient = at(x + length * direction)
        if there > value + 1e-4 * length * slope:
            high = length
        elif gradient @ direction < 0.9 * slope:
            low = length
        else:
            return length
        length = 0.5 * (low + high) if high < 1e9 else 2.0 * length
    return length


class Pairs:
    """The last steps of a quasi-Newton method, with the changes of the gradient."""

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self.changes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, step: Any, change: Any) -> None:
        if step @ change > 1e-10:
            self.steps.append(step)
            self.changes.append(change)
            self.weights.append(1.0 / (step @ change))
            if len(self.steps) > 5:
                for items in (self.steps, self.changes, self.weights):
                    items.pop(0)

    def direction(self, gradient: Any) -> Any:
        q, factors = gradient.copy(), []
        for s, y, w in zip(self.steps[::-1], self.changes[::-1], self.weights[::-1], strict=False):
            factors.append(w * (s @ q))
            q = q - factors[-1] * y
        if self.steps:
            q = q * (self.steps[-1] @ self.changes[-1]) / (self.changes[-1] @ self.changes[-1])
        for s, y, w, a in zip(self.steps, self.changes, self.weights, factors[::-1], strict=False):
            q = q + s * (a - w * (y @ q))
        return -q


def quasi_newton() -> Program:
    """L-BFGS with a line search: loops in a loop, and lists that grow and shrink."""

    def solved(x: Any) -> Any:
        at, pairs = sr.value_and_grad(rosenbrock), Pairs()
        value, gradient = at(x)
        for _ in range(60):
            if np.max(np.abs(gradient)) < 1e-8:
                break
            direction = pairs.direction(gradient)
            new = x + step_length(at, x, direction, value, gradient @ direction) * direction
            value, new_gradient = at(new)
            pairs.add(new - x, new_gradient - gradient)
            x, gradient = new, new_gradient
        return x

    return solved, (np.array([-1.2, 1.0, 0.5, 2.0]),)


PROGRAMS: dict[str, Callable[[], Program]] = {
    **{f"numbers, {n:,} steps": lambda n=n: scalars(n) for n in (1_000, 10_000, 100_000)},
    **{f"recurrent network, {n} rounds": lambda n=n: recurrent(n) for n in (100, 400)},
    **{f"perceptron, {n} steps of descent": lambda n=n: trained(n) for n in (50, 200)},
    **{f"tree LSTM, {n} trees": lambda n=n: forest(n) for n in (1, 3, 20)},
    "loops, 100 steps in a round": lambda: looping(100),
}
LONG_LOOPS: dict[str, Callable[[], Program]] = {
    "numbers, 10,000 steps": lambda: scalars(10_000),
    "recurrent network, 400 rounds": lambda: recurrent(400),
    "perceptron, 200 steps of descent": lambda: trained(200),
    "perceptron, 500 steps of Adam": lambda: adam(500),
    "linear model, 10 times 50 batches": lambda: in_batches(10),
    "sum over 2,000 points": lambda: summed(2_000),
    "pendulum, 1,000 positions in a list": lambda: trajectory(1_000),
    "quasi-Newton, pairs in lists": quasi_newton,
}


@contextmanager
def round_by_round() -> Iterator[None]:
    """Record each round of each loop."""
    before, long_loops.MOST_STEPS = long_loops.MOST_STEPS, sys.maxsize
    try:
        yield
    finally:
        long_loops.MOST_STEPS = before


def timed(f: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = f()
    return time.process_time() - start, found


def row(name: str) -> list[str]:
    f, args = PROGRAMS[name]()
    staged = sr.staged(f)
    plain, _ = timed(lambda: f(*args))
    first, _ = timed(lambda: staged(*args))
    (way,) = [way for signature in staged._calls._signatures.values() for way in signature.ways]
    by_numpy, _ = timed(lambda: way.source)
    to_text, text = timed(lambda: way.llvm)
    native = way.take._native()  # type: ignore[attr-defined]
    compiled, _ = timed(native.entry)
    loaded = min(timed(native.entry)[0] for _ in range(LOADS))
    steps = way.ir.count("\n") if way.has_control else sum(count for _, count in way.lines)
    parts = [first - plain, by_numpy, to_text, compiled]
    numbers = [*parts, sum(parts)]
    loops = text.count("define internal void @rounds_") + text.count("define internal void @few_rounds_")
    return [
        name,
        f"{steps:,}",
        *[f"{seconds / steps * 1e6:.0f}" for seconds in numbers],
        f"{loaded * 1e3:.1f}",
        f"{loops}",
    ]


def calls(program: Program) -> list[float]:
    """The seconds of the first call, of the calls up to the first native one, and of a native call."""
    f, args = program
    staged = sr.staged(f)
    first, second, third, _ = [timed(lambda: staged(*args))[0] for _ in range(4)]
    return [first, first + second + third, min(timed(lambda: staged(*args))[0] for _ in range(CALLS))]


def row_of_a_long_loop(name: str) -> list[str]:
    program = LONG_LOOPS[name]()
    plain = min(timed(lambda: program[0](*program[1]))[0] for _ in range(3))
    with round_by_round():
        before = calls(program)
    now = calls(program)
    times = [x for pair in zip(before, now, strict=True) for x in pair]
    return [name, f"{plain:.3f}", *[f"{x:.2f}" for x in times[:4]], *[f"{x * 1e3:.2f}" for x in times[4:]]]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the programs whose names begin so")
    only = parser.parse_args().only
    columns = "record", "by NumPy", "to text", "compile", "all, us a step", "load, ms", "loops"
    table = Table("program", "steps", *columns, title="Staging, by the time of the processor for a step")
    pairs = "first call, s", "as loops", "to native code, s", "as loops", "native, ms", "as loops"
    of_loops = Table(
        "program", "the function, s", *pairs, title="Long loops, round by round, and written down as loops"
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SHIFTRESET_AD_CACHE"] = folder
        with round_by_round():
            for name in PROGRAMS:
                if name.startswith(only):
                    table.add_row(*row(name))
        os.environ["SHIFTRESET_AD_CACHE"] = "0"
        for name in LONG_LOOPS:
            if name.startswith(only):
                of_loops.add_row(*row_of_a_long_loop(name))
    Console(width=150).print(table, of_loops)
