"""Optimisers as functions: `(parameters, gradient, state) -> (parameters, state)`, all dicts of arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from weights import Arrays

Optimizer = Callable[[Arrays, Arrays, Arrays], tuple[Arrays, Arrays]]


def sgd(rate: float, momentum: float = 0.0, nesterov: bool = False, clip: float | None = None) -> Optimizer:
    """Gradient descent with momentum, v = momentum v + g; with `nesterov` a step along g + momentum v."""

    def step(parameters: Arrays, gradient: Arrays, state: Arrays) -> tuple[Arrays, Arrays]:
        new, velocities = {}, {}
        for name, x in parameters.items():
            g = gradient[name] if clip is None else np.clip(gradient[name], -clip, clip)
            if momentum:
                velocities[name] = v = momentum * state[name] + g if name in state else g
                g = g + momentum * v if nesterov else v
            new[name] = (x - rate * g).astype(x.dtype)
        return new, velocities

    return step


def adagrad(rate: float, clip: float = 1.0) -> Optimizer:
    """Each weight has its own rate, divided by the root of the sum of its squared gradients (Duchi et al. 2011)."""

    def step(parameters: Arrays, gradient: Arrays, state: Arrays) -> tuple[Arrays, Arrays]:
        new, squares = {}, {}
        for name, x in parameters.items():
            g = np.clip(gradient[name], -clip, clip)
            squares[name] = s = state.get(name, np.zeros_like(x)) + g * g
            new[name] = (x - rate * g / np.sqrt(s + 1e-8)).astype(x.dtype)
        return new, squares

    return step
