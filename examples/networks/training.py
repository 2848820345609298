"""Training: the loop, with a bar, checkpoints on disk from which it goes on, and a picture of the loss."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from optimizers import Optimizer
from weights import Arrays

from shiftreset_ad import nn, value_and_grad

# `(parameters, buffers, batch) -> (loss, buffers)`; buffers are what is kept beside the parameters, such as the running
# statistics of batch normalization
Loss = Callable[[Arrays, Arrays, Any], tuple[Any, Arrays]]
EVERY = 10  # steps between checkpoints


def options(description: str, steps: int, batch: int) -> argparse.ArgumentParser:
    """The options that all programs have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=steps, help="steps to train")
    parser.add_argument("--batch", type=int, default=batch, help="examples in a batch")
    parser.add_argument("--data", type=Path, help="the data set; synthetic data otherwise")
    parser.add_argument(
        "--checkpoint", type=Path, help="a file, .npz, to which training is kept, and from which it goes on"
    )
    parser.add_argument("--picture", type=Path, help="a file to draw the loss to")
    parser.add_argument("--kernels", choices=("numpy", "torch"), default=fastest_kernels(), help="whose convolutions")
    return parser


def fastest_kernels() -> str:
    """Whose kernels compute convolutions quickest here."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return "numpy"
    return "torch"


class Training:
    """The state of training: parameters, buffers, the optimiser's state, and the losses so far."""

    def __init__(self, parameters: Arrays, buffers: Arrays | None = None) -> None:
        self.parameters = parameters
        self.buffers: Arrays = buffers or {}
        self.state: Arrays = {}
        self.losses: list[float] = []

    def save(self, file: Path) -> None:
        """Write everything to a file, whole or not at all."""
        groups = {"parameter": self.parameters, "buffer": self.buffers, "state": self.state}
        arrays = {f"{group}/{name}": x for group, found in groups.items() for name, x in found.items()}
        partial = file.with_name(f"{file.name}.partial")
        with partial.open("wb") as stream:
            np.savez(stream, losses=np.array(self.losses), **arrays)
        partial.replace(file)

    @classmethod
    def load(cls, file: Path) -> Training:
        """The state in a file."""
        groups: dict[str, Arrays] = {"parameter": {}, "buffer": {}, "state": {}}
        with np.load(file) as found:
            for key in found.files:
                group, _, name = key.partition("/")
                if group in groups:
                    groups[group][name] = found[key]
            training = cls(groups["parameter"], groups["buffer"])
            training.state, training.losses = groups["state"], found["losses"].tolist()
        return training

    def step(self, loss: Loss, optimizer: Optimizer, batch: Any) -> None:
        """Go one step along the gradient of the loss of a batch. ArithmeticError if the loss is not finite."""
        differentiated = value_and_grad(loss, has_aux=True)
        (value, self.buffers), gradient = differentiated(self.parameters, self.buffers, batch)
        if not np.isfinite(value):
            raise ArithmeticError(f"step {len(self.losses)}: the loss is {value}")
        self.parameters, self.state = optimizer(self.parameters, gradient, self.state)
        self.losses.append(float(value))

    def run(self, loss: Loss, optimizer: Optimizer, batches: Iterable[Any], given: argparse.Namespace) -> None:
        """Train on the batches, from the first that has not been used, with checkpoints if the user wants them."""
        done = len(self.losses)
        with nn.kernels(given.kernels), progress(given.steps) as show:
            for i, batch in enumerate(batches):
                if i < done or i >= given.steps:
                    continue
                self.step(loss, optimizer, batch)
                show(i + 1, self.losses[-1])
                if given.checkpoint and (i + 1 == given.steps or (i + 1) % EVERY == 0):
                    self.save(given.checkpoint)


def begun(parameters: Callable[[], tuple[Arrays, Arrays]], checkpoint: Path | None) -> Training:
    """Training from its checkpoint, if there is one, and otherwise from the first parameters."""
    if checkpoint is not None and checkpoint.exists():
        return Training.load(checkpoint)
    return Training(*parameters())


@contextmanager
def progress(steps: int) -> Iterator[Callable[[int, float], None]]:
    """Show how far it is: a bar by rich where it is installed, and lines otherwise."""
    try:
        from rich.progress import Progress
    except ImportError:
        yield lambda step, loss: print(f"step {step} of {steps}: loss {loss:.4f}")
        return
    with Progress() as bar:
        task = bar.add_task("training", total=steps)
        yield lambda step, loss: bar.update(task, completed=step, description=f"loss {loss:.4f}")


def finish(training: Training, picture: Path | None) -> int:
    """Print the first and the last losses, and draw all; 1 if the loss has not fallen, for the exit of a program."""
    losses = training.losses
    part = max(1, len(losses) // 4)
    first, last = float(np.mean(losses[:part])), float(np.mean(losses[-part:]))
    print(f"loss {first:.4f} at the beginning, {last:.4f} at the end of {len(losses)} steps")
    if picture is not None:
        draw(losses, picture)
    if len(losses) > 1 and last >= first:
        print("the loss HAS NOT FALLEN")
        return 1
    return 0


def draw(losses: list[float], picture: Path) -> None:
    """Draw the losses to a file. ImportError without matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="step", ylabel="loss")
    axes.plot(range(1, len(losses) + 1), losses, color="#1f5fa8")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=150)
    print(f"drawn in {picture}")
