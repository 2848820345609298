"""A mixture of ten Gaussians with full covariances, fitted to 500 points in the plane.

The loss is minus the logarithm of the likelihood. A component is given by its mean and by a root of its inverse
covariance, so there are no constraints.
"""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import LOG_2_PI, log_softmax, logsumexp


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    points, dimensions, components = (8, 2, 3) if small else (500, 2, 10)
    parameters = {
        "scores": 0.1 * rng.normal(size=components),
        "means": 3.0 * rng.normal(size=(components, dimensions)),
        "roots": [[1.0, 0.0], [0.0, 1.0]] + 0.25 * rng.normal(size=(components, dimensions, dimensions)),
    }
    return parameters, 3.0 * rng.normal(size=(points, dimensions))


def loss(np: Any, parameters: Any, points: Any) -> Any:
    dimensions = points.shape[1]
    scores = log_softmax(np, parameters["scores"])
    logs = []
    for score, mean, root in zip(scores, parameters["means"], parameters["roots"], strict=True):
        z = (points - mean) @ root
        _, log_determinant = np.linalg.slogdet(root)
        logs.append(score + log_determinant - 0.5 * np.sum(z**2, axis=1) - 0.5 * dimensions * LOG_2_PI)
    return -np.sum(logsumexp(np, np.stack(logs), 0))
