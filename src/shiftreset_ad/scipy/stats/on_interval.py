"""Distributions on an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.special.gamma import psi_gap
from shiftreset_ad.rules.special.incomplete import slope_in_a, slope_in_b
from shiftreset_ad.rules.special.information import quotient
from shiftreset_ad.rules.special.table import special
from shiftreset_ad.scipy.stats.continuous import Shape, continuous
from shiftreset_ad.scipy.stats.distribution import Distribution

beta = continuous(
    "beta",
    (0.0, 1.0),
    lambda x, a, b: quotient(a - 1.0, x) - quotient(b - 1.0, 1.0 - x),
    {
        "mean": lambda a, b: a / (a + b),
        "var": lambda a, b: a * b / ((a + b) * (a + b) * (a + b + 1.0)),
    },
    lambda x, a, b: np.power(x, a - 1.0) * np.power(1.0 - x, b - 1.0) / special.beta(a, b),
    a=Shape(lambda x, a, b: np.log(x) + psi_gap(a, b), lambda x, a, b: slope_in_a(a, b, x)),
    b=Shape(lambda x, a, b: np.log1p(-x) + psi_gap(b, a), lambda x, a, b: slope_in_b(a, b, x)),
)
uniform = continuous("uniform", (0.0, 1.0), lambda x: 0.0 * x, {"mean": lambda: 0.5, "var": lambda: 1.0 / 12.0})


# The truncated normal distribution: cdf has the derivatives -sf g(a) and -cdf g(b), with the densities g at its ends.


def speed_by_lower(x: Any, a: Any, b: Any) -> Any:
    return np.exp(truncnorm.logsf(x, a, b) + truncnorm.logpdf(a, a, b) - truncnorm.logpdf(x, a, b))


def speed_by_upper(x: Any, a: Any, b: Any) -> Any:
    return np.exp(truncnorm.logcdf(x, a, b) + truncnorm.logpdf(b, a, b) - truncnorm.logpdf(x, a, b))


def mean_of_truncnorm(a: Any, b: Any) -> Any:
    return truncnorm.pdf(a, a, b) - truncnorm.pdf(b, a, b)


def var_of_truncnorm(a: Any, b: Any) -> Any:
    """The variance. At an infinite end, the density times the end is 0, as the density vanishes faster."""
    lower, upper = (np.where(np.isfinite(end), end, 0.0) for end in (a, b))
    mean = mean_of_truncnorm(a, b)
    return 1.0 + lower * truncnorm.pdf(a, a, b) - upper * truncnorm.pdf(b, a, b) - mean * mean


truncnorm: Distribution = continuous(
    "truncnorm",
    (lambda a, b: a, lambda a, b: b),
    lambda x, a, b: -x,
    {"mean": mean_of_truncnorm, "var": var_of_truncnorm},
    a=Shape(lambda x, a, b: truncnorm.pdf(a, a, b), speed=speed_by_lower),
    b=Shape(lambda x, a, b: -truncnorm.pdf(b, a, b), speed=speed_by_upper),
)
