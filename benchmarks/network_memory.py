"""The peak of memory of a step of the networks of `examples/networks/`, beside the same network by PyTorch.

python benchmarks/network_memory.py

Each program runs in a process of its own. It runs twice, and all free memory goes back to the system. Then the figure
is how far resident memory grows in a third step: activations, gradients, and copies. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networks
import networks_in_torch as theirs
import torch
from rich.console import Console
from rich.table import Table

from shiftreset_ad import value_and_grad

MB = 1024  # kilobytes, in which the system counts
Programs = dict[str, Callable[[], Any]]


def with_checkpoints(module: Any, size: int) -> Callable[[], Any]:
    """The step of an image network that computes each of its modules again on the way back, by PyTorch's kernels."""
    p, buffers = module.initial()
    batch = next(networks.images.batches(None, size))
    is_residual = module is networks.resnet50

    def loss(p: Any) -> Any:
        if is_residual:
            found, _ = module.scores(p, buffers, batch.images, is_training=True, saves_memory=True)
        else:
            found = module.scores(p, batch.images, saves_memory=True)
        return networks.nn.cross_entropy(found, batch.labels), buffers

    step = value_and_grad(loss, has_aux=True)
    return networks.with_kernels("torch", lambda: step(p))


def of_images(module: Any, size: int, loss: Callable[..., Any]) -> Programs:
    """The programs of an image network, with checkpoints, too."""
    return {
        **networks.of_images(module, size, loss),
        "ours, PyTorch's kernels, checkpoints": with_checkpoints(module, size),
    }


def squeezenet(size: int) -> Programs:
    """SqueezeNet on so many images."""
    module = networks.squeezenet
    return of_images(module, size, lambda q, given: theirs.squeezenet_loss(q, module.FIRES, module.POOLED_AFTER, given))


def resnet50(size: int) -> Programs:
    """ResNet50 on so many images."""
    module = networks.resnet50
    return of_images(module, size, lambda q, given: theirs.resnet50_loss(q, module.blocks(), given))


CASES: dict[str, Callable[[], Programs]] = {
    "SqueezeNet, 8 images": lambda: squeezenet(8),
    "SqueezeNet, 64 images": lambda: squeezenet(64),
    "ResNet50, 4 images": lambda: resnet50(4),
    "ResNet50, 32 images": lambda: resnet50(32),
    "DeepSpeech2, small, 4 sequences": lambda: networks.of_speech(networks.deepspeech2.SMALL, 4, 200),
    "tree LSTM, 20 trees": lambda: networks.of_trees(20),
}


def resident(name: str) -> int:
    """A figure of the system's about the memory of this process, in kilobytes: "VmRSS" now, or "VmHWM" at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def growth(case: str, program: str, sender: Any) -> None:
    """Send how far resident memory grows in a step, in kilobytes."""
    torch.set_num_threads(1)
    step = CASES[case]()[program]
    for _ in range(2):
        step()
    for tensor in [x for x in gc.get_objects() if issubclass(type(x), torch.Tensor)]:
        tensor.grad = None  # PyTorch keeps the gradients until the next step, and so do we
    for kept in networks.KEPT:
        kept.clear()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    before = resident("VmRSS")
    step()
    sender.send(resident("VmHWM") - before)


def measured(case: str, program: str) -> int:
    """`growth`, in a process of its own."""
    spawning = multiprocessing.get_context("spawn")
    receiver, sender = spawning.Pipe(duplex=False)
    process = spawning.Process(target=growth, args=(case, program, sender))
    process.start()
    sender.close()
    try:
        return int(receiver.recv())
    finally:
        process.join()


def main() -> None:
    """Measure all networks, and print the peaks and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the networks whose names have this text")
    given = parser.parse_args()
    table = Table("network", "program", "peak, MB", "ratio to PyTorch", title="memory of a step")
    for case, make in CASES.items():
        if given.only in case:
            peaks = {program: measured(case, program) for program in make()}
            for program, peak in peaks.items():
                table.add_row(case, program, f"{peak / MB:.3g}", f"{peak / peaks['PyTorch']:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
