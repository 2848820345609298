"""Incomplete gamma and beta functions and their inverses: derivatives in the argument and in the parameters."""

from __future__ import annotations

from typing import Any

from shiftreset_ad.rules.special.beta_moments import slope_of_betainc
from shiftreset_ad.rules.special.cumulative import Slopes, cumulative, inverse
from shiftreset_ad.rules.special.densities import beta_density, gamma_density
from shiftreset_ad.rules.special.gamma_moments import slope_of_gammainc


def slope_in_a(a: Any, b: Any, x: Any) -> Any:
    return slope_of_betainc(a, b, x, 1.0 - x)


def slope_in_b(a: Any, b: Any, x: Any) -> Any:
    """The derivative of I_x(a, b) in b, by I_x(a, b) = 1 - I_(1 - x)(b, a)."""
    return -slope_of_betainc(b, a, 1.0 - x, x)


GAMMA: Slopes = {"a": slope_of_gammainc, "x": gamma_density}
BETA: Slopes = {"a": slope_in_a, "b": slope_in_b, "x": lambda a, b, x: beta_density(a, b, x, 1.0 - x)}

cumulative("gammainc", GAMMA)
cumulative("gammaincc", GAMMA, -1.0)
inverse("gammaincinv(a, y)", GAMMA)
inverse("gammainccinv(a, y)", GAMMA, -1.0)
cumulative("betainc", BETA)
cumulative("betaincc", BETA, -1.0)
inverse("betaincinv(a, b, y)", BETA)
inverse("betainccinv(a, b, y)", BETA, -1.0)
inverse("btdtria(y, b, x)", BETA)
inverse("btdtrib(a, y, x)", BETA)
