"""What a call of each operator costs before the function does anything, by `python benchmarks/calls.py`.

The function squares one number; staged, it is native code where llvmlite is installed. `jvp` and `jacfwd` of two
scalars have a longer one, too. Beside these: the making of a greenlet, of which a call in reverse mode needs one; an
operation on ten elements there and back; and products of ten elements, into a new array and over an old one. The time
is that of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from cases import array_chain
from greenlet import greenlet
from rich.console import Console
from rich.table import Table
from timing import best_of

import shiftreset_ad as sr

OPERATIONS = 999


def square(x: Any) -> Any:
    return x * x


def products(x: Any, y: Any) -> Any:
    """Sixty operations on two scalars."""
    for _ in range(20):
        x = x * y + x * 0.1
    return x


def main() -> None:
    x, w, old = np.full(10, 0.5), np.full(10, 0.9), np.empty(10)
    _, pullback = sr.vjp(square, 3.0)
    staged, staged_grad = sr.staged(square), sr.staged(sr.grad(square))
    for value in (1.0, 2.0, 3.0, 4.0):  # recorded, compared, compiled
        staged(value), staged_grad(value)

    def chain(x: Any, w: Any) -> Any:
        return array_chain(x, w, OPERATIONS, np.tanh)

    programs: dict[str, Callable[[], Any]] = {
        "grad": lambda: sr.grad(square)(3.0),
        "jvp": lambda: sr.jvp(square, (3.0,), (1.0,)),
        "vjp": lambda: sr.vjp(square, 3.0),
        "pullback": lambda: pullback(1.0),
        "hvp": lambda: sr.hvp(square, (3.0,), (1.0,)),
        "derivative": lambda: sr.derivative(square)(3.0),
        "taylor, order 3": lambda: sr.taylor(square, 3.0, 3),
        "jacobian, 10 elements": lambda: sr.jacobian(square)(x),
        "jvp, 60 operations on two scalars": lambda: sr.jvp(products, (0.3, 0.2), (1.0, 0.0)),
        "jacfwd, the same": lambda: sr.jacfwd(products, (0, 1))(0.3, 0.2),
        "staged, the steps are native code": lambda: staged(3.0),
        "staged grad, the same": lambda: staged_grad(3.0),
        "making a greenlet": lambda: greenlet(square).switch(3.0),
        "product into a new array": lambda: x * w,
        "product over an old array": lambda: np.multiply(x, w, old),
    }
    table = Table("call", "us")
    for name, seconds in best_of(10, programs, time.process_time).items():
        table.add_row(name, f"{seconds * 1e6:.3g}")
    there = best_of(10, {"": lambda: sr.vjp(chain, x, w)}, time.process_time)[""] / OPERATIONS
    gradient = sr.grad(lambda x, w: np.sum(chain(x, w)), (0, 1))
    both = best_of(10, {"": lambda: gradient(x, w)}, time.process_time)[""] / OPERATIONS
    table.add_row("operation on ten elements, forward", f"{there * 1e6:.3g}")
    table.add_row("operation on ten elements, there and back", f"{both * 1e6:.3g}")
    Console().print(table)


if __name__ == "__main__":
    main()
