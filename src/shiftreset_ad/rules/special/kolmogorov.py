"""The distributions of Kolmogorov and Smirnov, and their inverses.

Smirnov's distribution is a sum over counts (van Mulbregt 2018, Computing the cumulative distribution function and
quantiles of the one-sided Kolmogorov-Smirnov statistic). So is its derivative; each term has a binomial probability as
a factor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.densities import LARGE, stirling_error
from shiftreset_ad.rules.special.table import rule, special

SMALL, TINY, HUGE = 0.8, 0.02, 30.0  # below SMALL, another series; below TINY and above HUGE, the derivative is 0


def slope_of_kolmogorov(y: Any) -> Any:
    """The derivative, by the sum of (-1)**(k - 1) exp(-2 k**2 y**2); for small y, by Jacobi's theta transformation."""
    near, far = (y > TINY) & (y < SMALL), (y >= SMALL) & (y < HUGE)
    total_near: Any = 0.0
    total_far: Any = 0.0
    u = 1.0 / np.where(near, y, 1.0) ** 2
    for k in (3, 1):
        rate = k * k * math.pi**2 * 0.125
        total_near = total_near + np.exp(-rate * u) * u * (2.0 * rate * u - 1.0)
    v = np.where(far, y, 1.0)
    for k in range(6, 0, -1):
        total_far = total_far - (-1) ** k * k * k * np.exp(-2.0 * k * k * v * v)
    nothing = np.where(np.isnan(y), np.nan, 0.0)
    return np.where(near, -math.sqrt(2.0 * math.pi) * total_near, np.where(far, -8.0 * v * total_far, nothing))


def log_factorial_error(n: Any) -> Any:
    """The difference between the logarithm of n! and Stirling's formula, for a constant n > 0."""
    large, small = np.maximum(n, LARGE), np.minimum(n, LARGE)
    exact = special.gammaln(small + 1.0) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2.0 * math.pi)
    return np.where(n > LARGE, stirling_error(large), exact)


def slope_of_smirnov(n: Any, d: Any) -> Any:
    valid = (d >= 0) & (d <= 1) & (n >= 1)
    n, d = np.where(valid, np.trunc(n), 1.0), np.where(valid, d, 0.5)
    first = n * d <= 1
    at_first = np.where(first, d, 0.0)
    simple = -((1.0 + at_first) ** (n - 2.0)) * (1.0 + n * at_first)  # the derivative of 1 - d (1 + d)**(n - 1)
    d = np.where(first, 0.5, d)
    at_zero = np.where(d == 1, np.where(n == 1, 1.0, 0.0), (1.0 - np.where(d == 1, 0.5, d)) ** (n - 1.0))
    total = -n * at_zero + np.sum(terms_of_smirnov(np.expand_dims(n, -1), np.expand_dims(n * d, -1)), axis=-1)
    return np.where(valid, np.where(first, simple, total), np.nan)


def terms_of_smirnov(n: Any, y: Any) -> Any:
    """The derivatives of binom(n, j) d (d + j / n)**(j - 1) (1 - d - j / n)**(n - j) in d, for y = n d and j > 0."""
    j = np.arange(1.0, max(2.0, np.max(n, initial=2.0)))
    counts = j < n - y
    n, rest, y = np.where(counts, n, 2.0), np.where(counts, n - j, 1.0), np.where(counts, y, 0.5)
    j = np.where(counts, j, 1.0)
    error = log_factorial_error(n) - log_factorial_error(j) - log_factorial_error(rest)
    exponent = error + j * np.log1p(y / j) + rest * np.log1p(-y / rest)
    probability = np.sqrt(n / (2.0 * math.pi * j * rest)) * np.exp(exponent)
    left = rest - y
    return np.where(counts, n * probability * (j * left - n * y * y) / ((y + j) ** 2 * left), 0.0)


rule("kolmogorov(y)", y=lambda p, y: slope_of_kolmogorov(y))
rule("kolmogi(p)", p=lambda y, p: 1.0 / slope_of_kolmogorov(y))
rule("smirnov(n, d)", d=lambda p, n, d: slope_of_smirnov(n, d))
rule("smirnovi(n, p)", p=lambda d, n, p: 1.0 / slope_of_smirnov(n, d))
