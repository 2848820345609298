"""The densities of the gamma and beta distributions.

Large factors of them are cancelled before they are computed (Loader 2000, Fast and accurate computation of binomial
probabilities).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.table import special

LARGE = 10.0
# of 1 / a, 1 / a**3 and so on, in the logarithm of gamma(a) beside Stirling's formula
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def stirling_error(a: Any) -> Any:
    square = 1.0 / (a * a)
    total: Any = 0.0
    for coefficient in reversed(STIRLING):
        total = coefficient + square * total
    return total / a


def log_beta(a: Any, b: Any) -> Any:
    """The logarithm of beta(a, b), where one of them may be large: without gammaln of that."""
    small, large = np.minimum(a, b), np.maximum(a, b)
    stirling = large > LARGE
    rest, big = np.where(stirling, small, 1.0), np.where(stirling, large, LARGE)
    total = rest + big
    growth = (big - 0.5) * np.log1p(rest / big) + rest * (np.log(total) - 1.0)
    asymptotic = special.gammaln(rest) - growth - stirling_error(total) + stirling_error(big)
    return np.where(stirling, asymptotic, special.betaln(np.where(stirling, 1.0, a), np.where(stirling, 1.0, b)))


def gamma_density(a: Any, x: Any) -> Any:
    """x**(a - 1) exp(-x) / gamma(a)."""
    large = a > LARGE
    small_a, large_a = np.where(large, 1.0, a), np.where(large, a, LARGE)
    small = np.exp(special.xlogy(small_a - 1.0, np.where(large, 1.0, x)) - x) * special.rgamma(small_a)
    excess = np.where(large, (x - large_a) / large_a, 0.0)
    left = excess < -0.5
    exponent = (
        special.xlogy(large_a - 1.0, np.where(left, x / large_a, 1.0))
        + special.xlog1py(large_a - 1.0, np.where(left, 0.0, excess))
        - large_a * excess
        - stirling_error(large_a)
    )
    return np.where(large, np.exp(exponent) / np.sqrt(2.0 * math.pi * large_a), small)


def log_power(exponent: Any, x: Any, rest: Any) -> Any:
    """The logarithm of x**exponent, where `rest` is 1 - x, which may be tiny."""
    close = x > 0.5
    near = special.xlog1py(np.where(close, exponent, 0.0), -np.where(close, rest, 0.0))
    return near + special.xlogy(np.where(close, 0.0, exponent), np.where(close, 1.0, x))


def beta_density(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """x**(a - 1) rest**(b - 1) / beta(a, b), where `rest` is 1 - x."""
    large = (a > LARGE) & (b > LARGE)
    small_a, small_b = np.where(large, 1.0, a), np.where(large, 1.0, b)
    part, other = np.where(large, 0.5, x), np.where(large, 0.5, rest)
    exponent = log_power(small_a - 1.0, part, other) + log_power(small_b - 1.0, other, part)
    small = np.exp(exponent - log_beta(small_a, small_b))
    large_a, large_b = np.where(large, a, LARGE), np.where(large, b, LARGE)
    both = large_a + large_b
    excess = np.where(large, x * large_b - rest * large_a, 0.0)  # (x - mode) times both, and so without cancellation
    exponent = (
        special.xlog1py(large_a - 1.0, excess / large_a)
        + special.xlog1py(large_b - 1.0, -excess / large_b)
        + stirling_error(both)
        - stirling_error(large_a)
        - stirling_error(large_b)
    )
    scale = np.sqrt(both / (2.0 * math.pi) * (both / large_a) * (both / large_b))
    return np.where(large, scale * np.exp(exponent), small)
