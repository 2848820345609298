"""DeepSpeech2 (Amodei et al. 2016), as in Wang et al. (2019), section 5: 12,157,152 parameters, trained by CTC.

python examples/networks/deepspeech2.py --small
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import NamedTuple

import numpy as np
import speech
from optimizers import sgd
from training import begun, finish, options
from weights import Arrays, count, kaiming_uniform, ones, uniform, zeros

from shiftreset_ad import nn

PARAMETERS = 12_157_152


class Size(NamedTuple):
    """The sizes of a network: its first kernels, its channels, the states of its recurrent layers, and how many."""

    frequencies: int = speech.FREQUENCIES
    kernels: tuple[tuple[int, int], ...] = ((41, 11), (21, 11))
    strides: tuple[tuple[int, int], ...] = ((2, 2), (2, 1))
    channels: int = 32
    hidden: int = 1024
    layers: int = 3

    @property
    def features(self) -> int:
        """What the convolutions leave at each time."""
        left = self.frequencies
        for (kernel, _), (stride, _) in zip(self.kernels, self.strides, strict=True):
            left = (left - kernel) // stride + 1
        return self.channels * left


WHOLE = Size()
SMALL = Size(frequencies=41, kernels=((11, 5), (5, 3)), channels=8, hidden=48, layers=2)


def initial(size: Size = WHOLE, seed: int = 42) -> tuple[Arrays, Arrays]:
    """The first parameters, and the running statistics of the batch normalizations."""
    random = np.random.default_rng(seed)
    p, channels = {}, 1
    for i, kernel in enumerate(size.kernels):
        p[f"conv{i}"] = kaiming_uniform(random, (size.channels, channels, *kernel))
        channels = size.channels
    inputs = size.features
    for i in range(size.layers):
        for way in ("ahead", "back"):
            p[f"rnn{i}.{way}.x"] = uniform(random, (size.hidden, inputs), size.hidden)
            p[f"rnn{i}.{way}.h"] = uniform(random, (size.hidden, size.hidden), size.hidden)
            p[f"rnn{i}.{way}.x.bias"] = zeros(size.hidden)
            p[f"rnn{i}.{way}.h.bias"] = zeros(size.hidden)
        inputs = size.hidden
    p["last"] = uniform(random, (len(speech.ALPHABET), size.hidden), size.hidden)
    normalized = {**{f"conv{i}": size.channels for i in range(len(size.kernels))}, "last": size.hidden}
    for name, width in normalized.items():
        p |= {f"{name}.scale": ones(width), f"{name}.shift": zeros(width)}
    buffers = {f"{name}.mean": zeros(width) for name, width in normalized.items()}
    return p, buffers | {f"{name}.var": ones(width) for name, width in normalized.items()}


def log_probs(
    p: Arrays, buffers: Arrays, x: np.ndarray, shares: np.ndarray, size: Size, is_training: bool = False
) -> tuple[np.ndarray, np.ndarray, Arrays]:
    """Of spectrograms (batch, 1, frequencies, time): log probabilities (time', batch, 29), lengths, new statistics."""
    new: Arrays = {}

    def normalized(name: str, y: np.ndarray) -> np.ndarray:
        mean, var = buffers[f"{name}.mean"], buffers[f"{name}.var"]
        if not is_training:
            return nn.batch_norm(y, mean, var, p[f"{name}.scale"], p[f"{name}.shift"])
        y, mean, var = nn.batch_norm_in_training(y, mean, var, p[f"{name}.scale"], p[f"{name}.shift"])
        new.update({f"{name}.mean": mean, f"{name}.var": var})
        return y

    for i, stride in enumerate(size.strides):
        x = nn.hard_tanh(normalized(f"conv{i}", nn.conv(x, p[f"conv{i}"], stride=stride)), 0.0, 20.0)
    batch, _, _, time = x.shape
    lengths = np.ceil(shares * time).astype(np.int64)
    x = np.transpose(x, (3, 0, 1, 2)).reshape(time, batch, size.features)
    for i in range(size.layers):
        ahead, back = (
            nn.rnn(
                x,
                [p[f"rnn{i}.{way}.{part}"] for part in ("x", "h", "x.bias", "h.bias")],
                lengths=lengths,
                reverse=way == "back",
                nonlinearity="relu",
            )[0]
            for way in ("ahead", "back")
        )
        x = ahead + back
    x = normalized("last", x.reshape(time * batch, size.hidden))
    scores = nn.linear(x, p["last"]).reshape(time, batch, len(speech.ALPHABET))
    return nn.log_softmax(scores), lengths, new


def loss_by(size: Size):
    """The mean CTC loss of a batch, for networks of this size."""

    def loss(p: Arrays, buffers: Arrays, batch: speech.Batch) -> tuple[np.ndarray, Arrays]:
        found, lengths, new = log_probs(p, buffers, batch.inputs, batch.shares, size, is_training=True)
        return nn.ctc_loss(found, batch.labels, lengths, batch.lengths, zero_infinity=True), new

    return loss


def main() -> int:
    """Train."""
    parser = options(__doc__ or "", steps=8, batch=4)
    parser.add_argument("--small", action="store_true", help="a small network of the same kind")
    given = parser.parse_args()
    size = SMALL if given.small else WHOLE
    found = speech.read(given.data) if given.data else speech.synthetic(given.batch, 2, frequencies=size.frequencies)
    training = begun(lambda: initial(size), given.checkpoint)
    print(f"DeepSpeech2, {count(training.parameters):,} parameters")
    batches = islice(speech.over_and_over(found), given.steps)
    rate = 3e-3 if given.small else 3e-4
    training.run(loss_by(size), sgd(rate, momentum=0.9, nesterov=True, clip=400.0), batches, given)
    return finish(training, given.picture)


if __name__ == "__main__":
    sys.exit(main())
