"""`scipy.stats`, with our own distributions in place of distributions that make arrays of their arguments.

Their methods have the same arguments and the same values; nearly all of them call SciPy's. Densities, distribution
functions, `ppf`, `isf`, `mean`, `var` and `std` take numbers that are being differentiated, in `x`, `loc`, `scale` and
the parameters of the shape. Outside of the support, the derivative is 0. There is no derivative in a count, in a
quantile of a distribution of counts, and, except for densities, in the parameter `kappa` of `vonmises`. Everything else
is SciPy's own, and raises for such numbers.

`distribution` has the class of all distributions. `located` gives a method a location and a scale. `continuous` and
`discrete` make a distribution of one variable from the derivatives of its logarithmic density. `on_line`,
`on_half_line`, `on_interval` and `counts` have these distributions. `elliptical`, with `normal_density`, and
`dirichlet` have the distributions of several variables.

>>> import numpy as np
>>> from shiftreset_ad import grad
>>> grad(lambda mu: np.sum(norm.logpdf(np.array([1.0, 2.0]), loc=mu)))(0.0)
3.0
>>> print(f"{grad(gamma.cdf, argnums=1)(2.0, 1.0):.6f}")
-0.220825
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.scipy.forwarding import guarded
from shiftreset_ad.scipy.stats.counts import bernoulli, binom, geom, nbinom, poisson
from shiftreset_ad.scipy.stats.dirichlet import dirichlet
from shiftreset_ad.scipy.stats.distribution import Distribution
from shiftreset_ad.scipy.stats.distribution import stats as _scipy
from shiftreset_ad.scipy.stats.elliptical import multivariate_normal, multivariate_t
from shiftreset_ad.scipy.stats.on_half_line import chi2, expon, f, gamma, invgamma, lognorm, pareto, weibull_min
from shiftreset_ad.scipy.stats.on_interval import beta, truncnorm, uniform
from shiftreset_ad.scipy.stats.on_line import cauchy, gumbel_r, laplace, logistic, norm, t, vonmises

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "f",
    "gamma",
    "geom",
    "gumbel_r",
    "invgamma",
    "laplace",
    "logistic",
    "lognorm",
    "multivariate_normal",
    "multivariate_t",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "weibull_min",
]


def __getattr__(name: str) -> Any:
    attribute = getattr(_scipy, name)
    if hasattr(attribute, "rvs") and not isinstance(attribute, type):
        return Distribution(name, {})
    return guarded(attribute, f"scipy.stats.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_scipy)})
