"""Black-box variational inference: the effects of coaching in eight schools, from 100 samples.

The posterior of ten unknowns is approximated by independent Gaussians. The loss is minus the evidence lower bound.
"""

from __future__ import annotations

from typing import Any

EFFECTS = 28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0
ERRORS = 15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    unknowns = len(EFFECTS) + 2
    parameters = {"means": rng.normal(size=unknowns), "log_stds": 0.1 * rng.normal(size=unknowns) - 1.0}
    return parameters, rng.normal(size=(3 if small else 100, unknowns))


def log_density(np: Any, samples: Any) -> Any:
    """The logarithm of the density of the unknowns and the data, for each sample."""
    mean, log_std, effects = samples[:, 0], samples[:, 1], samples[:, 2:]
    logs = -0.5 * (mean / 5.0) ** 2 - 0.5 * log_std**2
    for i, (effect, error) in enumerate(zip(EFFECTS, ERRORS, strict=True)):
        true = mean + np.exp(log_std) * effects[:, i]
        logs = logs - 0.5 * ((effect - true) / error) ** 2 - 0.5 * effects[:, i] ** 2
    return logs


def loss(np: Any, parameters: Any, noise: Any) -> Any:
    samples = parameters["means"] + np.exp(parameters["log_stds"]) * noise
    return -np.sum(parameters["log_stds"]) - np.mean(log_density(np, samples))
