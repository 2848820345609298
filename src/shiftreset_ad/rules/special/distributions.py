"""Distribution functions and their inverses, by the incomplete gamma and beta functions.

SciPy rounds counts down, so a density is taken at the rounded count, and there is no derivative in counts. The inverses
in a count are inverses of functions of any real count.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.special.cumulative import Slopes, cumulative, inverse
from shiftreset_ad.rules.special.densities import beta_density, gamma_density
from shiftreset_ad.rules.special.exponentials import slope_of_exprel
from shiftreset_ad.rules.special.gamma_moments import slope_of_gammainc
from shiftreset_ad.rules.special.incomplete import slope_in_a, slope_in_b
from shiftreset_ad.rules.special.table import rule


def binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """The derivative in p of the probability of k successes or fewer in n trials."""
    return -beta_density(k + 1.0, n - k, p, 1.0 - p)


def negative_binomial_slope(k: Any, n: Any, p: Any) -> Any:
    return beta_density(n, k + 1.0, p, 1.0 - p)


CHI_SQUARED: Slopes = {
    "v": lambda v, x: 0.5 * slope_of_gammainc(0.5 * v, 0.5 * x),
    "x": lambda v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x),
}
SCALED_GAMMA: Slopes = {
    "a": lambda a, b, x: x * gamma_density(b, a * x),
    "b": lambda a, b, x: slope_of_gammainc(b, a * x),
    "x": lambda a, b, x: a * gamma_density(b, a * x),
}
COUNTED_POISSON: Slopes = {"k": None, "m": lambda k, m: -gamma_density(np.floor(k) + 1.0, m)}
POISSON: Slopes = {"k": lambda k, m: -slope_of_gammainc(k + 1.0, m), "m": lambda k, m: -gamma_density(k + 1.0, m)}
COUNTED_BINOMIAL: Slopes = {
    "k": None,
    "n": None,
    "p": lambda k, n, p: binomial_slope(np.floor(k), np.trunc(n), p),
}
BINOMIAL: Slopes = {
    "k": lambda k, n, p: slope_in_b(k + 1.0, n - k, p) - slope_in_a(k + 1.0, n - k, p),
    "n": lambda k, n, p: -slope_in_b(k + 1.0, n - k, p),
    "p": binomial_slope,
}
COUNTED_NEGATIVE_BINOMIAL: Slopes = {
    "k": None,
    "n": None,
    "p": lambda k, n, p: negative_binomial_slope(np.floor(k), n, p),
}
NEGATIVE_BINOMIAL: Slopes = {
    "k": lambda k, n, p: slope_in_b(n, k + 1.0, p),
    "n": lambda k, n, p: slope_in_a(n, k + 1.0, p),
    "p": negative_binomial_slope,
}

cumulative("chdtr", CHI_SQUARED)
cumulative("chdtrc", CHI_SQUARED, -1.0)
inverse("chdtri(v, y)", CHI_SQUARED, -1.0)
inverse("chdtriv(y, x)", CHI_SQUARED)
cumulative("gdtr", SCALED_GAMMA)
cumulative("gdtrc", SCALED_GAMMA, -1.0)
inverse("gdtria(y, b, x)", SCALED_GAMMA, x=lambda a, y, b, x: -a / x)
inverse("gdtrib(a, y, x)", SCALED_GAMMA)
inverse("gdtrix(a, b, y)", SCALED_GAMMA, a=lambda x, a, b, y: -x / a)
cumulative("pdtr", COUNTED_POISSON)
cumulative("pdtrc", COUNTED_POISSON, -1.0)
inverse("pdtri(k, y)", COUNTED_POISSON)
inverse("pdtrik(y, m)", POISSON, of_count=True)
cumulative("bdtr", COUNTED_BINOMIAL)
cumulative("bdtrc", COUNTED_BINOMIAL, -1.0)
inverse("bdtri(k, n, y)", COUNTED_BINOMIAL)
inverse("bdtrik(y, n, p)", BINOMIAL, of_count=True)
inverse("bdtrin(k, y, p)", BINOMIAL)
cumulative("nbdtr", COUNTED_NEGATIVE_BINOMIAL)
cumulative("nbdtrc", COUNTED_NEGATIVE_BINOMIAL, -1.0)
inverse("nbdtri(k, n, y)", COUNTED_NEGATIVE_BINOMIAL)
inverse("nbdtrik(y, n, p)", NEGATIVE_BINOMIAL, of_count=True)
inverse("nbdtrin(k, y, p)", NEGATIVE_BINOMIAL)


def tukey_density(p: Any, lmbda: Any) -> Any:
    """One over the derivative in p of the quantile (p**lmbda - (1 - p)**lmbda) / lmbda; 0 outside of the support."""
    inside = (p > 0) & (p < 1)
    p = np.where(inside, p, 0.5)
    return np.where(inside, 1.0 / (p ** (lmbda - 1.0) + (1.0 - p) ** (lmbda - 1.0)), 0.0)


def slope_of_tukey_quantile(p: Any, lmbda: Any) -> Any:
    """The derivative of the quantile in lmbda."""
    inside = (p > 0) & (p < 1)
    p = np.where(inside, p, 0.5)
    lower, upper = np.log(p), np.log1p(-p)
    return lower * lower * slope_of_exprel(lmbda * lower) - upper * upper * slope_of_exprel(lmbda * upper)


rule(
    "tklmbda(x, lmbda)",
    x=lambda p, x, lmbda: tukey_density(p, lmbda),
    lmbda=lambda p, x, lmbda: -tukey_density(p, lmbda) * slope_of_tukey_quantile(p, lmbda),
)
