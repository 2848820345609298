"""Robust regression: an adversary changes the table before the line is fitted.

The data are Brownlee's stack losses: the ammonia that a plant lost on 21 days, beside the flow of air, the temperature
of the water, and the concentration of the acid. The adversary may change all entries of the table, and the length of
all changes together is at most RADIUS. The weights must make the greatest error that the adversary can cause as small
as possible: a maximum inside a minimum.

El Ghaoui and Lebret (1997) have the answer: the greatest error is |A w - b| + RADIUS |w|. The weights are those of a
ridge regression with the penalty RADIUS |A w - b| / |w|. Here nothing of this is used to compute the weights.

    python examples/robust_regression.py
"""

from __future__ import annotations

import numpy as np
from known import compare
from scipy.optimize import brentq

from shiftreset_ad import grad, optimize

AIR = [80, 80, 75, 62, 62, 62, 62, 62, 58, 58, 58, 58, 58, 58, 50, 50, 50, 50, 50, 56, 70]
WATER = [27, 27, 25, 24, 22, 23, 24, 24, 23, 18, 18, 17, 18, 19, 18, 18, 19, 19, 20, 20, 20]
ACID = [89, 88, 90, 87, 87, 87, 93, 93, 87, 80, 89, 88, 82, 93, 89, 86, 72, 79, 80, 82, 91]
LOSS = [42, 37, 37, 28, 18, 18, 19, 20, 15, 14, 14, 13, 11, 12, 8, 7, 8, 8, 9, 15, 15]
RADIUS = 1.0


def standardised(columns: list[list[int]]) -> np.ndarray:
    """A table whose columns have the mean 0 and the standard deviation 1."""
    table = np.array(columns, float).T
    return (table - table.mean(axis=0)) / table.std(axis=0)


TABLE, TARGET = standardised([AIR, WATER, ACID]), standardised([LOSS])[:, 0]


def length(x: np.ndarray) -> float:
    """The Euclidean length of an array of any shape."""
    return np.sqrt(np.sum(x**2))


def greatest_error(weights: np.ndarray, radius: float) -> float:
    """The error after the worst changes that the adversary can make."""

    def within(changes: np.ndarray) -> np.ndarray:
        return changes * np.minimum(1.0, radius / length(changes))

    def error(changes: np.ndarray) -> float:
        return length((TABLE + changes) @ weights - TARGET)

    start = 1e-3 * np.outer(TABLE @ weights - TARGET, weights)
    return optimize.maximize(error, start, constraint=within, tolerance=1e-9).value


def robust_weights(radius: float) -> np.ndarray:
    """The weights whose greatest error is least."""
    plain = np.linalg.lstsq(TABLE, TARGET)[0]
    return optimize.argmin(lambda w: greatest_error(w, radius), plain, method="bfgs", tolerance=1e-6)


def ridge(penalty: float) -> np.ndarray:
    """The weights of a ridge regression."""
    return np.linalg.solve(TABLE.T @ TABLE + penalty * np.eye(3), TABLE.T @ TARGET)


def known_error(weights: np.ndarray) -> float:
    """The greatest error by El Ghaoui and Lebret."""
    return length(TABLE @ weights - TARGET) + RADIUS * length(weights)


def known_weights(radius: float) -> np.ndarray:
    """The weights by El Ghaoui and Lebret: ridge regression with the penalty that fits to its own answer."""
    return ridge(brentq(lambda p: p * length(ridge(p)) - radius * length(TABLE @ ridge(p) - TARGET), 0.0, 1e3))


def main() -> int:
    """Fit both ways, and compare."""
    weights, known = robust_weights(RADIUS), known_weights(RADIUS)
    plain = ridge(0.0)
    return compare(
        "stack losses by air, water and acid, with an adversary who changes the table",
        [
            ("weights", weights, known, 1e-5),
            ("greatest error", greatest_error(weights, RADIUS), known_error(known), 1e-6),
            ("... of plain weights", greatest_error(plain, RADIUS), known_error(plain), 1e-6),
            ("slope in the radius", grad(lambda r: greatest_error(weights, r))(RADIUS), length(known), 1e-5),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
