"""A recurrent network that predicts the next character: the loss of a text, and its gradient.

A layer reads the whole sequence before the next layer does. What depends on the sequence alone is computed for all
steps at once, and the loop over the steps has the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad


def layer(weight: Any, bias: Any, hidden: Any, cell: Any, x: Any) -> Any:
    """The hidden states after each element of `x`."""
    (forget_w, in_w, out_w, change_w), (forget_b, in_b, out_b, change_b) = np.split(weight, 4), np.split(bias, 4)
    forgets, outs = expit(x * forget_w + forget_b), expit(x * out_w + out_b)
    states = []
    for forget, out in zip(forgets, outs, strict=True):
        change = expit(hidden * in_w + in_b) * np.tanh(hidden * change_w + change_b)
        cell = cell * forget + change
        hidden = out * np.tanh(cell)
        states.append(hidden)
    return np.stack(states)


def loss(parameters: Any, state: Any, sequence: Any, layer: Callable[..., Any] = layer) -> Any:
    layers, (in_weight, out_weight, out_bias) = parameters
    x = sequence[:-1] * in_weight
    for i in range(0, len(state), 2):
        x = layer(layers[i], layers[i + 1], state[i], state[i + 1], x)
    predicted = x * out_weight + out_bias
    total = np.log(np.sum(np.exp(predicted), axis=1, keepdims=True) + 2.0)
    return -np.mean(sequence[1:] * (predicted - total))


def read(message: Any) -> tuple[Any, ...]:
    layers, extra, state, sequence = (
        np.array(message[name]) for name in ("main_params", "extra_params", "state", "sequence")
    )
    return (layers, extra), state, sequence


def write(gradient: Any) -> Any:
    return np.concatenate([part.ravel() for part in gradient]).tolist()


FUNCTIONS = {"objective": Function(loss, read), "jacobian": Function(grad(loss), read, write)}
