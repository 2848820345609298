"""ResNet50 (He et al. 2016) for CIFAR-10, as in Wang et al. (2019), section 5: 23,520,842 parameters.

python examples/networks/resnet50.py
"""

from __future__ import annotations

import sys
from itertools import islice

import images
import numpy as np
from optimizers import sgd
from training import begun, finish, options
from weights import Arrays, count, kaiming_normal, ones, uniform, zeros

from shiftreset_ad import checkpoint, nn

PARAMETERS = 23_520_842
# For each stage: how many bottlenecks, their channels, and the stride of the first
STAGES = ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))
EXPANSION = 4


def blocks() -> list[tuple[str, int, int, int]]:
    """The name, the channels that come in, the channels inside, and the stride of each bottleneck."""
    found, inputs = [], 64
    for stage, (number, channels, stride) in enumerate(STAGES, 1):
        for block in range(number):
            found.append((f"stage{stage}.{block}", inputs, channels, stride if block == 0 else 1))
            inputs = EXPANSION * channels
    return found


def initial(seed: int = 42) -> tuple[Arrays, Arrays]:
    """The first parameters, and the running statistics of the batch normalizations."""
    random = np.random.default_rng(seed)
    shapes = {"first": (64, images.CHANNELS, 3, 3)}
    for name, inputs, channels, stride in blocks():
        shapes[f"{name}.narrow"] = (channels, inputs, 1, 1)
        shapes[f"{name}.middle"] = (channels, channels, 3, 3)
        shapes[f"{name}.widen"] = (EXPANSION * channels, channels, 1, 1)
        if stride > 1 or inputs != EXPANSION * channels:
            shapes[f"{name}.shortcut"] = (EXPANSION * channels, inputs, 1, 1)
    parameters = {name: kaiming_normal(random, shape) for name, shape in shapes.items()}
    buffers = {}
    for name, shape in shapes.items():
        parameters |= {f"{name}.scale": ones(shape[0]), f"{name}.shift": zeros(shape[0])}
        buffers |= {f"{name}.mean": zeros(shape[0]), f"{name}.var": ones(shape[0])}
    last = 512 * EXPANSION
    parameters |= {"last": uniform(random, (images.CLASSES, last), last), "last.bias": zeros(images.CLASSES)}
    return parameters, buffers


class Layer:
    """A convolution and a batch normalization by their name; `buffers` gets the new running statistics in training."""

    def __init__(self, p: Arrays, buffers: Arrays, is_training: bool) -> None:
        self.p, self.old, self.is_training = p, buffers, is_training
        self.buffers: Arrays = {}

    def __call__(self, name: str, x: np.ndarray, stride: int = 1, padding: int = 0) -> np.ndarray:
        p, old = self.p, self.old
        y = nn.conv(x, p[name], stride=stride, padding=padding)
        scale, shift, mean, var = p[f"{name}.scale"], p[f"{name}.shift"], old[f"{name}.mean"], old[f"{name}.var"]
        if not self.is_training:
            return nn.batch_norm(y, mean, var, scale, shift)
        y, mean, var = nn.batch_norm_in_training(y, mean, var, scale, shift)
        self.buffers |= {f"{name}.mean": mean, f"{name}.var": var}
        return y


def bottleneck(
    p: Arrays, buffers: Arrays, name: str, x: np.ndarray, stride: int, is_training: bool
) -> tuple[np.ndarray, Arrays]:
    """A bottleneck, and its new running statistics."""
    layer = Layer(p, buffers, is_training)
    y = nn.relu(layer(f"{name}.narrow", x))
    y = nn.relu(layer(f"{name}.middle", y, stride, padding=1))
    y = layer(f"{name}.widen", y)
    shortcut = layer(f"{name}.shortcut", x, stride) if f"{name}.shortcut" in p else x
    return nn.relu(y + shortcut), layer.buffers


def scores(
    p: Arrays, buffers: Arrays, x: np.ndarray, is_training: bool = False, saves_memory: bool = False
) -> tuple[np.ndarray, Arrays]:
    """The scores (batch, 10) of images (batch, 3, 32, 32), and the new running statistics.

    To save memory, each bottleneck is computed again on the way back.
    """
    layer = Layer(p, buffers, is_training)
    x = nn.max_pool(nn.relu(layer("first", x, padding=1)), 2)
    new, module = layer.buffers, checkpoint(bottleneck) if saves_memory else bottleneck
    for name, _, _, stride in blocks():
        of_block = {key: w for key, w in p.items() if key.startswith(f"{name}.")}
        x, found = module(of_block, buffers, name, x, stride, is_training)
        new |= found
    x = nn.average_pool(x, 2, stride=1)
    return nn.linear(x.reshape(len(x), -1), p["last"], p["last.bias"]), new


def loss(p: Arrays, buffers: Arrays, batch: images.Batch) -> tuple[np.ndarray, Arrays]:
    """The mean cross entropy of a batch, and the new running statistics."""
    found, new = scores(p, buffers, batch.images, is_training=True)
    return nn.cross_entropy(found, batch.labels), new


def main() -> int:
    """Train."""
    given = options(__doc__ or "", steps=8, batch=8).parse_args()
    training = begun(initial, given.checkpoint)
    print(f"ResNet50, {count(training.parameters):,} parameters")
    batches = islice(images.batches(given.data, given.batch), given.steps)
    rate = 0.005 * min(1.0, given.batch / 64)  # the paper's rate is for 64 images
    training.run(loss, sgd(rate), batches, given)
    return finish(training, given.picture)


if __name__ == "__main__":
    sys.exit(main())
