"""A hyper-parameter by its gradient: the penalty of a ridge regression, through the fits that depend on it.

The data are Longley's: employment in the United States in 16 years, beside six columns that are nearly collinear. Each
year is left out once, the other years are fitted, and the error is that of the year left out. The fits are minima, and
the error is minimised over the penalty: a minimum around a minimum. The derivative of the fits is the implicit one.

Known: the error of all fits has a formula, by the leverage of each year. A scan over the penalty finds its minimum.

    python examples/hyper_parameters.py
"""

from __future__ import annotations

import numpy as np
from known import compare
from scipy.optimize import minimize_scalar

from shiftreset_ad import derivative, grad, optimize

# prices, product, unemployed, army, population, year; employed
LONGLEY = np.array(
    [
        [83.0, 234289, 2356, 1590, 107608, 1947, 60323],
        [88.5, 259426, 2325, 1456, 108632, 1948, 61122],
        [88.2, 258054, 3682, 1616, 109773, 1949, 60171],
        [89.5, 284599, 3351, 1650, 110929, 1950, 61187],
        [96.2, 328975, 2099, 3099, 112075, 1951, 63221],
        [98.1, 346999, 1932, 3594, 113270, 1952, 63639],
        [99.0, 365385, 1870, 3547, 115094, 1953, 64989],
        [100.0, 363112, 3578, 3350, 116219, 1954, 63761],
        [101.2, 397469, 2904, 3048, 117388, 1955, 66019],
        [104.6, 419180, 2822, 2857, 118734, 1956, 67857],
        [108.4, 442769, 2936, 2798, 120445, 1957, 68169],
        [110.8, 444546, 4681, 2637, 121950, 1958, 66513],
        [112.6, 482704, 3813, 2552, 123366, 1959, 68655],
        [114.2, 502601, 3931, 2514, 125368, 1960, 69564],
        [115.7, 518173, 4806, 2572, 127852, 1961, 69331],
        [116.9, 554894, 4007, 2827, 130081, 1962, 70551],
    ]
)
STANDARD = (LONGLEY - LONGLEY.mean(axis=0)) / LONGLEY.std(axis=0)
TABLE, TARGET = STANDARD[:, :-1], STANDARD[:, -1]
YEARS, COLUMNS = TABLE.shape
FITTED = 1.0 - np.eye(YEARS)  # a row for each fit: 0 for the year that is left out


def fits(log_penalty: float) -> np.ndarray:
    """The weights of all fits, a row for each year that is left out."""
    penalty = np.exp(log_penalty)

    def loss(weights: np.ndarray) -> float:
        return np.sum(FITTED * (weights @ TABLE.T - TARGET) ** 2) + penalty * np.sum(weights**2)

    return optimize.argmin(loss, np.zeros((YEARS, COLUMNS)), method="newton-cg", tolerance=1e-9)


def error(log_penalty: float) -> float:
    """The mean square of the errors of the years that were left out."""
    return np.mean((np.sum(fits(log_penalty) * TABLE, axis=1) - TARGET) ** 2)


def known_error(log_penalty: float) -> float:
    """The same by the leverages: an error of the fit to all years, over 1 - the leverage of its year."""
    hat = TABLE @ np.linalg.solve(TABLE.T @ TABLE + np.exp(log_penalty) * np.eye(COLUMNS), TABLE.T)
    return np.mean(((TARGET - hat @ TARGET) / (1.0 - np.diag(hat))) ** 2)


def main() -> int:
    """Choose the penalty both ways, and compare."""
    start = -1.0
    result = optimize.minimize(error, start, method="bfgs", tolerance=1e-7)
    known = minimize_scalar(known_error, bounds=(-12.0, 3.0), method="bounded", options={"xatol": 1e-9})
    return compare(
        "the penalty of a ridge regression on Longley's data",
        [
            ("error at the start", error(start), known_error(start), 1e-9),
            ("its first derivative", grad(error)(start), grad(known_error)(start), 1e-8),
            ("its second derivative", grad(grad(error))(start), derivative(known_error, 2)(start), 1e-7),
            ("the best penalty", np.exp(result.x), np.exp(known.x), 1e-5),
            ("the least error", result.value, known.fun, 1e-8),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
