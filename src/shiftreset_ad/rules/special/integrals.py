"""Functions that are integrals of other functions (DLMF chapters 6 and 7, and section 25.12)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.spherical import SPHERICAL
from shiftreset_ad.rules.special.table import on_two_sides, rule, special

TERMS = 12


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
    """The derivative in x, from the function of order n - 1 (order -1 if n = 0). The order is cut to an integer."""
    n = np.trunc(n)
    first = n == 0
    before = special.expn(np.where(first, 1, n) - 1, np.where(first, 1.0, x))
    return -np.where(first, (np.exp(-x) + y) / np.where(first, x, 1.0), before)


def beyond_one(x: Any, sign: float) -> Any:
    """(I0(x) - 1) / x, or with a `sign` of -1 (J0(x) - 1) / x, without the cancellation for small x."""
    near = np.absolute(x) < 1
    total: Any = 1.0
    u = np.where(near, x, 0.0)
    for k in range(TERMS, 1, -1):
        total = 1.0 + sign * 0.25 * u * u / (k * k) * total
    far = np.where(near, 1.0, x)
    return np.where(near, sign * 0.25 * u * total, ((special.i0(far) if sign > 0 else special.j0(far)) - 1.0) / far)


def slope_of_besselpoly(a: Any, lmb: Any, nu: Any) -> Any:
    """The derivative in a of the integral of x**lmb J_nu(2 a x) from 0 to 1, by 2 J' = J_(nu - 1) - J_(nu + 1)."""
    return special.besselpoly(a, lmb + 1.0, nu - 1.0) - special.besselpoly(a, lmb + 1.0, nu + 1.0)


rule("expi(z)", z=lambda y, z: np.exp(z) / z)
rule("exp1(z)", z=lambda y, z: -np.exp(-z) / z)
rule("expn(n, x)", x=slope_of_expn)
rule("sici(z)", z=lambda ys, z: (sinc(z), np.cos(z) / z))
rule("shichi(z)", z=lambda ys, z: (sinhc(z), np.cosh(z) / z))
rule("fresnel(z)", z=lambda ys, z: (np.sin(0.5 * math.pi * z * z), np.cos(0.5 * math.pi * z * z)))
rule("spence(z)", z=lambda y, z: slope_of_spence(z))
rule("itj0y0(x)", x=lambda ys, x: (special.j0(x), special.y0(x)))
rule("iti0k0(x)", x=lambda ys, x: (special.i0(x), special.k0(x)))
rule("it2j0y0(x)", x=lambda ys, x: (-beyond_one(x, -1.0), -special.y0(x) / x))
rule("it2i0k0(x)", x=lambda ys, x: (beyond_one(x, 1.0), -special.k0(x) / x))
rule("besselpoly(a, lmb, nu)", a=lambda y, a, lmb, nu: slope_of_besselpoly(a, lmb, nu))
rule("itstruve0(x)", x=lambda y, x: special.struve(0.0, x))
rule("it2struve0(x)", x=lambda y, x: -special.struve(0.0, x) / x)
rule("itmodstruve0(x)", x=lambda y, x: special.modstruve(0.0, x))
