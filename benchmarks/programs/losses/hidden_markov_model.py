"""A hidden Markov model with 10 states and 20 symbols, fitted to 100 observations.

The loss is minus the logarithm of the likelihood, by the forward recursion on logarithms of probabilities.
"""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import log_softmax, logsumexp


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    states, symbols, steps = (2, 3, 5) if small else (10, 20, 100)
    parameters = {
        "start": rng.normal(size=states),
        "moves": rng.normal(size=(states, states)),
        "shows": rng.normal(size=(states, symbols)),
    }
    return parameters, [int(symbol) for symbol in rng.integers(symbols, size=steps)]


def loss(np: Any, parameters: Any, observations: Any) -> Any:
    moves, shows = log_softmax(np, parameters["moves"]), log_softmax(np, parameters["shows"])
    logs = log_softmax(np, parameters["start"]) + shows[:, observations[0]]
    for symbol in observations[1:]:
        logs = logsumexp(np, logs[:, None] + moves, 0) + shows[:, symbol]
    return -logsumexp(np, logs, 0)
