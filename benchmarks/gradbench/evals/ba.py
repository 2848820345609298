"""Bundle adjustment: how far cameras see points from where they were seen, and the sparse Jacobian of it.

An observation has two errors, which depend on its own camera, point and weight alone. So two pullbacks, of ones for
the first errors and of ones for the second, have all derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import elementwise_grad, vjp

CAMERA, POINT = 11, 3
BLOCK = CAMERA + POINT + 1
SMALLEST = 1e-300  # in place of zero: sin(a)/a and the like are right there, and so are their derivatives


def reprojection_errors(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """The errors of all observations, `(2, p)`: components come first, as they do in the arguments."""
    x, y, z = rotate(camera[:3], point - camera[3:6])
    seen = np.stack((x / z, y / z))
    square = np.sum(seen * seen, axis=0)
    distortion = 1.0 + square * (camera[9] + square * camera[10])
    return weight * (seen * distortion * camera[6] + camera[7:9] - feature)


def rotate(axis: Any, x: Any) -> Any:
    """About the axis, by an angle that is its length."""
    square = np.maximum(np.sum(axis * axis, axis=0), SMALLEST)
    angle = np.sqrt(square)
    cosine = np.cos(angle)
    along = np.sum(axis * x, axis=0) * ((1.0 - cosine) / square)
    return x * cosine + np.cross(axis, x, axis=0) * (np.sin(angle) / angle) + axis * along


def weight_error(weight: Any) -> Any:
    return 1.0 - weight * weight


def objective(cameras: Any, points: Any, weights: Any, features: Any, observed: Any) -> Any:
    errors = reprojection_errors(cameras[:, observed[0]], points[:, observed[1]], weights, features)
    return errors.T.ravel(), weight_error(weights)


def jacobian(cameras: Any, points: Any, weights: Any, features: Any, observed: Any) -> Any:
    """Its rows, columns and values: the two rows of each observation, and then a row for each weight."""
    p, (by_camera, by_point) = len(weights), observed

    def errors(camera: Any, point: Any, weight: Any) -> Any:
        return reprojection_errors(camera, point, weight, features)

    _, pullback = vjp(errors, cameras[:, by_camera], points[:, by_point], weights)
    values = np.empty(31 * p)
    blocks = values[: 30 * p].reshape(p, 2, BLOCK)
    for i, seed in enumerate(np.eye(2)):
        camera, point, weight = pullback(np.repeat(seed[:, None], p, axis=1))
        blocks[:, i, :CAMERA], blocks[:, i, CAMERA:-1], blocks[:, i, -1] = camera.T, point.T, weight
    values[30 * p :] = elementwise_grad(weight_error)(weights)
    return *places(cameras.shape[1], points.shape[1], by_camera, by_point), values


def places(n: int, m: int, by_camera: Any, by_point: Any) -> Any:
    """Where the rows begin among the values, and the column of each value."""
    p = len(by_camera)
    ends = np.arange(0, 2 * BLOCK * p + 1, BLOCK), np.arange(2 * BLOCK * p + 1, 31 * p + 1)
    of_weights = CAMERA * n + POINT * m + np.arange(p)
    columns = np.empty(31 * p, dtype=np.int32)
    blocks = columns[: 30 * p].reshape(p, 2, BLOCK)
    blocks[:, :, :CAMERA] = (CAMERA * by_camera[:, None] + np.arange(CAMERA))[:, None, :]
    blocks[:, :, CAMERA:-1] = (CAMERA * n + POINT * by_point[:, None] + np.arange(POINT))[:, None, :]
    blocks[:, :, -1] = of_weights[:, None]
    columns[30 * p :] = of_weights
    return np.concatenate(ends), columns


def read(message: Any) -> tuple[Any, ...]:
    """The message has one camera, point, weight and feature: all are alike."""
    n, m, p = message["n"], message["m"], message["p"]
    parts = (("cam", n), ("x", m), ("feat", p))
    cameras, points, features = (np.repeat(np.array(message[name])[:, None], count, axis=1) for name, count in parts)
    return cameras, points, np.full(p, message["w"]), features, np.stack((np.arange(p) % n, np.arange(p) % m))


def write_errors(errors: Any) -> Any:
    reprojection, weight = errors
    return {
        "reproj_error": {"elements": reprojection[:2].tolist(), "repeated": len(reprojection) // 2},
        "w_err": {"element": float(weight[0]), "repeated": len(weight)},
    }


def write_matrix(matrix: Any) -> Any:
    """The first 30 elements of each list, and the last."""
    return {
        name: [*part[:30].tolist(), part[-1].item()]
        for name, part in zip(("rows", "cols", "vals"), matrix, strict=True)
    }


FUNCTIONS = {"objective": Function(objective, read, write_errors), "jacobian": Function(jacobian, read, write_matrix)}
