"""Programs that more than one benchmark times, over a NumPy that they are given."""

from __future__ import annotations

from typing import Any


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def network(np: Any, parameters: Any, x: Any) -> Any:
    """A perceptron of 4, 8 and 1 units, with its 49 parameters in one vector, on a batch of 20."""
    w, b = np.reshape(parameters[:32], (4, 8)), parameters[32:40]
    return np.mean((np.tanh(x @ w + b) @ parameters[40:48] + parameters[48]) ** 2)
