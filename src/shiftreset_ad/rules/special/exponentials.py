"""Exponentials, logarithms and powers, and the transformations of Box and Cox (1964)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.numpy.elementwise import LOG_2, LOG_10, power_base, power_exponent
from shiftreset_ad.rules.special.table import rule, special, ufunc_of


def slope_of_exprel(x: Any) -> Any:
    """The derivative of (exp(x) - 1) / x, also at 0."""
    return 0.5 * special.hyp1f1(2.0, 3.0, x)


def slope_of_boxcox(logarithm: Any, lmbda: Any) -> Any:
    """dy/dlmbda of y = (x**lmbda - 1) / lmbda."""
    at_zero = logarithm == -np.inf
    finite = np.where(at_zero, 0.0, logarithm)
    limit = np.where(at_zero & (lmbda > 0), lmbda, np.nan) ** -2.0
    return np.where(at_zero, limit, finite * finite * slope_of_exprel(finite * lmbda))


def slope_of_inverse_boxcox(x: Any, y: Any, lmbda: Any) -> Any:
    """dx/dlmbda of x = (1 + lmbda y)**(1 / lmbda)."""
    u = lmbda * y
    return -0.5 * x * y * y * special.hyp2f1(2.0, 2.0, 3.0, -u)


rule("expm1(z)", z=lambda y, z: np.exp(z))
rule("log1p(z)", z=lambda y, z: 1.0 / (1.0 + z))
rule("exp2(x)", x=lambda y, x: y * LOG_2)
rule("exp10(x)", x=lambda y, x: y * LOG_10)
rule("cbrt(x)", x=lambda y, x: 1.0 / (3.0 * y * y))
rule("exprel(x)", x=lambda y, x: slope_of_exprel(x))
rule("cosm1(x)", x=lambda y, x: -np.sin(x))
rule(
    "powm1(x, y)",
    x=lambda z, x, y: power_base(z, x, y),
    y=lambda z, x, y: power_exponent(np.power(x, y), x, y),
)
rule(
    "boxcox(x, lmbda)",
    x=lambda y, x, lmbda: np.power(x, lmbda - 1.0),
    lmbda=lambda y, x, lmbda: slope_of_boxcox(np.log(x), lmbda),
)
rule(
    "boxcox1p(x, lmbda)",
    x=lambda y, x, lmbda: np.exp(special.xlog1py(lmbda - 1.0, x)),
    lmbda=lambda y, x, lmbda: slope_of_boxcox(np.log1p(x), lmbda),
)
rule(
    "inv_boxcox(y, lmbda)",
    y=lambda x, y, lmbda: x / (1.0 + lmbda * y),
    lmbda=lambda x, y, lmbda: slope_of_inverse_boxcox(x, y, lmbda),
)
rule(
    "inv_boxcox1p(y, lmbda)",
    y=lambda x, y, lmbda: (1.0 + x) / (1.0 + lmbda * y),
    lmbda=lambda x, y, lmbda: slope_of_inverse_boxcox(1.0 + x, y, lmbda),
)
rule("lambertw(z, k, tol)", ufunc_of(special.lambertw), z=lambda y, z, k, tol: np.exp(-y) / (1.0 + y))
rule("wrightomega(z)", z=lambda y, z: y / (1.0 + y))
