"""Waves on shallow water, 50 steps on a grid of 64 by 64, to find the bottom and the first heights.

The heights are in the cells, the velocities on the edges between cells, and the walls let nothing through. NumPy's way
is to write to the arrays. The other libraries have no derivative of this, and take the twin, which makes new arrays.
JAX is not timed compiled, as it had not compiled the unrolled loop of the twin after 100 seconds.
"""

from __future__ import annotations

from typing import Any

STEP = 0.1
WITHOUT = ("JAX, compiled",)


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    steps, side = (3, 4) if small else (50, 64)
    parameters = {"height": 0.1 * rng.normal(size=(side, side)), "depth": rng.uniform(0.5, 1.5, size=(side, side))}
    return parameters, (steps, 0.1 * rng.normal(size=(side, side)))


def edges(parameters: Any) -> tuple[Any, Any]:
    """The depth at the edges between rows and between columns."""
    depth = parameters["depth"]
    return 0.5 * (depth[1:] + depth[:-1]), 0.5 * (depth[:, 1:] + depth[:, :-1])


def loss(np: Any, parameters: Any, data: Any) -> Any:
    steps, measured = data
    between_rows, between_columns = edges(parameters)
    h = parameters["height"]
    u, v = np.zeros(between_rows.shape), np.zeros(between_columns.shape)
    row, column = np.zeros((1, h.shape[1])), np.zeros((h.shape[0], 1))
    for _ in range(steps):
        u = u - STEP * (h[1:] - h[:-1])
        v = v - STEP * (h[:, 1:] - h[:, :-1])
        down = np.concatenate((row, between_rows * u, row), axis=0)
        right = np.concatenate((column, between_columns * v, column), axis=1)
        h = h - STEP * (down[1:] - down[:-1] + right[:, 1:] - right[:, :-1])
    return np.mean((h - measured) ** 2)


def loss_in_place(np: Any, parameters: Any, data: Any) -> Any:
    steps, measured = data
    between_rows, between_columns = edges(parameters)
    h = parameters["height"].copy()
    u, v = np.zeros_like(between_rows), np.zeros_like(between_columns)
    for _ in range(steps):
        u -= STEP * (h[1:] - h[:-1])
        v -= STEP * (h[:, 1:] - h[:, :-1])
        down, right = STEP * between_rows * u, STEP * between_columns * v
        h[:-1] -= down
        h[1:] += down
        h[:, :-1] -= right
        h[:, 1:] += right
    return np.mean((h - measured) ** 2)
