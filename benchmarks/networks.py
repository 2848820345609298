"""A step of the networks of `examples/networks/`: the loss and its gradient, beside the same network by PyTorch.

PyTorch's kernels use two threads, in PyTorch and in ours with `nn.kernels("torch")`; `--threads` gives another number.
All programs keep their gradients until their next step begins, as training does. Otherwise the C library would give the
memory back to the system after each step.

python benchmarks/networks.py
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networks_in_torch as theirs
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import nn, staged, value_and_grad

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "networks"))
import deepspeech2
import images
import resnet50
import speech
import squeezenet
import tree_lstm
import trees

Program = Callable[[], Any]
ROUNDS = 3
KEPT: list[list[Any]] = []  # what each of our programs holds


def of_torch(p: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The parameters as PyTorch's, with gradients."""
    return {name: torch.tensor(x, requires_grad=True) for name, x in p.items()}


def stepping(p: dict[str, torch.Tensor], loss: Callable[[], torch.Tensor]) -> Program:
    """A step by PyTorch."""

    def step() -> float:
        for x in p.values():
            x.grad = None
        value = loss()
        value.backward()
        return float(value.detach())

    return step


def holding(step: Callable[[], tuple[Any, Any]]) -> Program:
    """A step by us, of a value and a gradient, which are kept until the next step."""
    kept: list[Any] = []
    KEPT.append(kept)

    def program() -> float:
        kept.clear()
        kept.extend(step())
        return float(kept[0])

    return program


def with_kernels(library: str, step: Callable[[], tuple[Any, Any]]) -> Program:
    """The step, of a value with buffers and a gradient, with the convolutions of a library."""

    def program() -> tuple[Any, Any]:
        with nn.kernels(library):
            (value, _), gradient = step()
        return value, gradient

    return holding(program)


def of_images(module: Any, size: int, loss: Callable[..., torch.Tensor]) -> dict[str, Program]:
    """The programs of an image network."""
    p, buffers = module.initial()
    batch = next(images.batches(None, size))
    q, given = of_torch(p), [torch.tensor(batch.images), torch.tensor(batch.labels)]
    ours = value_and_grad(module.loss, has_aux=True)
    return {
        "PyTorch": stepping(q, lambda: loss(q, given)),
        "ours, PyTorch's kernels": with_kernels("torch", lambda: ours(p, buffers, batch)),
        "ours, NumPy alone": with_kernels("numpy", lambda: ours(p, buffers, batch)),
    }


def of_speech(size: Any, count: int, time: int) -> dict[str, Program]:
    """The programs of DeepSpeech2."""
    p, buffers = deepspeech2.initial(size)
    batch = speech.synthetic(count, 1, time=time, frequencies=size.frequencies)[0]
    batch = batch._replace(shares=np.ones(count, np.float32))
    q = of_torch(p)
    layers = theirs.recurrent_layers(q, size)
    given = [torch.tensor(batch.inputs), torch.tensor(batch.labels), torch.tensor(batch.lengths)]
    ours = value_and_grad(deepspeech2.loss_by(size), has_aux=True)
    return {
        "PyTorch": stepping(q, lambda: theirs.deepspeech2_loss(q, layers, size, given)),
        "ours, PyTorch's kernels": with_kernels("torch", lambda: ours(p, buffers, batch)),
        "ours, NumPy alone": with_kernels("numpy", lambda: ours(p, buffers, batch)),
    }


def of_trees(count: int, may_stage: bool = True) -> dict[str, Program]:
    """The programs of the tree LSTM. All trees are staged together, which takes a second and a half a tree."""
    forest = trees.synthetic(count)
    vectors = tree_lstm.vectors_of(forest)
    p, _ = tree_lstm.initial()
    q = of_torch(p)
    in_torch = {word: torch.tensor(x) for word, x in vectors.items()}
    one, batched = value_and_grad(tree_lstm.loss_of), value_and_grad(tree_lstm.batched_loss)
    programs = {
        "PyTorch": stepping(q, lambda: theirs.tree_loss(q, in_torch, forest, trees.nodes)),
        "ours": holding(lambda: one(p, vectors, forest)),
        "ours, batched": holding(lambda: batched(p, tree_lstm.scheduled(vectors, forest))),
    }
    if may_stage:
        together = staged(value_and_grad(lambda p: tree_lstm.loss_of(p, vectors, forest)))
        programs["ours, staged"] = holding(lambda: together(p))
    return programs


def of_all(steps: list[Any], p: dict[str, Any]) -> tuple[float, Any]:
    """The sum of the values of these steps, and their gradients."""
    answers = [step(p) for step in steps]
    return sum(float(value) for value, _ in answers), [gradient for _, gradient in answers]


def of_staged_trees(count: int) -> dict[str, Program]:
    """The programs of the tree LSTM on few trees, each of which is staged for itself."""
    forest = trees.synthetic(count)
    vectors = tree_lstm.vectors_of(forest)
    p, _ = tree_lstm.initial()
    q = of_torch(p)
    in_torch = {word: torch.tensor(x) for word, x in vectors.items()}
    steps = [value_and_grad(lambda p, tree=tree: tree_lstm.loss_of(p, vectors, [tree])) for tree in forest]
    staged_steps = list(map(staged, steps))
    return {
        "PyTorch": stepping(q, lambda: theirs.tree_loss(q, in_torch, forest, trees.nodes)),
        "ours": holding(lambda: of_all(steps, p)),
        "ours, staged": holding(lambda: of_all(staged_steps, p)),
    }


def main() -> None:
    """Measure all networks, and print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch")
    parser.add_argument("--processor", action="store_true", help="take the time of the processor, on a shared machine")
    parser.add_argument("--only", default="", help="the networks whose names have this text")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    clock = time.process_time if given.processor else time.perf_counter
    cases = {
        "SqueezeNet, 8 images": lambda: of_images(
            squeezenet,
            8,
            lambda q, given: theirs.squeezenet_loss(q, squeezenet.FIRES, squeezenet.POOLED_AFTER, given),
        ),
        "ResNet50, 4 images": lambda: of_images(
            resnet50, 4, lambda q, given: theirs.resnet50_loss(q, resnet50.blocks(), given)
        ),
        "DeepSpeech2, small, 4 sequences": lambda: of_speech(deepspeech2.SMALL, 4, 200),
        "tree LSTM, 20 trees": lambda: of_trees(20),
        "tree LSTM, 200 trees": lambda: of_trees(200, may_stage=False),
        "tree LSTM, 3 trees": lambda: of_staged_trees(3),
    }
    table = Table("network", "program", "a step, ms", "ratio to PyTorch", title="loss and gradient")
    for name, case in cases.items():
        if given.only not in name:
            continue
        programs = case()
        values = [program() for program in programs.values()]
        np.testing.assert_allclose(values, values[0], rtol=1e-3)
        times = best_of(ROUNDS, programs, clock)
        for program, seconds in times.items():
            table.add_row(name, program, f"{seconds * 1e3:.4g}", f"{seconds / times['PyTorch']:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
