"""The programs that more than one benchmark times, written once over each library's own operators, or its NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def scalar_chain(x: Any, operations: int) -> Any:
    """Multiplications and additions, one after the other, with a result that stays near 1."""
    y = x
    for _ in range(operations // 2):
        y = y * x + x
    return y


def array_chain(x: Any, w: Any, operations: int, tanh: Callable[[Any], Any]) -> Any:
    """tanh, multiply and add, one after the other, element by element; both `x` and `w` are differentiated."""
    y = x
    for _ in range(operations // 3):
        y = tanh(y) * w + x
    return y


def indexing_loop(x: Any) -> Any:
    """The sum of squares, read element by element."""
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[i]
    return total


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def network(np: Any, parameters: Any, x: Any) -> Any:
    """A perceptron of 4, 8 and 1 units, with its 49 parameters in one vector, on a batch of 20."""
    w, b = np.reshape(parameters[:32], (4, 8)), parameters[32:40]
    return np.mean((np.tanh(x @ w + b) @ parameters[40:48] + parameters[48]) ** 2)
