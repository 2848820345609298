"""A step of the networks of `examples/networks/` with tensors of PyTorch on a graphics card, beside PyTorch.

python benchmarks/gpu_networks.py                        # on the card, the sizes of the paper
python benchmarks/gpu_networks.py --device cpu --small   # the same programs without a card

The parameters, the batch and the gradient are tensors on the device: the functions of `nn` call PyTorch's kernels
there. A step is the loss and its gradient. A time is that of the clock until the device has done all its work; the
memory is the most that tensors take during a step, beyond what is there before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networks
import networks_in_torch as theirs
import numpy as np
import torch
from gpu import clock_of, options_of, prepared
from networks import Program, deepspeech2, images, resnet50, speech, squeezenet, tree_lstm, trees
from rich.console import Console
from rich.table import Table
from timing import best_of

from shiftreset_ad import value_and_grad

ROUNDS = 5
MB = 1e6
Parameters = dict[str, Any]


def there(arrays: dict[str, Any], device: str) -> Parameters:
    """The arrays as tensors on the device."""
    return {name: torch.tensor(x, device=device) for name, x in arrays.items()}


def with_gradients(p: Parameters) -> dict[str, torch.Tensor]:
    """The parameters of PyTorch's program."""
    return {name: x.clone().requires_grad_() for name, x in p.items()}


def with_buffers(loss: Callable[..., Any], *data: Any) -> Callable[[Parameters], tuple[Any, Any]]:
    """The value and the gradient of a loss that gives new buffers, too."""
    step = value_and_grad(loss, has_aux=True)

    def ours(p: Parameters) -> tuple[Any, Any]:
        (value, _), gradient = step(p, *data)
        return value, gradient

    return ours


def programs(
    p: Parameters, theirs_of: Callable[[Any], torch.Tensor], ours: Callable[[Parameters], tuple[Any, Any]]
) -> dict[str, Program]:
    """A step by PyTorch and a step by us, each of which keeps its gradient until its next step."""
    q = with_gradients(p)
    return {
        "PyTorch": networks.stepping(q, lambda: theirs_of(q)),
        "shiftreset_ad": networks.holding(lambda: ours(p)),
    }


def of_images(module: Any, size: int, device: str, loss: Callable[..., torch.Tensor]) -> dict[str, Program]:
    """The programs of an image network."""
    p, buffers = (there(arrays, device) for arrays in module.initial())
    batch = images.Batch(*(torch.tensor(x, device=device) for x in next(images.batches(None, size))))
    return programs(p, lambda q: loss(q, list(batch)), with_buffers(module.loss, buffers, batch))


def of_speech(size: Any, count: int, time: int, device: str) -> dict[str, Program]:
    """The programs of DeepSpeech2."""
    p, buffers = (there(arrays, device) for arrays in deepspeech2.initial(size))
    batch = speech.synthetic(count, 1, time=time, frequencies=size.frequencies)[0]
    batch = batch._replace(
        inputs=torch.tensor(batch.inputs, device=device),
        labels=torch.tensor(batch.labels, device=device),
        shares=np.ones(count, np.float32),
    )
    ours = with_buffers(deepspeech2.loss_by(size), buffers, batch)
    q = with_gradients(p)
    layers = [layer.to(device) for layer in theirs.recurrent_layers(q, size)]
    given = [batch.inputs, batch.labels, torch.tensor(batch.lengths)]
    weights = {**q, **{f"{i}.{name}": w for i, layer in enumerate(layers) for name, w in layer.named_parameters()}}
    return {
        "PyTorch": networks.stepping(weights, lambda: theirs.deepspeech2_loss(q, layers, size, given)),
        "shiftreset_ad": networks.holding(lambda: ours(p)),
    }


def of_trees(count: int, device: str) -> dict[str, Program]:
    """The programs of the tree LSTM, by recursion. (By height it writes to arrays, which tensors do not have yet.)"""
    forest = trees.synthetic(count)
    vectors = there(tree_lstm.vectors_of(forest), device)
    step = value_and_grad(tree_lstm.loss_of)
    return programs(
        there(tree_lstm.initial()[0], device),
        lambda q: theirs.tree_loss(q, vectors, forest, trees.nodes),
        lambda p: step(p, vectors, forest),
    )


def cases(device: str, small: bool) -> dict[str, Callable[[], dict[str, Program]]]:
    """The networks, in the sizes of the paper or in small ones."""
    photos, sequences, time, grove = (2, 2, 200, 2) if small else (64, 32, 400, 20)
    size = deepspeech2.SMALL if small else deepspeech2.WHOLE
    return {
        f"SqueezeNet, {photos} images": lambda: of_images(
            squeezenet,
            photos,
            device,
            lambda q, given: theirs.squeezenet_loss(q, squeezenet.FIRES, squeezenet.POOLED_AFTER, given),
        ),
        f"ResNet50, {photos} images": lambda: of_images(
            resnet50, photos, device, lambda q, given: theirs.resnet50_loss(q, resnet50.blocks(), given)
        ),
        f"DeepSpeech2, {sequences} sequences": lambda: of_speech(size, sequences, time, device),
        f"tree LSTM, {grove} trees": lambda: of_trees(grove, device),
    }


def peak_of(program: Program, device: str) -> str:
    """The megabytes that tensors take during a step; nothing on the host, where nobody counts them."""
    if device == "cpu":
        return ""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    program()
    torch.cuda.synchronize()
    return f"{(torch.cuda.max_memory_allocated() - before) / MB:.3g}"


def main() -> None:
    """Measure all networks, and print times, ratios and memory."""
    parser = options_of(__doc__)
    parser.add_argument("--only", default="", help="the networks whose names have this text")
    given, name = prepared(parser)
    columns = "network", "program", "a step, ms", "ratio to PyTorch", "memory of a step, MB"
    table = Table(*columns, title=f"loss and gradient on {name}, PyTorch {torch.__version__}")
    for title, case in cases(given.device, given.small).items():
        if given.only not in title:
            continue
        found = case()
        values = [program() for program in found.values()]
        np.testing.assert_allclose(values, values[0], rtol=1e-3)
        peaks = [peak_of(program, given.device) for program in found.values()]
        times = best_of(ROUNDS, found, clock_of(given.device))
        for (program, seconds), peak in zip(times.items(), peaks, strict=True):
            table.add_row(title, program, f"{seconds * 1e3:.4g}", f"{seconds / times['PyTorch']:.2f}", peak)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
