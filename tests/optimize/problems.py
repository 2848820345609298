"""Problems with a parameter p whose solutions are known in closed form: what is found is to have their derivatives.

Each is a function of p and of the way through the solution, beside the answer as a function of p alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.optimize import (
    BFGS,
    Armijo,
    Box,
    GradientDescent,
    NewtonCG,
    Simplex,
    argmax,
    argmin,
    fixed_point,
    linear_solve,
    maximize,
    minimax,
    minimize,
    root,
)

A = np.array([[3.0, 1.0, 0.2], [1.0, 2.0, 0.5], [0.2, 0.5, 4.0]])
ROTATED = np.array([[3.0, 1.0, 0.0], [-1.0, 2.0, 1.0], [0.0, -0.5, 4.0]])
B = np.array([1.0, 2.0, 3.0])
I3 = np.eye(3)
GAME = np.array([[1.0, -2.0], [3.0, 0.5]])


class Known(NamedTuple):
    found: Callable[[Any, str], Any]
    answer: Callable[[Any], Any]
    p: float = 1.3
    lag: float = 1.0  # how many times less precise the derivatives of the rounds are than the rounds


PROBLEMS = {
    "a parabola": Known(lambda p, way: argmin(lambda x: (x - p**2) ** 2, 0.0, derivative=way), lambda p: p**2),
    "a quartic": Known(
        lambda p, way: argmin(lambda x: x**4 / 4 - p * x, 1.0, method=NewtonCG(), derivative=way), np.cbrt, 2.0
    ),
    "a logarithm": Known(lambda p, way: argmax(lambda x: p * np.log(x) - x, 1.1, derivative=way), lambda p: 1.0 * p),
    "a quadratic form": Known(
        lambda p, way: argmin(lambda x: 0.5 * x @ A @ x - np.sin(p) * x @ B, np.zeros(3), derivative=way),
        lambda p: np.linalg.solve(A, B) * np.sin(p),
    ),
    "ridge regression": Known(
        lambda p, way: argmin(
            lambda w: np.sum((ROTATED @ w - B) ** 2) + p * w @ w, np.zeros(3), method=BFGS(), derivative=way
        ),
        lambda p: np.linalg.solve(ROTATED.T @ ROTATED + p * I3, ROTATED.T @ B),
    ),
    "a structure of variables": Known(
        lambda p, way: argmin(
            lambda v: (v["a"] - p) ** 2 + np.sum((v["b"] - p * v["a"]) ** 2),
            {"a": 0.0, "b": np.zeros(2)},
            derivative=way,
        )["b"],
        lambda p: p**2 * np.ones(2),
    ),
    "gradient descent with Armijo's steps": Known(
        lambda p, way: argmin(lambda x: (x - p) ** 2 + p * x, 0.0, method=Armijo(), derivative=way), lambda p: 0.5 * p
    ),
    "the papers' line search": Known(
        lambda p, way: argmin(
            lambda x: 0.5 * x @ A @ x - np.sin(p) * x @ B,
            np.zeros(3),
            method=GradientDescent((-0.1, 0.1)),
            derivative=way,
        ),
        lambda p: np.linalg.solve(A, B) * np.sin(p),
        lag=100.0,
    ),
    "the value at a minimum": Known(
        lambda p, way: minimize(lambda x: x**2 - p**2 * x, 0.0, derivative=way).value, lambda p: -(p**4) / 4
    ),
    "the value at a maximum": Known(
        lambda p, way: maximize(lambda x: p * np.sum(x) - x @ A @ x, np.zeros(3), derivative=way).value,
        lambda p: p**2 / 4 * np.sum(np.linalg.inv(A)),
    ),
    "a box": Known(
        lambda p, way: argmin(
            lambda x: np.sum((x - p * B) ** 2), np.ones(3), constraint=Box(0.0, 3.0 * p**2 / 2), derivative=way
        ),
        lambda p: np.stack([p, np.minimum(2 * p, 3 * p**2 / 2), 3 * p**2 / 2]),
    ),
    "the value in a box": Known(
        lambda p, way: (
            minimize(lambda x: np.sum((x - p * B) ** 2), np.ones(3), constraint=Box(0.0, p**2), derivative=way).value
        ),
        lambda p: np.sum(np.maximum(p * B - p**2, 0.0) ** 2),
    ),
    "a simplex": Known(
        lambda p, way: argmin(
            lambda x: np.sum((x - np.array([0.0, 1.0, -5.0]) * p) ** 2),
            np.ones(3) / 3,
            constraint=Simplex(3.0 * p),
            derivative=way,
        ),
        lambda p: p * np.array([1.0, 2.0, 0.0]),
    ),
    "a cube root": Known(lambda p, way: root(lambda x: x**3 - p, 1.0, derivative=way), np.cbrt, 2.0),
    "two equations": Known(
        lambda p, way: root(lambda v: (v[0] * v[1] - p**2, v[0] - 4.0 * v[1]), (2.0, 1.0), derivative=way)[0],
        lambda p: 2.0 * p,
    ),
    "a fixed point": Known(
        lambda p, way: fixed_point(lambda x: 0.5 * (x + p / x), 1.0, derivative=way, method="iteration"), np.sqrt, 2.0
    ),
    "a linear fixed point": Known(
        lambda p, way: fixed_point(lambda x: 0.1 * p * A @ x + B, np.zeros(3), derivative=way, tolerance=1e-13),
        lambda p: np.linalg.solve(I3 - 0.1 * p * A, B),
    ),
    "linear equations": Known(
        lambda p, way: linear_solve(lambda x: ROTATED @ x + p * x, p**2 * B, derivative=way),
        lambda p: np.linalg.solve(ROTATED + p * I3, p**2 * B),
    ),
    "definite linear equations": Known(
        lambda p, way: linear_solve(lambda x: A @ x + p * x, p**2 * B, definite=True, derivative=way),
        lambda p: np.linalg.solve(A + p * I3, p**2 * B),
    ),
    "a saddle point": Known(
        lambda p, way: (
            minimax(
                lambda x, y: p * x @ x + x @ GAME @ y - y @ y + p**2 * np.sum(x),
                np.ones(2),
                np.zeros(2),
                derivative=way,
                tolerance=1e-11,
            ).x
        ),
        lambda p: np.linalg.solve(2 * p * np.eye(2) + GAME @ GAME.T / 2, -(p**2) * np.ones(2)),
    ),
    "the value at a saddle point": Known(
        lambda p, way: (
            minimax(
                lambda x, y: x**2 + p * x * y - y**2 + p * x,
                0.5,
                0.5,
                derivative=way,
                method="optimistic",
                tolerance=1e-11,
            ).value
        ),
        lambda p: -(p**2) / (4 + p**2),
    ),
    "a maximum inside a minimum": Known(
        lambda p, way: argmin(
            lambda x: maximize(lambda y: x * y * p - y**2 + (x - p) ** 2, 0.0, derivative=way, tolerance=1e-10).value,
            0.5,
            derivative=way,
        ),
        lambda p: p / (1 + p**2 / 4),
    ),
}
