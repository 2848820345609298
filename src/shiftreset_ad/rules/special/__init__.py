"""The functions of `scipy.special`, a table for each family; `rules.late` enters them once SciPy is imported.

The partial derivatives are written with functions that have rules, also those of `scipy.special`, so they hold to any
order. They have SciPy's own accuracy, also where a textbook formula would cancel: far out in the tails, and where a
formula is 0 / 0.
"""

from shiftreset_ad.rules.special import (
    airy,
    bessel,
    carlson,
    degrees,
    distributions,
    elliptic,
    error_functions,
    exponentials,
    gamma,
    hypergeometric,
    incomplete,
    information,
    integrals,
    kolmogorov,
    legendre,
    logistic,
    mathieu,
    normal,
    polynomials,
    spherical,
    spheroidal,
    student,
    zeta,
)

__all__ = [
    "airy",
    "bessel",
    "carlson",
    "degrees",
    "distributions",
    "elliptic",
    "error_functions",
    "exponentials",
    "gamma",
    "hypergeometric",
    "incomplete",
    "information",
    "integrals",
    "kolmogorov",
    "legendre",
    "logistic",
    "mathieu",
    "normal",
    "polynomials",
    "spherical",
    "spheroidal",
    "student",
    "zeta",
]
