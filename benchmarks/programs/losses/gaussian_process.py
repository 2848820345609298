"""Regression by a Gaussian process on 150 points, with a length scale for each of five inputs.

The loss is minus the logarithm of the marginal likelihood, as a function of the logarithms of the hyper-parameters.
"""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import LOG_2_PI


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    points, inputs = (6, 2) if small else (150, 5)
    x = rng.normal(size=(points, inputs))
    y = x[:, 0] + 0.1 * rng.normal(size=points)
    return {"mean": 0.1, "scale": 0.2, "lengths": 0.5 * rng.normal(size=inputs), "noise": -1.0}, (x, y)


def loss(np: Any, parameters: Any, data: Any) -> Any:
    x, y = data
    points = len(y)
    scaled = x * np.exp(-parameters["lengths"])
    distances = np.sum((scaled[:, None, :] - scaled[None, :, :]) ** 2, axis=2)
    covariance = np.exp(parameters["scale"] - 0.5 * distances) + np.exp(parameters["noise"]) * np.eye(points)
    rest = y - parameters["mean"]
    _, log_determinant = np.linalg.slogdet(covariance)
    return 0.5 * (rest @ np.linalg.solve(covariance, rest) + log_determinant + points * LOG_2_PI)
