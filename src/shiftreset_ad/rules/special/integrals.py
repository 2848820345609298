"""Functions that are integrals of others (DLMF chapters 6 and 7, and section 25.12)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.spherical import SPHERICAL
from shiftreset_ad.rules.special.table import on_two_sides, rule, special


def sinc(z: Any) -> Any:
    """sin(z) / z."""
    return SPHERICAL["spherical_jn"](z, 0, False)


def sinhc(z: Any) -> Any:
    """sinh(z) / z."""
    return SPHERICAL["spherical_in"](z, 0, False)


def slope_of_spence(z: Any) -> Any:
    """log(z) / (1 - z), also at 1."""
    return on_two_sides(
        np.absolute(z - 1.0) < 0.5,
        z,
        lambda z: -special.hyp2f1(1.0, 1.0, 2.0, 1.0 - z),
        lambda z: np.log(z) / (1.0 - z),
        safe_there=1.0,
        safe_here=2.0,
    )


def slope_of_expn(y: Any, n: Any, x: Any) -> Any:
    """The function of order n - 1; for n = 0, of order -1. The order is cut to an integer."""
    n = np.trunc(n)
    first = n == 0
    before = special.expn(np.where(first, 1, n) - 1, np.where(first, 1.0, x))
    return -np.where(first, (np.exp(-x) + y) / np.where(first, x, 1.0), before)


rule("expi(z)", z=lambda y, z: np.exp(z) / z)
rule("exp1(z)", z=lambda y, z: -np.exp(-z) / z)
rule("expn(n, x)", x=slope_of_expn)
rule("sici(z)", z=lambda ys, z: (sinc(z), np.cos(z) / z))
rule("shichi(z)", z=lambda ys, z: (sinhc(z), np.cosh(z) / z))
rule("fresnel(z)", z=lambda ys, z: (np.sin(0.5 * math.pi * z * z), np.cos(0.5 * math.pi * z * z)))
rule("spence(z)", z=lambda y, z: slope_of_spence(z))
rule("itj0y0(x)", x=lambda ys, x: (special.j0(x), special.y0(x)))
rule("iti0k0(x)", x=lambda ys, x: (special.i0(x), special.k0(x)))
rule("itstruve0(x)", x=lambda y, x: special.struve(0.0, x))
rule("it2struve0(x)", x=lambda y, x: -special.struve(0.0, x) / x)
rule("itmodstruve0(x)", x=lambda y, x: special.modstruve(0.0, x))
