"""Distributions on the whole line, and von Mises's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.gamma import psi_gap
from shiftreset_ad.rules.special.normal import slope_of_log_ndtr
from shiftreset_ad.rules.special.student import slope_in_df
from shiftreset_ad.rules.special.table import special
from shiftreset_ad.scipy.stats.continuous import Shape, continuous

LINE = (-np.inf, np.inf)
LOG_ROOT_2PI = np.float64(0.5 * math.log(2.0 * math.pi))

norm = continuous(
    "norm",
    LINE,
    lambda x: -x,
    {"mean": lambda: 0.0, "var": lambda: 1.0},
    lower=lambda y, x: slope_of_log_ndtr(y, x),
    upper=lambda y, x: -slope_of_log_ndtr(y, -x),
    logpdf_of_finite=lambda x: -0.5 * (x * x) - LOG_ROOT_2PI,
)
laplace = continuous(
    "laplace",
    LINE,
    lambda x: -np.sign(x),
    {"mean": lambda: 0.0, "var": lambda: 2.0},
    lower=lambda y, x: laplace_hazard(x),
    upper=lambda y, x: -laplace_hazard(-x),
)
cauchy = continuous("cauchy", LINE, lambda x: -2.0 * x / (1.0 + x * x), {})
logistic = continuous(
    "logistic",
    LINE,
    lambda x: -np.tanh(0.5 * x),
    {"mean": lambda: 0.0, "var": lambda: math.pi**2 / 3.0},
    lower=lambda y, x: special.expit(-x),
    upper=lambda y, x: -special.expit(x),
)
gumbel_r = continuous(
    "gumbel_r",
    LINE,
    lambda x: np.expm1(-x),
    {"mean": lambda: np.euler_gamma, "var": lambda: math.pi**2 / 6.0},
    lower=lambda y, x: np.exp(-x),
    upper=lambda y, x: -1.0 / special.exprel(np.exp(-x)),
)


def laplace_hazard(x: Any) -> Any:
    """The derivative of logcdf: 1 on the left, and on the right exp(-x) / (2 - exp(-x))."""
    vanishing = np.exp(-np.maximum(x, 0.0))
    return vanishing / (2.0 - vanishing)


def student_slopes(x: Any, df: Any) -> tuple[Any, Any]:
    """The derivatives of the logarithm of Student's density; for infinite `df`, it is the normal density."""
    finite = np.isfinite(df)
    safe = np.where(finite, df, 1.0)
    length = np.hypot(x, np.sqrt(safe))
    share = x / length
    of_x = np.where(finite, -(safe + 1.0) * share / length, -x)
    rest = ((safe + 1.0) * share * share - 1.0) / safe
    of_df = 0.5 * (psi_gap(0.5 * safe, 0.5) - 2.0 * np.log(length / np.sqrt(safe)) + rest)
    return of_x, np.where(finite, of_df, 0.0)


t = continuous(
    "t",
    LINE,
    lambda x, df: student_slopes(x, df)[0],
    {"mean": lambda df: 0.0 * df, "var": lambda df: df / (df - 2.0)},
    df=Shape(lambda x, df: student_slopes(x, df)[1], lambda x, df: slope_in_df(df, x)),
)
# The distribution function has no closed form, so there is no derivative in kappa.
vonmises = continuous(
    "vonmises",
    LINE,
    lambda x, kappa: -kappa * np.sin(x),
    {},
    kappa=Shape(lambda x, kappa: np.cos(x) - special.i1e(kappa) / special.i0e(kappa)),
)
