"""Student's and Fisher's distributions, by the rules of the beta distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.special.beta_moments import slope_of_betainc
from shiftreset_ad.rules.special.cumulative import Slopes, cumulative, inverse
from shiftreset_ad.rules.special.densities import beta_density, log_beta
from shiftreset_ad.rules.special.normal import density

MANY = 4e3  # degrees of freedom, where Fisher's expansion is exact for t**4 < MANY / 100
# The polynomials of t**2 that, times t, are the coefficients of 1 / df, 1 / df**2 and so on (Abramowitz and Stegun
# 26.7.8: Fisher's expansion about the normal distribution)
EXPANSION = (
    np.array([1.0, 1.0]) / 4,
    np.array([3.0, -7.0, -5.0, -3.0]) / 96,
    np.array([1.0, -11.0, 14.0, 6.0, -3.0, -15.0]) / 384,
    np.array([15.0, -375.0, 2225.0, -2141.0, -939.0, -213.0, -915.0, 945.0]) / 92160,
)


def student_density(df: Any, t: Any) -> Any:
    return np.exp(-0.5 * (df + 1.0) * np.log1p(t * t / df) - log_beta(0.5 * df, 0.5)) / np.sqrt(df)


def slope_in_df(df: Any, t: Any) -> Any:
    """The derivative in df. For many degrees of freedom it uses a series: the terms of the other formula cancel."""
    square = t * t
    normal = (df > MANY) & (square * square < 0.01 * df)
    u, many = np.where(normal, square, 0.0), np.where(normal, df, MANY)
    series: Any = 0.0
    for k in range(len(EXPANSION), 0, -1):
        polynomial: Any = 0.0
        for coefficient in EXPANSION[k - 1]:
            polynomial = polynomial * u + coefficient
        series = (series + k * polynomial) / many
    far = t * density(np.where(normal, t, 0.0)) * series / many
    df, t = np.where(normal, 1.0, df), np.where(normal, 1.0, t)
    total = df + t * t
    in_a = slope_of_betainc(0.5 * df, 0.5, df / total, t * (t / total))
    return np.where(normal, far, -0.25 * np.sign(t) * in_a - 0.5 * t / df * student_density(df, t))


def shares(dfn: Any, dfd: Any, x: Any) -> tuple[Any, Any]:
    """The beta-distributed variable, and 1 minus it."""
    total = dfd + dfn * x
    return dfn * x / total, dfd / total


def fisher_density(dfn: Any, dfd: Any, x: Any) -> Any:
    total = dfd + dfn * x
    return beta_density(0.5 * dfn, 0.5 * dfd, *shares(dfn, dfd, x)) * (dfn / total) * (dfd / total)


def slope_in_dfn(dfn: Any, dfd: Any, x: Any) -> Any:
    share, rest = shares(dfn, dfd, x)
    return 0.5 * slope_of_betainc(0.5 * dfn, 0.5 * dfd, share, rest) + x / dfn * fisher_density(dfn, dfd, x)


def slope_in_dfd(dfn: Any, dfd: Any, x: Any) -> Any:
    share, rest = shares(dfn, dfd, x)
    return -0.5 * slope_of_betainc(0.5 * dfd, 0.5 * dfn, rest, share) - x / dfd * fisher_density(dfn, dfd, x)


STUDENT: Slopes = {"df": slope_in_df, "t": student_density}
FISHER: Slopes = {"dfn": slope_in_dfn, "dfd": slope_in_dfd, "x": fisher_density}

cumulative("stdtr", STUDENT)
inverse("stdtrit(df, y)", STUDENT)
inverse("stdtridf(y, t)", STUDENT)
cumulative("fdtr", FISHER)
cumulative("fdtrc", FISHER, -1.0)
inverse("fdtri(dfn, dfd, y)", FISHER)
inverse("fdtridfd(dfn, y, x)", FISHER)
