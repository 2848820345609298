"""Distributions of counts. Distribution functions round the count down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.gamma import psi_gap
from shiftreset_ad.rules.special.incomplete import slope_in_a
from shiftreset_ad.rules.special.information import quotient
from shiftreset_ad.scipy.stats.discrete import Slopes, discrete
from shiftreset_ad.scipy.stats.distribution import Distribution

Slope = Callable[..., Any]


def one_less(k: Any, probability: Slope) -> Any:
    """The probability of the count before `k`."""
    return np.where(k > 0, probability(np.where(k > 0, k - 1.0, 0.0)), 0.0)


def of_whole(score: Slope) -> Slope:
    """The derivative of logpmf, from `(k, *shapes)`; 0 where the count is not whole, and so the probability is 0."""
    return lambda y, k, *shapes: np.where(k == np.floor(k), score(np.floor(k), *shapes), 0.0)


def of_functions(parameter: str, log_slope: Slope, sign: float = -1.0) -> Slopes:
    """The derivatives of the distribution functions in a parameter, from the derivative of cdf: the logarithm of its
    size at the rounded count, and its sign.
    """

    def slope(k: Any, shapes: Any) -> Any:
        return log_slope(np.floor(k), *shapes)

    return {
        "cdf": {parameter: lambda y, k, *shapes: sign * np.exp(slope(k, shapes))},
        "sf": {parameter: lambda y, k, *shapes: -sign * np.exp(slope(k, shapes))},
        "logcdf": {parameter: lambda y, k, *shapes: sign * np.exp(slope(k, shapes) - y)},
        "logsf": {parameter: lambda y, k, *shapes: -sign * np.exp(slope(k, shapes) - y)},
    }


poisson: Distribution = discrete(
    "poisson",
    ("mu",),
    {"mean": lambda mu: mu, "var": lambda mu: mu},
    {
        "pmf": {"mu": lambda y, k, mu: one_less(k, lambda k: poisson.pmf(k, mu)) - y},
        "logpmf": {"mu": of_whole(lambda k, mu: quotient(k, mu) - 1.0)},
        **of_functions("mu", lambda k, mu: poisson.logpmf(k, mu)),
    },
)


def fewer(n: Any) -> Any:
    """The number of trials minus one, but not less than 0."""
    return np.maximum(n - 1.0, 0.0)


def at_fewer(k: Any, n: Any, p: Any) -> Any:
    """n times the probability of k successes in n - 1 trials."""
    return n * binom.pmf(k, fewer(n), p)


def log_at_fewer(k: Any, n: Any, p: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(n) + binom.logpmf(k, fewer(n), p)


binom: Distribution = discrete(
    "binom",
    ("n", "p"),
    {"mean": lambda n, p: n * p, "var": lambda n, p: n * p * (1.0 - p)},
    {
        "pmf": {"p": lambda y, k, n, p: one_less(k, lambda k: at_fewer(k, n, p)) - at_fewer(k, n, p)},
        "logpmf": {"p": of_whole(lambda k, n, p: np.where(k <= n, quotient(k, p) - quotient(n - k, 1.0 - p), 0.0))},
        **of_functions("p", log_at_fewer),
    },
)
bernoulli: Distribution = discrete(
    "bernoulli",
    ("p",),
    {"mean": lambda p: p, "var": lambda p: p * (1.0 - p)},
    {
        "pmf": {"p": lambda y, k, p: np.where(k == 1, 1.0, np.where(k == 0, -1.0, 0.0)) + 0.0 * p},
        "logpmf": {"p": of_whole(lambda k, p: np.where(k <= 1, quotient(k, p) - quotient(1.0 - k, 1.0 - p), 0.0))},
        "cdf": {"p": lambda y, k, p: np.where(k < 1, -1.0, 0.0) + 0.0 * p},
        "sf": {"p": lambda y, k, p: np.where(k < 1, 1.0, 0.0) + 0.0 * p},
        "logcdf": {"p": lambda y, k, p: np.where(k < 1, -1.0 / (1.0 - p), 0.0)},
        "logsf": {"p": lambda y, k, p: np.where(k < 1, 1.0 / p, 0.0)},
    },
)


def powers(exponent: Any, p: Any) -> Any:
    """The power (1 - p)**exponent."""
    return np.power(1.0 - p, exponent)


geom: Distribution = discrete(
    "geom",
    ("p",),
    {"mean": lambda p: 1.0 / p, "var": lambda p: (1.0 - p) / (p * p)},
    {
        "pmf": {
            "p": lambda y, k, p: np.where(
                k == np.floor(k), powers(k - 1.0, p) - (k - 1.0) * p * powers(np.maximum(k - 2.0, 0.0), p), 0.0
            )
        },
        "logpmf": {"p": of_whole(lambda k, p: 1.0 / p - quotient(k - 1.0, 1.0 - p))},
        "cdf": {"p": lambda y, k, p: np.floor(k) * powers(np.floor(k) - 1.0, p)},
        "sf": {"p": lambda y, k, p: -np.floor(k) * powers(np.floor(k) - 1.0, p)},
        "logcdf": {"p": lambda y, k, p: np.floor(k) * powers(np.floor(k) - 1.0, p) * np.exp(-y)},
        "logsf": {"p": lambda y, k, p: -np.floor(k) / (1.0 - p)},
    },
    1.0,
)


def log_slope_of_nbinom(k: Any, n: Any, p: Any) -> Any:
    return np.log((n + k) / p) + nbinom.logpmf(k, n, p)


def with_slope_in_n(of_p: Slopes) -> Slopes:
    """The derivatives of the distribution functions, also in the number of successes, which need not be whole."""

    def slope(k: Any, n: Any, p: Any) -> Any:
        return slope_in_a(n, np.floor(k) + 1.0, p)

    of_n: dict[str, Slope] = {
        "cdf": lambda y, k, n, p: slope(k, n, p),
        "sf": lambda y, k, n, p: -slope(k, n, p),
        "logcdf": lambda y, k, n, p: slope(k, n, p) * np.exp(-y),
        "logsf": lambda y, k, n, p: -slope(k, n, p) * np.exp(-y),
    }
    return {method: {"n": of_n[method], **slopes} for method, slopes in of_p.items()}


nbinom: Distribution = discrete(
    "nbinom",
    ("n", "p"),
    {"mean": lambda n, p: n * (1.0 - p) / p, "var": lambda n, p: n * (1.0 - p) / (p * p)},
    {
        "pmf": {
            "n": lambda y, k, n, p: y * (psi_gap(n, k) + np.log(p)),
            "p": lambda y, k, n, p: n / p * (y - one_less(k, lambda k: nbinom.pmf(k, n + 1.0, p))),
        },
        "logpmf": {
            "n": of_whole(lambda k, n, p: psi_gap(n, k) + np.log(p)),
            "p": of_whole(lambda k, n, p: n / p - quotient(k, 1.0 - p)),
        },
        **with_slope_in_n(of_functions("p", log_slope_of_nbinom, 1.0)),
    },
)
