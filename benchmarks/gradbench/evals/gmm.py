"""The posterior of a mixture of Gaussians, with a Wishart prior on their precision matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.gradbench.function import Function
from shiftreset_ad import grad, value, zeros


def log_posterior(parameters: Any, x: Any, m: int, gamma: float) -> Any:
    """`x` has a column for each point, with a one at the end."""
    alpha, mu, q, lower = (parameters[name] for name in ("alpha", "mu", "q", "l"))
    n, (k, d) = x.shape[1], mu.shape
    factors, sums = triangular(q, lower), np.sum(q, axis=1)
    # The factors times the distances from the means, of all components by one product.
    maps = np.concatenate((factors, -factors @ mu[:, :, None]), axis=2)
    whitened = (maps.reshape(k * d, d + 1) @ x).reshape(k, d, n)
    terms = (alpha + sums)[:, None] - 0.5 * np.sum(whitened**2, axis=1)
    likelihood = np.sum(log_sum_exp(terms)) - n * (0.5 * d * math.log(2 * math.pi) + log_sum_exp(alpha))
    degrees = d + m + 1
    constant = k * (degrees * d * math.log(gamma / math.sqrt(2)) - log_gamma(degrees / 2, d))
    return likelihood + constant - 0.5 * gamma**2 * np.sum(factors**2) + m * np.sum(sums)


def triangular(q: Any, lower: Any) -> Any:
    """Lower triangular matrices, with the exponentials of `q` on the diagonals, and `lower` below, column by column."""
    k, d = q.shape
    factors = zeros((k, d, d))
    columns, rows = np.triu_indices(d, 1)
    factors[:, rows, columns] = lower
    factors[:, range(d), range(d)] = np.exp(q)
    return factors


def log_sum_exp(x: Any) -> Any:
    """Along the first axis. What is subtracted before and added after has no derivative."""
    largest = np.max(value(x), axis=0)
    return np.log(np.sum(np.exp(x - largest), axis=0)) + largest


def log_gamma(a: float, dimension: int) -> float:
    """The logarithm of the multivariate gamma function."""
    logarithms = sum(math.lgamma(a - j / 2) for j in range(dimension))
    return dimension * (dimension - 1) / 4 * math.log(math.pi) + logarithms


def read(message: Any) -> tuple[Any, ...]:
    parameters = {name: np.array(message[name], dtype=float) for name in ("alpha", "mu", "q", "l")}
    x = np.array(message["x"], dtype=float).T
    return parameters, np.concatenate((x, np.ones((1, x.shape[1])))), message["m"], message["gamma"]


FUNCTIONS = {"objective": Function(log_posterior, read), "jacobian": Function(grad(log_posterior), read)}
