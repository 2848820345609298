"""An LSTM that reads 32 sequences of 20 vectors of 16 numbers, and predicts a number after each vector."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import sigmoid

GATES = "forget", "input", "output", "change"


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    steps, batch, inputs, hidden = (3, 2, 2, 3) if small else (20, 32, 16, 64)
    parameters = {
        "weights": {gate: rng.normal(size=(inputs + hidden, hidden)) / (inputs + hidden) ** 0.5 for gate in GATES},
        "biases": {gate: 0.1 * rng.normal(size=hidden) for gate in GATES},
        "out": rng.normal(size=hidden) / hidden**0.5,
    }
    return parameters, (rng.normal(size=(steps, batch, inputs)), rng.normal(size=(steps, batch)))


def loss(np: Any, parameters: Any, data: Any) -> Any:
    sequences, targets = data
    weights, biases, out = parameters["weights"], parameters["biases"], parameters["out"]
    hidden, cell = np.zeros((targets.shape[1], len(out))), np.zeros((targets.shape[1], len(out)))
    total = 0.0
    for x, target in zip(sequences, targets, strict=True):
        both = np.concatenate((x, hidden), axis=1)
        forget, take, give = (sigmoid(np, both @ weights[gate] + biases[gate]) for gate in GATES[:3])
        cell = forget * cell + take * np.tanh(both @ weights["change"] + biases["change"])
        hidden = give * np.tanh(cell)
        total = total + np.mean((hidden @ out - target) ** 2)
    return total / len(targets)
