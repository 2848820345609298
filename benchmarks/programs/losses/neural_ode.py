"""A neural differential equation: a network of 50 units is the velocity on a spiral, through 20 steps of Runge-Kutta.

Twenty paths start at measured points. The loss is their mean distance from the measurements, at each step.
"""

from __future__ import annotations

from typing import Any


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    hidden, paths, steps = (3, 2, 3) if small else (50, 20, 20)
    parameters = {
        "in": (rng.normal(size=(2, hidden)) / 2.0, 0.1 * rng.normal(size=hidden)),
        "out": (rng.normal(size=(hidden, 2)) / hidden**0.5, 0.1 * rng.normal(size=2)),
    }
    return parameters, (0.05, rng.normal(size=(paths, 2)), rng.normal(size=(steps, paths, 2)))


def loss(np: Any, parameters: Any, data: Any) -> Any:
    (weights, biases), (last_weights, last_biases) = parameters["in"], parameters["out"]

    def velocity(x: Any) -> Any:
        return np.tanh(x**3 @ weights + biases) @ last_weights + last_biases

    dt, x, measurements = data
    total = 0.0
    for measured in measurements:
        v1 = velocity(x)
        v2 = velocity(x + 0.5 * dt * v1)
        v3 = velocity(x + 0.5 * dt * v2)
        v4 = velocity(x + dt * v3)
        x = x + dt / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
        total = total + np.mean((x - measured) ** 2)
    return total / len(measurements)
