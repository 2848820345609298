"""SqueezeNet (Iandola et al. 2016) for CIFAR-10, as in Wang et al. (2019), section 5: 805,834 parameters.

python examples/networks/squeezenet.py
"""

from __future__ import annotations

import sys
from itertools import islice

import images
import numpy as np
from optimizers import sgd
from training import begun, finish, options
from weights import Arrays, count, kaiming_uniform, zeros

from shiftreset_ad import checkpoint, nn

PARAMETERS = 805_834
# A fire module squeezes the channels by a kernel of one element, and expands them by kernels of one and of nine.
FIRES = {
    "fire1": (96, 16, 64),
    "fire2": (128, 16, 64),
    "fire3": (128, 32, 128),
    "fire4": (256, 32, 128),
    "fire5": (256, 48, 192),
    "fire6": (384, 48, 192),
    "fire7": (384, 64, 256),
    "fire8": (512, 64, 256),
}
POOLED_AFTER = {"fire3", "fire7"}


def initial(seed: int = 42) -> tuple[Arrays, Arrays]:
    """The first parameters, and no buffers."""
    random = np.random.default_rng(seed)
    shapes = {"first": (96, 3, 3, 3)}
    for name, (inputs, squeezed, expanded) in FIRES.items():
        shapes[f"{name}.squeeze"] = (squeezed, inputs, 1, 1)
        shapes[f"{name}.expand1"] = (expanded, squeezed, 1, 1)
        shapes[f"{name}.expand3"] = (expanded, squeezed, 3, 3)
    parameters = {name: kaiming_uniform(random, shape) for name, shape in shapes.items()}
    parameters["last"] = random.normal(0.0, 0.01, (images.CLASSES, 512, 4, 4)).astype(np.float32)
    return parameters | {f"{name}.bias": zeros(len(w)) for name, w in parameters.items()}, {}


def fire(p: Arrays, name: str, x: np.ndarray) -> np.ndarray:
    """A fire module."""
    squeezed = nn.relu(nn.conv(x, p[f"{name}.squeeze"], p[f"{name}.squeeze.bias"]))
    one = nn.relu(nn.conv(squeezed, p[f"{name}.expand1"], p[f"{name}.expand1.bias"]))
    nine = nn.relu(nn.conv(squeezed, p[f"{name}.expand3"], p[f"{name}.expand3.bias"], padding=1))
    return np.concatenate([one, nine], axis=1)


def scores(p: Arrays, x: np.ndarray, saves_memory: bool = False) -> np.ndarray:
    """The scores (batch, 10) of images (batch, 3, 32, 32).

    To save memory, each module is computed again on the way back.
    """
    x = nn.max_pool(nn.relu(nn.conv(x, p["first"], p["first.bias"], padding=1)), 2)
    module = checkpoint(fire) if saves_memory else fire
    for name in FIRES:
        x = module({key: w for key, w in p.items() if key.startswith(name)}, name, x)
        if name in POOLED_AFTER:
            x = nn.max_pool(x, 2)
    return nn.conv(x, p["last"], p["last.bias"])[:, :, 0, 0]


def loss(p: Arrays, buffers: Arrays, batch: images.Batch) -> tuple[np.ndarray, Arrays]:
    """The mean cross entropy of a batch."""
    return nn.cross_entropy(scores(p, batch.images), batch.labels), buffers


def main() -> int:
    """Train."""
    given = options(__doc__ or "", steps=6, batch=8).parse_args()
    training = begun(initial, given.checkpoint)
    print(f"SqueezeNet, {count(training.parameters):,} parameters")
    batches = islice(images.batches(given.data, given.batch), given.steps)
    training.run(loss, sgd(0.005, momentum=0.9), batches, given)
    return finish(training, given.picture)


if __name__ == "__main__":
    sys.exit(main())
