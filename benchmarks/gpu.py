"""Tensors of PyTorch on a graphics card: our gradients of them beside PyTorch eager and torch.func.

python benchmarks/gpu.py                    # on the card
python benchmarks/gpu.py --device cpu       # the same programs without a card

Each library runs the same program on the same tensors, and has to agree with PyTorch eager. A time is that of the clock
until the device has done all its work. "overhead" is for each operation of a chain on ten elements, where the device
has next to nothing to do; the other programs are of sizes where it is busy, and smaller by `--small`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import grad

CHAIN, ROUNDS = 100, 7
Program = Callable[..., Any]  # of a namespace, NumPy or PyTorch, the parameters, and data


class Case(NamedTuple):
    """A loss over a namespace, its parameters and data, and how many operations it has, if they are to be counted."""

    loss: Program
    parameters: list[Any]
    data: list[Any]
    operations: int = 1


def chain(xp: Any, p: list[Any], data: list[Any]) -> Any:
    """tanh, multiply, add, again and again."""
    x, w = p
    for _ in range(CHAIN):
        x = xp.tanh(x) * w + x
    return xp.sum(x)


def perceptron(xp: Any, p: list[Any], data: list[Any]) -> Any:
    """The squared error of a network with two hidden layers."""
    x, y = data
    for weight, bias in zip(p[:4:2], p[1:4:2], strict=True):
        x = xp.tanh(xp.matmul(x, weight) + bias)
    return xp.mean((xp.matmul(x, p[4]) - y) ** 2)


def convolutional(xp: Any, p: list[Any], data: list[Any]) -> Any:
    """Two convolutions with 3 x 3 kernels, as sums over shifted images, each before a tanh; and a mean of squares."""
    (x,) = data
    for kernel in p:
        height, width = x.shape[1] - 2, x.shape[2] - 2
        x = xp.tanh(
            sum(xp.matmul(x[:, i : i + height, j : j + width, :], kernel[i, j]) for i in range(3) for j in range(3))
        )
    return xp.mean(x * x)


def ode(xp: Any, p: list[Any], data: list[Any]) -> Any:
    """Thirty steps of Heun's method for many states of an equation whose right-hand side is a small network."""
    a, b = p
    (x,) = data

    def slope(x: Any) -> Any:
        return xp.matmul(xp.tanh(xp.matmul(x, a)), b)

    for _ in range(30):
        k = slope(x)
        x = x + 0.02 * (k + slope(x + 0.04 * k))
    return xp.mean(x * x)


def cases(device: str, small: bool) -> dict[str, Case]:
    """The programs with their tensors."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int, scale: float = 1.0) -> Any:
        return (scale * torch.randn(*shape, generator=generator)).to(device)

    n, hidden, images, states = (64, 64, 2, 64) if small else (4096, 2048, 64, 16384)
    layers = [normal(hidden, hidden, scale=hidden**-0.5), normal(hidden), normal(hidden, hidden, scale=hidden**-0.5)]
    return {
        "overhead": Case(chain, [normal(10), normal(10)], [], 3 * CHAIN),
        "MLP": Case(
            perceptron,
            [*layers, normal(hidden), normal(hidden, 10, scale=hidden**-0.5)],
            [normal(n, hidden), normal(n, 10)],
        ),
        "convolutional network": Case(
            convolutional,
            [normal(3, 3, 3, 32, scale=0.2), normal(3, 3, 32, 32, scale=0.06)],
            [normal(images, 32, 32, 3)],
        ),
        "ODE": Case(ode, [normal(16, 256, scale=0.25), normal(256, 16, scale=0.06)], [normal(states, 16)]),
    }


def gradients(case: Case) -> dict[str, Callable[[], list[Any]]]:
    """The gradient in all parameters, by each library."""
    ours = grad(lambda p, data: case.loss(np, p, data))
    functional = torch.func.grad(lambda p, data: case.loss(torch, p, data))

    def eager() -> list[Any]:
        leaves = [x.clone().requires_grad_() for x in case.parameters]
        return list(torch.autograd.grad(case.loss(torch, leaves, case.data), leaves))

    return {
        "shiftreset_ad": lambda: list(ours(case.parameters, case.data)),
        "PyTorch": eager,
        "torch.func": lambda: list(functional(case.parameters, case.data)),
    }


def clock_of(device: str) -> Callable[[], float]:
    """A clock that waits for the device; on the host, that of the processor."""
    if device == "cpu":
        return time.process_time

    def now() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return now


def options_of(description: str | None) -> argparse.ArgumentParser:
    """The options of a benchmark of tensors: the device, and the sizes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes that a host computes in a moment")
    return parser


def prepared(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, str]:
    """The given options, and the name of the device. The program ends if there is no such device."""
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.exit(2, "there is no graphics card that PyTorch can use; give --device cpu\n")
    torch.set_num_threads(1)
    return options, torch.cuda.get_device_name() if options.device == "cuda" else "the processor, one thread"


def require_agreement(programs: dict[str, Callable[[], list[Any]]]) -> None:
    """Raise AssertionError unless all libraries find the same gradients, up to the rounding of single precision."""
    expected = programs["PyTorch"]()
    for program in programs.values():
        for x, y in zip(program(), expected, strict=True):
            assert x.device == y.device
            torch.testing.assert_close(x, y, rtol=2e-3, atol=1e-3 * float(y.abs().max()))


def main() -> None:
    """Measure all programs, and print the times and the ratios."""
    options, name = prepared(options_of(__doc__))
    table = Table(
        *("program", "shiftreset_ad, ms", "PyTorch, ms", "torch.func, ms", "to PyTorch", "to torch.func"),
        title=f"gradients on {name}; overhead: us for each operation",
    )
    clock = clock_of(options.device)
    for title, case in cases(options.device, options.small or options.device == "cpu").items():
        programs = gradients(case)
        require_agreement(programs)
        times = best_of(ROUNDS, programs, clock)
        unit = 1e6 / case.operations if case.operations > 1 else 1e3
        figures = [f"{times[library] * unit:.3g}" for library in programs]
        ratios = [f"{times['shiftreset_ad'] / times[library]:.2f}" for library in ("PyTorch", "torch.func")]
        table.add_row(title, *figures, *ratios)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
