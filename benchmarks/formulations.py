"""What a gradient costs in every formulation, and in the library: `python benchmarks/formulations.py`.

The costs are operations on numbers, counted: those of the gradient for one of the program, on programs of growing size.
They show which formulation is linear, which is linear times inputs, and which is exponential. Times are those of a call
of the gradient of a straight line of 100 operations over the library's, all on the same term of the core language, so
that they have its interpreter in them; formulations are written to be read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad
from shiftreset_ad.formulations import ROOMS
from shiftreset_ad.formulations.counting import count, count_captured
from shiftreset_ad.formulations.growth import Program, many_inputs, sharing, straight_line
from shiftreset_ad.formulations.language import evaluate

SHARED = (5, 10, 100, 1_000)
INPUTS = (10, 40, 100)
TOO_MUCH = 250.0  # the factor from which on larger programs are not tried

Operations = Callable[[Callable[..., Any], Any], int]
Gradient = Callable[[Any], Callable[..., Any]]  # of a term


def by_number(f: Callable[..., Any], x: Any) -> int:
    return count(f, x).operations


def gradient_by_library(term: Any) -> Callable[..., Any]:
    return grad(evaluate(term))


def factor(gradient: Gradient, operations: Operations, program: Program) -> float:
    """Operations of the gradient for one of the program."""
    return operations(gradient(program.term), program.x) / operations(evaluate(program.term), program.x)


def factors(gradient: Gradient, operations: Operations, program: Callable[[int], Program], sizes: Any) -> list[float]:
    """The factors at growing sizes, up to where they blow up."""
    found: list[float] = []
    for size in sizes:
        if not found or found[-1] < TOO_MUCH:
            found.append(factor(gradient, operations, program(size)))
    return found


def growth(shared: list[float], inputs: list[float]) -> str:
    if shared[1] > 4 * shared[0]:
        return "exponential"
    return "times inputs" if inputs[1] > 3 * inputs[0] else "linear"


def cells(found: list[float], sizes: Any) -> list[str]:
    return [f"{value:.2f}" for value in found] + ["-"] * (len(sizes) - len(found))


def main() -> int:
    sys.setrecursionlimit(100_000)  # several formulations nest on the stack, by their nature
    methods: dict[str, tuple[Gradient, Operations]] = {"shiftreset_ad.grad": (gradient_by_library, count_captured)}
    methods |= {room.path: (room.grad, by_number) for room in ROOMS}
    line = straight_line(100)
    gradients = {name: gradient(line.term) for name, (gradient, _) in methods.items()}
    times = best_of(3, {name: partial(gradient, line.x) for name, gradient in gradients.items()})
    table = Table(title="Operations of a gradient for one of the program", title_justify="left")
    table.add_column("formulation", no_wrap=True)
    for size in SHARED:
        table.add_column(f"{size:,}\nsquares", justify="right")
    for size in INPUTS:
        table.add_column(f"{size}\ninputs", justify="right")
    table.add_column("growth", no_wrap=True)
    table.add_column("time", justify="right")
    for name, (gradient, operations) in methods.items():
        shared = factors(gradient, operations, sharing, SHARED)
        inputs = factors(gradient, operations, many_inputs, INPUTS)
        time = f"{times[name] / times['shiftreset_ad.grad']:.1f}"
        table.add_row(name, *cells(shared, SHARED), *cells(inputs, INPUTS), growth(shared, inputs), time)
    Console(width=140).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
