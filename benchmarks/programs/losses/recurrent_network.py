"""A recurrent network that predicts the next of 40 letters, on 32 texts of 40 letters."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.programs.formulas import log_softmax


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    steps, batch, letters, hidden = (4, 2, 3, 4) if small else (40, 32, 40, 64)
    parameters = {
        "start": 0.1 * rng.normal(size=hidden),
        "of letter": rng.normal(size=(letters, hidden)),
        "of state": rng.normal(size=(hidden, hidden)) / hidden**0.5,
        "biases": 0.1 * rng.normal(size=hidden),
        "out": rng.normal(size=(hidden, letters)) / hidden**0.5,
    }
    return parameters, rng.integers(letters, size=(steps + 1, batch))


def loss(np: Any, parameters: Any, texts: Any) -> Any:
    steps, batch = len(texts) - 1, texts.shape[1]
    state, total = parameters["start"], 0.0
    for letters, following in pairwise(texts):
        state = np.tanh(parameters["of letter"][letters] + state @ parameters["of state"] + parameters["biases"])
        total = total - np.sum(log_softmax(np, state @ parameters["out"])[np.arange(batch), following])
    return total / (steps * batch)
