"""What a call of a staged function costs beside the function itself: `python benchmarks/staged_calls.py`.

The functions are short, so that the call counts: numbers, arrays, structures, methods, keywords, and what a function
closes over. There are loops of a few rounds on one number, to see from how many rounds on a staged loop is faster. The
native code alone is called with the numbers and arrays that are in the arguments. The time is that of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from timeit import Timer
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.staging.seen.keys import StagedCall

rng = np.random.default_rng(0)
X, Y, W = rng.normal(size=(20, 4)), rng.normal(size=20), np.ones(4)
COEFFICIENTS = [0.1 * i for i in range(100)]
CALLS = 100


def square(x: Any) -> Any:
    return x * x


def rounds(x: Any, n: int) -> Any:
    for _ in range(n):
        x = x * 0.5 + 1.0
    return x


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


def of_three(x: Any, y: Any, z: Any, s: Any) -> Any:
    return np.sum(x * y + z) * s


def loss(w: Any) -> Any:
    r = X @ w - Y
    return np.sum(r * r)


def of_a_dict(p: Any, x: Any, flag: bool = False, *, scale: Any = 1.0) -> Any:
    return (np.sum(p["w"] * x) + p["b"]) * scale if flag else p["b"]


class Parameters(NamedTuple):
    w: Any
    b: Any


@dataclass
class Fields:
    """The same, in an object whose fields may be changed."""

    w: Any
    b: Any


def of_fields(p: Any, x: Any) -> Any:
    return np.sum(p.w * x) + p.b


def of_a_list(x: Any) -> Any:
    return sum(c * x for c in COEFFICIENTS)


class Model:
    """An object with numbers and arrays."""

    def __init__(self) -> None:
        self.scale, self.w = 2.0, np.ones(4)

    def at(self, x: Any) -> Any:
        return self.scale * np.sum(self.w * x)


# What is called, and how: the function itself, the function that is staged, and the arguments as they are written.
PROGRAMS: dict[str, tuple[Callable[..., Any], str]] = {
    "square of a number": (square, "2.0"),
    "its gradient": (grad(square), "2.0"),
    **{f"rounds of a loop: {n}": (rounds, f"2.0, {n}") for n in (0, 1, 2, 3, 5, 10, 100)},
    "Newton's method for a root": (newton, "2.0"),
    "three arrays and a number": (of_three, "W, W2, W3, 2.0"),
    "its gradient by all": (grad(of_three, (0, 1, 2, 3)), "W, W2, W3, 2.0"),
    "least squares, closes over 100 numbers": (loss, "W"),
    "its gradient, which closes over them, too": (grad(loss), "W"),
    "a dict, a flag and a keyword": (of_a_dict, "P, W2, True, scale=2.0"),
    "its gradient by the dict": (grad(of_a_dict), "P, W2, True, scale=2.0"),
    "the gradient by a named tuple": (grad(of_fields), "NAMED, W2"),
    "the gradient by a dataclass": (grad(of_fields), "FIELDS, W2"),
    "a loop over a list of 100 numbers from outside": (of_a_list, "2.0"),
    "a method": (Model.at, "MODEL, 2.0"),
    "one array twice": (of_three, "W, W, W, 2.0"),
}
NAMES = {"W": W, "W2": W + 1.0, "W3": W + 2.0, "P": {"w": W, "b": 0.5}, "MODEL": Model()}
NAMES |= {"NAMED": Parameters(W, 0.5), "FIELDS": Fields(W, 0.5)}


def main() -> None:
    table = Table("", *("the function", "staged", "native code", "beyond the native code"), title="nanoseconds")
    for title, (f, arguments) in PROGRAMS.items():
        staged = sr.staged(f)
        call = eval(f"lambda f: f({arguments})", NAMES)
        for _ in range(5):
            call(staged)
        (items,) = staged._calls._shortcuts._items.values()
        leaves = StagedCall(*eval(f"(lambda *args, **kwargs: (args, kwargs))({arguments})", NAMES), id).inputs()
        leaf_names = {f"leaf{i}": leaf for i, leaf in enumerate(leaves)}
        timers = {
            "the function": Timer(f"f({arguments})", globals={"f": f, **NAMES}),
            "staged": Timer(f"f({arguments})", globals={"f": staged, **NAMES}),
            "native": Timer(f"f({', '.join(leaf_names)})", globals={"f": items.entry, **leaf_names}),
        }
        times = best_of(10, {name: partial(timer.timeit, CALLS) for name, timer in timers.items()}, time.process_time)
        nanoseconds = [seconds / CALLS * 1e9 for seconds in times.values()]
        row = [*nanoseconds, nanoseconds[1] - nanoseconds[2]]
        table.add_row(title, *(f"{figure:,.0f}" for figure in row))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
