"""`scipy.stats`, with distributions of ours in place of those that make arrays of their arguments.

Their methods have the same arguments, and the same values: those of one variable call SciPy's. They take numbers that
are being differentiated, in `x`, `loc`, `scale` and the parameters of the shape; outside of the support the derivative
is 0. Everything else is SciPy's own, and an error for such numbers.

>>> import numpy as np
>>> from shiftreset_ad import grad
>>> grad(lambda mu: np.sum(norm.logpdf(np.array([1.0, 2.0]), loc=mu)))(0.0)
3.0
>>> print(f"{grad(gamma.cdf, argnums=1)(2.0, 1.0):.6f}")
-0.220825
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.distributions import multivariate
from shiftreset_ad.distributions.of_scipy import Distribution, guarded
from shiftreset_ad.distributions.of_scipy import stats as _scipy
from shiftreset_ad.distributions.univariate import continuous, discrete
from shiftreset_ad.rules.special.gamma import psi_gap
from shiftreset_ad.rules.special.gamma_moments import slope_of_gammainc
from shiftreset_ad.rules.special.incomplete import slope_in_a, slope_in_b
from shiftreset_ad.rules.special.information import quotient
from shiftreset_ad.rules.special.normal import slope_of_log_ndtr
from shiftreset_ad.rules.special.student import slope_in_df
from shiftreset_ad.rules.special.table import special

__all__ = ["beta", "chi2", "dirichlet", "gamma", "multivariate_normal", "norm", "poisson", "t"]


def __getattr__(name: str) -> Any:
    attribute = getattr(_scipy, name)
    if hasattr(attribute, "rvs") and not isinstance(attribute, type):
        return Distribution(name, {})
    return guarded(attribute, f"scipy.stats.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_scipy)})


def student_slopes(x: Any, df: Any) -> tuple[Any, Any]:
    """The derivatives of the logarithm of Student's density, which is normal for infinite `df`."""
    finite = np.isfinite(df)
    safe = np.where(finite, df, 1.0)
    length = np.hypot(x, np.sqrt(safe))
    share = x / length
    of_x = np.where(finite, -(safe + 1.0) * share / length, -x)
    rest = ((safe + 1.0) * share * share - 1.0) / safe
    of_df = 0.5 * (psi_gap(0.5 * safe, 0.5) - 2.0 * np.log(length / np.sqrt(safe)) + rest)
    return of_x, np.where(finite, of_df, 0.0)


norm = continuous(
    "norm",
    (-np.inf, np.inf),
    lambda x: -x,
    hazards=(lambda y, x: slope_of_log_ndtr(y, x), lambda y, x: -slope_of_log_ndtr(y, -x)),
)
beta = continuous(
    "beta",
    (0.0, 1.0),
    lambda x, a, b: quotient(a - 1.0, x) - quotient(b - 1.0, 1.0 - x),
    lambda x, a, b: np.power(x, a - 1.0) * np.power(1.0 - x, b - 1.0) / special.beta(a, b),
    a=(lambda x, a, b: np.log(x) + psi_gap(a, b), lambda x, a, b: slope_in_a(a, b, x)),
    b=(lambda x, a, b: np.log1p(-x) + psi_gap(b, a), lambda x, a, b: slope_in_b(a, b, x)),
)
gamma = continuous(
    "gamma",
    (0.0, np.inf),
    lambda x, a: quotient(a - 1.0, x) - 1.0,
    lambda x, a: np.power(x, a - 1.0) * np.exp(-x) * special.rgamma(a),
    a=(lambda x, a: np.log(x) - special.psi(a), lambda x, a: slope_of_gammainc(a, x)),
)
chi2 = continuous(
    "chi2",
    (0.0, np.inf),
    lambda x, df: quotient(0.5 * df - 1.0, x) - 0.5,
    lambda x, df: 0.5 * np.power(0.5 * x, 0.5 * df - 1.0) * np.exp(-0.5 * x) * special.rgamma(0.5 * df),
    df=(
        lambda x, df: 0.5 * (np.log(0.5 * x) - special.psi(0.5 * df)),
        lambda x, df: 0.5 * slope_of_gammainc(0.5 * df, 0.5 * x),
    ),
)
t = continuous(
    "t",
    (-np.inf, np.inf),
    lambda x, df: student_slopes(x, df)[0],
    df=(lambda x, df: student_slopes(x, df)[1], lambda x, df: slope_in_df(df, x)),
)


def probability_below(k: Any, mu: Any) -> Any:
    """That of k - 1, of which and k the difference is the derivative in `mu`: at 0, too."""
    return np.where(k > 0, poisson.pmf(np.where(k > 0, k - 1.0, 0.0), mu), 0.0)


poisson: Distribution = discrete(
    "poisson",
    pmf={"mu": lambda y, k, mu: probability_below(k, mu) - y},
    logpmf={"mu": lambda y, k, mu: np.where(k == np.floor(k), quotient(k, mu) - 1.0, 0.0)},
    cdf={"mu": lambda y, k, mu: -poisson.pmf(np.floor(k), mu)},
    sf={"mu": lambda y, k, mu: poisson.pmf(np.floor(k), mu)},
    logcdf={"mu": lambda y, k, mu: -np.exp(poisson.logpmf(np.floor(k), mu) - y)},
    logsf={"mu": lambda y, k, mu: np.exp(poisson.logpmf(np.floor(k), mu) - y)},
)
dirichlet = Distribution("dirichlet", multivariate.DIRICHLET)
multivariate_normal = Distribution("multivariate_normal", multivariate.NORMAL)
