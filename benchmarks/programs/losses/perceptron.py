"""A classifier of digits, with layers of 784, 200, 100 and 10 units, on a batch of 256 pictures of 28 by 28."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.programs.formulas import log_softmax, squares


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    batch, units = (5, (6, 4, 3)) if small else (256, (784, 200, 100, 10))
    layers = [
        {"weights": rng.normal(size=(m, n)) / m**0.5, "biases": 0.1 * rng.normal(size=n)} for m, n in pairwise(units)
    ]
    return layers, (rng.uniform(size=(batch, units[0])), rng.integers(units[-1], size=batch))


def loss(np: Any, layers: Any, data: Any) -> Any:
    x, labels = data
    for layer in layers[:-1]:
        x = np.tanh(x @ layer["weights"] + layer["biases"])
    logs = log_softmax(np, x @ layers[-1]["weights"] + layers[-1]["biases"])
    penalty = squares(np, [layer["weights"] for layer in layers])
    return -np.mean(logs[np.arange(len(labels)), labels]) + 1e-4 * penalty
