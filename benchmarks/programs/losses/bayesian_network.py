"""A Bayesian neural network: a Gaussian for each weight, drawn ten times, on 100 points of a curve.

The weights are slices of one vector. The loss is minus the evidence lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    units, points, draws = ((1, 2, 1), 3, 2) if small else ((1, 20, 20, 1), 100, 10)
    count = sum((m + 1) * n for m, n in pairwise(units))
    x = rng.uniform(-2.0, 2.0, size=(points, 1))
    y = x**3 / 4.0 + 0.1 * rng.normal(size=(points, 1))
    parameters = {"means": rng.normal(size=count), "log_stds": 0.1 * rng.normal(size=count) - 3.0}
    return parameters, (list(units), x, y, rng.normal(size=(draws, count)))


def layers(weights: Any, units: list[int]) -> Iterator[tuple[Any, Any]]:
    """The weights and the biases of each layer, for all draws."""
    start = 0
    for m, n in pairwise(units):
        middle, end = start + m * n, start + (m + 1) * n
        yield weights[:, start:middle].reshape(-1, m, n), weights[:, middle:end].reshape(-1, 1, n)
        start = end


def loss(np: Any, parameters: Any, data: Any) -> Any:
    units, x, y, noise = data
    draws = parameters["means"] + np.exp(parameters["log_stds"]) * noise
    for i, (weights, biases) in enumerate(layers(draws, units)):
        x = (np.tanh(x) if i else x) @ weights + biases
    log_prior = -0.5 * np.sum(draws**2)
    log_likelihood = -0.5 * np.sum(((y - x) / 0.1) ** 2)
    return -(log_prior + log_likelihood) / len(noise) - np.sum(parameters["log_stds"])
