"""The densities of the gamma and beta distributions.

Their large factors are cancelled before they are computed (Loader 2000, Fast and accurate computation of binomial
probabilities).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.table import special, times
from shiftreset_ad.rules.table import dispatched, structured

LARGE = 10.0
NEAR = 0.01  # so near to an end, the derivatives of a composite function cancel
HUGE = 1e300
LITTLE = 1e-9  # at 0, a power with the exponent -LITTLE is used in place of a logarithm; both are infinite
# The coefficients of 1 / a, 1 / a**3 and so on, by which the logarithm of gamma(a) differs from Stirling's formula
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def stirling_error(a: Any) -> Any:
    square = 1.0 / (a * a)
    total: Any = 0.0
    for coefficient in reversed(STIRLING):
        total = coefficient + square * total
    return total / a


def log_beta(a: Any, b: Any) -> Any:
    """The logarithm of beta(a, b), where a or b may be large: it does without `gammaln` of the large one."""
    small, large = np.minimum(a, b), np.maximum(a, b)
    stirling = large > LARGE
    rest, big = np.where(stirling, small, 1.0), np.where(stirling, large, LARGE)
    total = rest + big
    growth = (big - 0.5) * np.log1p(rest / big) + rest * (np.log(total) - 1.0)
    asymptotic = special.gammaln(rest) - growth - stirling_error(total) + stirling_error(big)
    return np.where(stirling, asymptotic, special.betaln(np.where(stirling, 1.0, a), np.where(stirling, 1.0, b)))


def anywhere(mask: Any) -> bool:
    return bool(mask.any() if isinstance(mask, np.ndarray | np.generic) else np.any(mask))


def scaled_power(x: Any, exponent: Any, scale: Any) -> Any:
    """x**exponent times exp(scale); one factor may be tiny and the other huge.

    Near 0 it has its own rule; elsewhere it is made of functions whose Taylor series take less time.
    """
    if anywhere(x < NEAR):
        return scaled_power_near_zero([x, exponent, scale])
    return np.exp(special.xlogy(exponent, x) + scale)


@dispatched
def scaled_power_near_zero(operands: list[Any]) -> Any:
    x, exponent, scale = operands
    return np.exp(special.xlogy(exponent, x) + scale)


@structured(scaled_power_near_zero, "operands", kept=("operands",))
def _scaled_power_near_zero(operands: list[Any]) -> Any:
    """The rule near 0. Where x is 0, derivatives are limits: the rules of exp and log would give 0 times infinity."""
    x, exponent, scale = operands
    y = scaled_power_near_zero(operands)

    def slope_in_x() -> Any:
        constant = (x == 0) & (exponent == 0)  # constant in x, but the derivative in the exponent is infinite
        power = scaled_power_near_zero([np.where(constant, 1.0, x), exponent - 1.0, scale])
        return exponent * np.where(constant, HUGE, power)

    def slope_in_exponent() -> Any:
        zero = x == 0
        limit = scaled_power_near_zero([np.where(zero, x, 1.0), exponent - LITTLE, scale])
        return np.where(zero, -limit, y * np.log(np.where(zero, 1.0, x)))

    return y, ([times(slope_in_x, x), times(slope_in_exponent, exponent), times(lambda: y, scale)],)


def gamma_density(a: Any, x: Any) -> Any:
    """x**(a - 1) exp(-x) / gamma(a)."""
    infinite = x == np.inf
    if anywhere(infinite):
        return np.where(infinite, 0.0, gamma_density(a, np.where(infinite, 1.0, x)))
    large = a > LARGE
    small_a, large_a = np.where(large, 1.0, a), np.where(large, a, LARGE)
    small = scaled_power(np.where(large, 1.0, x), small_a - 1.0, -x) * special.rgamma(small_a)
    excess = np.where(large, (x - large_a) / large_a, 0.0)
    left = excess < -0.5
    scale = special.xlog1py(large_a - 1.0, np.where(left, 0.0, excess)) - large_a * excess - stirling_error(large_a)
    power = scaled_power(np.where(left, x / large_a, 1.0), large_a - 1.0, scale)
    return np.where(large, power / np.sqrt(2.0 * math.pi * large_a), small)


def beta_density(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """x**(a - 1) rest**(b - 1) / beta(a, b), where `rest` is 1 - x."""
    large = (a > LARGE) & (b > LARGE)
    small_a, small_b = np.where(large, 1.0, a), np.where(large, 1.0, b)
    low = x <= 0.5
    # Compute with the smaller one of x and 1 - x, which may be tiny.
    part = np.where(large, 0.5, np.where(low, x, rest))
    of_part, of_other = np.where(low, small_a, small_b) - 1.0, np.where(low, small_b, small_a) - 1.0
    small = scaled_power(part, of_part, special.xlog1py(of_other, -part) - log_beta(small_a, small_b))
    large_a, large_b = np.where(large, a, LARGE), np.where(large, b, LARGE)
    both = large_a + large_b
    excess = np.where(large, x * large_b - rest * large_a, 0.0)  # (x - mode) times (a + b), without cancellation
    left, right = excess < -0.5 * large_a, excess > 0.5 * large_b
    share = np.where(left, x * both / large_a, np.where(right, rest * both / large_b, 1.0))
    of_share = np.where(left, large_a, large_b) - 1.0
    scale = (
        special.xlog1py(large_a - 1.0, np.where(left, 0.0, excess / large_a))
        + special.xlog1py(large_b - 1.0, np.where(right, 0.0, -excess / large_b))
        + stirling_error(both)
        - stirling_error(large_a)
        - stirling_error(large_b)
    )
    height = np.sqrt(both / (2.0 * math.pi) * (both / large_a) * (both / large_b))
    return np.where(large, height * scaled_power(share, of_share, scale), small)
