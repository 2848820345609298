"""A variational autoencoder of pictures of 28 by 28 pixels, with a code of 10 numbers, on a batch of 100.

The loss is minus the evidence lower bound. The encoder gives the mean and the logarithm of the deviation of a code, and
the noise is part of the data.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.programs.formulas import relu


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    batch, pixels, hidden, code = (3, 6, 4, 2) if small else (100, 784, 200, 10)

    def layers(*units: int) -> list[Any]:
        return [(rng.normal(size=(m, n)) / m**0.5, 0.1 * rng.normal(size=n)) for m, n in pairwise(units)]

    parameters = {"encoder": layers(pixels, hidden, 2 * code), "decoder": layers(code, hidden, pixels)}
    return parameters, ((rng.uniform(size=(batch, pixels)) > 0.5) * 1.0, rng.normal(size=(batch, code)))


def through(np: Any, layers: Any, x: Any) -> Any:
    (weights, biases), (last_weights, last_biases) = layers
    return relu(np, x @ weights + biases) @ last_weights + last_biases


def loss(np: Any, parameters: Any, data: Any) -> Any:
    pictures, noise = data
    batch, code = noise.shape
    encoded = through(np, parameters["encoder"], pictures)
    means, log_stds = encoded[:, :code], encoded[:, code:]
    scores = through(np, parameters["decoder"], means + np.exp(log_stds) * noise)
    log_likelihood = -np.sum(np.log1p(np.exp((1.0 - 2.0 * pictures) * scores)))
    divergence = 0.5 * np.sum(means**2 + np.exp(2.0 * log_stds) - 1.0 - 2.0 * log_stds)
    return (divergence - log_likelihood) / batch
