"""Formulas that several programs share, over the NumPy that they are given."""

from __future__ import annotations

import math
from typing import Any

LOG_2_PI = math.log(2.0 * math.pi)


def logsumexp(np: Any, x: Any, axis: int) -> Any:
    top = np.amax(x, axis=axis, keepdims=True)
    return np.squeeze(np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top, axis)


def log_softmax(np: Any, x: Any) -> Any:
    """The logarithms of the probabilities that the scores of the last axis stand for."""
    top = np.amax(x, axis=-1, keepdims=True)
    return x - top - np.log(np.sum(np.exp(x - top), axis=-1, keepdims=True))


def sigmoid(np: Any, x: Any) -> Any:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)


def relu(np: Any, x: Any) -> Any:
    return np.where(x > 0.0, x, 0.0)


def squares(np: Any, arrays: Any) -> Any:
    """The sum of the squares of all elements of several arrays."""
    return sum(np.sum(a**2) for a in arrays)
