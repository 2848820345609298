"""Distributions of positive numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.special.gamma import psi_gap
from shiftreset_ad.rules.special.gamma_moments import slope_of_gammainc
from shiftreset_ad.rules.special.information import quotient
from shiftreset_ad.rules.special.student import shares, slope_in_dfd, slope_in_dfn
from shiftreset_ad.rules.special.table import special
from shiftreset_ad.scipy.stats.continuous import Shape, continuous

HALF_LINE = (0.0, np.inf)


def x_log_x(x: Any) -> Any:
    """x log(x), and 0 at 0: for the power x = c**a of a constant c, it is a times the derivative of x in a."""
    safe = np.where(x > 0, x, 1.0)
    return safe * np.log(safe)


expon = continuous(
    "expon",
    HALF_LINE,
    lambda x: -1.0 + 0.0 * x,
    {"mean": lambda: 1.0, "var": lambda: 1.0},
    lower=lambda y, x: -np.exp(-x) / np.expm1(-x),
    upper=lambda y, x: -1.0 + 0.0 * x,
)
gamma = continuous(
    "gamma",
    HALF_LINE,
    lambda x, a: quotient(a - 1.0, x) - 1.0,
    {"mean": lambda a: a, "var": lambda a: a},
    lambda x, a: np.power(x, a - 1.0) * np.exp(-x) * special.rgamma(a),
    a=Shape(lambda x, a: np.log(x) - special.psi(a), lambda x, a: slope_of_gammainc(a, x)),
)
chi2 = continuous(
    "chi2",
    HALF_LINE,
    lambda x, df: quotient(0.5 * df - 1.0, x) - 0.5,
    {"mean": lambda df: df, "var": lambda df: 2.0 * df},
    lambda x, df: 0.5 * np.power(0.5 * x, 0.5 * df - 1.0) * np.exp(-0.5 * x) * special.rgamma(0.5 * df),
    df=Shape(
        lambda x, df: 0.5 * (np.log(0.5 * x) - special.psi(0.5 * df)),
        lambda x, df: 0.5 * slope_of_gammainc(0.5 * df, 0.5 * x),
    ),
)
invgamma = continuous(
    "invgamma",
    HALF_LINE,
    lambda x, a: (1.0 / x - (a + 1.0)) / x,
    {"mean": lambda a: 1.0 / (a - 1.0), "var": lambda a: 1.0 / ((a - 1.0) * (a - 1.0) * (a - 2.0))},
    lambda x, a: 0.0 * (x + a),
    a=Shape(lambda x, a: -np.log(x) - special.psi(a), lambda x, a: -slope_of_gammainc(a, 1.0 / x)),
)
lognorm = continuous(
    "lognorm",
    HALF_LINE,
    lambda x, s: -(1.0 + np.log(x) / (s * s)) / x,
    {"mean": lambda s: np.exp(0.5 * s * s), "var": lambda s: np.exp(s * s) * np.expm1(s * s)},
    lambda x, s: 0.0 * (x + s),
    s=Shape(lambda x, s: (np.square(np.log(x) / s) - 1.0) / s, speed=lambda x, s: x_log_x(x) / s),
)
weibull_min = continuous(
    "weibull_min",
    HALF_LINE,
    lambda x, c: quotient(c - 1.0, x) - c * np.power(x, c - 1.0),
    {
        "mean": lambda c: special.gamma(1.0 + 1.0 / c),
        "var": lambda c: special.gamma(1.0 + 2.0 / c) - np.square(special.gamma(1.0 + 1.0 / c)),
    },
    lambda x, c: c * np.power(x, c - 1.0) * np.exp(-np.power(x, c)),
    lower=lambda y, x, c: -c * np.power(x, c - 1.0) * np.exp(-np.power(x, c)) / np.expm1(-np.power(x, c)),
    upper=lambda y, x, c: -c * np.power(x, c - 1.0),
    c=Shape(lambda x, c: 1.0 / c + np.log(x) * (1.0 - np.power(x, c)), speed=lambda x, c: -x_log_x(x) / c),
)
pareto = continuous(
    "pareto",
    (1.0, np.inf),
    lambda x, b: -(b + 1.0) / x,
    {"mean": lambda b: b / (b - 1.0), "var": lambda b: b / ((b - 1.0) * (b - 1.0) * (b - 2.0))},
    upper=lambda y, x, b: -b / x,
    b=Shape(lambda x, b: 1.0 / b - np.log(x), speed=lambda x, b: -x_log_x(x) / b),
)


def of_fisher(x: Any, dfn: Any, dfd: Any) -> tuple[Any, Any, Any]:
    """Both shares, one of which is beta-distributed, and the common part of the derivatives in both parameters."""
    share, rest = shares(dfn, dfd, x)
    return share, rest, (1.0 - x) / (dfd + dfn * x)


def log_of_share(x: Any, dfn: Any, dfd: Any) -> Any:
    share, _, excess = of_fisher(x, dfn, dfd)
    return 0.5 * (np.log(share) + dfd * excess + psi_gap(0.5 * dfn, 0.5 * dfd))


def log_of_rest(x: Any, dfn: Any, dfd: Any) -> Any:
    _, rest, excess = of_fisher(x, dfn, dfd)
    return 0.5 * (np.log(rest) - dfn * excess + psi_gap(0.5 * dfd, 0.5 * dfn))


f = continuous(
    "f",
    HALF_LINE,
    lambda x, dfn, dfd: quotient(0.5 * dfn - 1.0, x) - 0.5 * (dfn + dfd) * dfn / (dfd + dfn * x),
    {
        "mean": lambda dfn, dfd: dfd / (dfd - 2.0) + 0.0 * dfn,
        "var": lambda dfn, dfd: 2.0 * np.square(dfd / (dfd - 2.0)) * (dfn + dfd - 2.0) / (dfn * (dfd - 4.0)),
    },
    lambda x, dfn, dfd: (
        np.power(dfn / dfd, 0.5 * dfn)
        * np.power(x, 0.5 * dfn - 1.0)
        * np.exp(-0.5 * (dfn + dfd) * np.log1p(dfn * x / dfd))
        / special.beta(0.5 * dfn, 0.5 * dfd)
    ),
    dfn=Shape(log_of_share, lambda x, dfn, dfd: slope_in_dfn(dfn, dfd, x)),
    dfd=Shape(log_of_rest, lambda x, dfn, dfd: slope_in_dfd(dfn, dfd, x)),
)
