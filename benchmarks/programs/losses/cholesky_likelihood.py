"""A random field at 100 places, measured 20 times: its likelihood, by the Cholesky factor of its covariance.

The covariance falls with the distance, which is stretched and turned by a matrix.
"""

from __future__ import annotations

from typing import Any


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    places, fields = (4, 2) if small else (100, 20)
    parameters = {
        "stretch": [[1.0, 0.0], [0.0, 1.0]] + 0.1 * rng.normal(size=(2, 2)),
        "log_variance": 0.1,
        "log_noise": -2.0,
        "trend": 0.1 * rng.normal(size=3),
    }
    return parameters, (rng.uniform(-1.0, 1.0, size=(places, 2)), rng.normal(size=(places, fields)))


def loss(np: Any, parameters: Any, data: Any) -> Any:
    places, fields = data
    x = places @ parameters["stretch"]
    distances = np.sqrt(np.sum((x[:, None] - x[None, :]) ** 2, axis=2) + 1e-6)
    covariance = np.exp(parameters["log_variance"] - distances) + np.exp(parameters["log_noise"]) * np.eye(len(x))
    root = np.linalg.cholesky(covariance)
    trend = parameters["trend"][0] + places @ parameters["trend"][1:]
    z = np.linalg.solve(root, fields - trend[:, None])
    return 0.5 * np.sum(z**2) / fields.shape[1] + np.sum(np.log(np.diag(root)))
