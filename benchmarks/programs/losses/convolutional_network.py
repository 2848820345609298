"""LeNet: two layers of convolutions with pooling, and three dense ones, on a batch of 16 pictures of 28 by 28.

A convolution is the product of the shifted pictures, side by side, with a matrix.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.programs.formulas import log_softmax


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    if small:
        batch, side, width, maps, units = 2, 10, 3, (1, 2, 2), (2, 4, 3)
    else:
        batch, side, width, maps, units = 16, 28, 5, (1, 6, 16), (256, 120, 84, 10)
    filters = [rng.normal(size=(width * width * m, n)) / (width * m**0.5) for m, n in pairwise(maps)]
    dense = [(rng.normal(size=(m, n)) / m**0.5, 0.1 * rng.normal(size=n)) for m, n in pairwise(units)]
    pictures, labels = rng.uniform(size=(batch, side, side, 1)), rng.integers(units[-1], size=batch)
    return {"filters": filters, "dense": dense}, (pictures, labels)


def convolved(np: Any, x: Any, filters: Any) -> Any:
    """The convolutions of pictures, whose axes are batch, row, column and channel."""
    batch, rows, columns, channels = x.shape
    width = round((len(filters) / channels) ** 0.5)
    rows, columns = rows - width + 1, columns - width + 1
    shifted = [x[:, i : i + rows, j : j + columns] for i in range(width) for j in range(width)]
    patches = np.concatenate(shifted, axis=3).reshape(-1, len(filters))
    return (patches @ filters).reshape(batch, rows, columns, -1)


def pooled(np: Any, x: Any) -> Any:
    """The largest of each two by two."""
    batch, rows, columns, channels = x.shape
    return np.amax(x.reshape(batch, rows // 2, 2, columns // 2, 2, channels), axis=(2, 4))


def loss(np: Any, parameters: Any, data: Any) -> Any:
    x, labels = data
    for filters in parameters["filters"]:
        x = pooled(np, np.tanh(convolved(np, x, filters)))
    x = x.reshape(len(labels), -1)
    for weights, biases in parameters["dense"][:-1]:
        x = np.tanh(x @ weights + biases)
    weights, biases = parameters["dense"][-1]
    return -np.mean(log_softmax(np, x @ weights + biases)[np.arange(len(labels)), labels])
