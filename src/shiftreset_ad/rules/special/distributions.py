"""Distribution functions and their inverses, in the argument, and in parameters that only scale it.

Counts are rounded down by SciPy, so a density is that of the rounded count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.exponentials import slope_of_exprel
from shiftreset_ad.rules.special.incomplete import beta_density, gamma_density, log_beta
from shiftreset_ad.rules.special.table import rule


def student_density(df: Any, t: Any) -> Any:
    return np.exp(-0.5 * (df + 1.0) * np.log1p(t * t / df) - log_beta(0.5 * df, 0.5)) / np.sqrt(df)


def fisher_density(dfn: Any, dfd: Any, x: Any) -> Any:
    """x is beta-distributed after a change to dfn x / (dfd + dfn x)."""
    total = dfd + dfn * x
    return beta_density(0.5 * dfn, 0.5 * dfd, dfn * x / total, dfd / total) * (dfn / total) * (dfd / total)


def binomial_slope(k: Any, n: Any, p: Any) -> Any:
    """Minus the derivative in p of the probability of k successes or fewer in n trials."""
    k = np.floor(k)
    return beta_density(k + 1.0, np.trunc(n) - k, p, 1.0 - p)


def negative_binomial_slope(k: Any, n: Any, p: Any) -> Any:
    return beta_density(n, np.floor(k) + 1.0, p, 1.0 - p)


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


def inverse(density: Callable[..., Any], sign: float = 1.0) -> Callable[..., Any]:
    """The partial derivative of an inverse, whose last operand is the probability."""
    return lambda x, *operands: sign / density(*operands[:-1], x)


def half_density(df: Any, x: Any) -> Any:
    """That of a chi-squared variable."""
    return 0.5 * gamma_density(0.5 * df, 0.5 * x)


def poisson_slope(k: Any, m: Any) -> Any:
    return gamma_density(np.floor(k) + 1.0, m)


rule("chdtr(v, x)", x=lambda y, v, x: half_density(v, x))
rule("chdtrc(v, x)", x=lambda y, v, x: -half_density(v, x))
rule("chdtri(v, p)", p=inverse(half_density, -1.0))
rule("pdtr(k, m)", m=lambda y, k, m: -poisson_slope(k, m))
rule("pdtrc(k, m)", m=lambda y, k, m: poisson_slope(k, m))
rule("pdtri(k, y)", y=inverse(poisson_slope, -1.0))
for _name, _sign in (("gdtr", 1.0), ("gdtrc", -1.0)):
    rule(
        f"{_name}(a, b, x)",
        a=lambda y, a, b, x, sign=_sign: sign * x * gamma_density(b, a * x),
        x=lambda y, a, b, x, sign=_sign: sign * a * gamma_density(b, a * x),
    )
rule(
    "gdtrix(a, b, p)",
    a=lambda x, a, b, p: -x / a,
    p=lambda x, a, b, p: 1.0 / (a * gamma_density(b, a * x)),
)
rule(
    "gdtria(p, b, x)",
    p=lambda a, p, b, x: 1.0 / (x * gamma_density(b, a * x)),
    x=lambda a, p, b, x: -a / x,
)
rule("bdtr(k, n, p)", p=lambda y, k, n, p: -binomial_slope(k, n, p))
rule("bdtrc(k, n, p)", p=lambda y, k, n, p: binomial_slope(k, n, p))
rule("bdtri(k, n, y)", y=inverse(binomial_slope, -1.0))
rule("nbdtr(k, n, p)", p=lambda y, k, n, p: negative_binomial_slope(k, n, p))
rule("nbdtrc(k, n, p)", p=lambda y, k, n, p: -negative_binomial_slope(k, n, p))
rule("nbdtri(k, n, y)", y=inverse(negative_binomial_slope))
rule("stdtr(df, t)", t=lambda y, df, t: student_density(df, t))
rule("stdtrit(df, p)", p=inverse(student_density))
rule("fdtr(dfn, dfd, x)", x=lambda y, dfn, dfd, x: fisher_density(dfn, dfd, x))
rule("fdtrc(dfn, dfd, x)", x=lambda y, dfn, dfd, x: -fisher_density(dfn, dfd, x))
rule("fdtri(dfn, dfd, p)", p=inverse(fisher_density))
rule(
    "tklmbda(x, lmbda)",
    x=lambda p, x, lmbda: tukey_density(p, lmbda),
    lmbda=lambda p, x, lmbda: -tukey_density(p, lmbda) * slope_of_tukey_quantile(p, lmbda),
)
