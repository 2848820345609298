"""Clusters: the squared distances of points to their nearest centres, and a Newton step of the centres.

Which centre is nearest has no derivative. The Hessian is diagonal, so its product with ones is the diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad, jvp, value


def cost(points: Any, centres: Any) -> Any:
    errors = points - centres[nearest(points, value(centres))]
    return np.sum(errors * errors)


def nearest(points: Any, centres: Any) -> Any:
    """The index of the nearest centre, for each point: the square of the point itself is the same for all centres."""
    distances = points @ (-2.0 * centres.T)
    distances += np.sum(centres * centres, axis=1)
    return np.argmin(distances, axis=1)


def newton_step(points: Any, centres: Any) -> Any:
    slope = grad(lambda centres: cost(points, centres))
    gradient, diagonal = jvp(slope, (centres,), (np.ones_like(centres),))
    return gradient / diagonal


def read(message: Any) -> tuple[Any, Any]:
    return np.array(message["points"]), np.array(message["centroids"])


FUNCTIONS = {"cost": Function(cost, read), "dir": Function(newton_step, read)}
