"""The gamma function and functions made of it (DLMF chapters 5 and 25)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.special.table import require_real, rule, special
from shiftreset_ad.rules.table import CONSTANT

# B_2k / 2k, the coefficients of Stirling's series of psi
STIRLING = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
STEPS = 10


def slope_of_psi(y: Any, x: Any) -> Any:
    """The derivative of psi for a real x; SciPy has psi for complex numbers, but not its derivative."""
    require_real("psi", x)
    return special.zeta(2.0, x)


def psi_gap(x: Any, h: Any) -> Any:
    """psi(x + h) - psi(x); for positive x and h without cancellation, by the recurrence and Stirling's series."""
    positive = (x > 0) & (x + h > 0)
    a, d = np.where(positive, x, 1.0), np.where(positive, h, 0.0)
    total: Any = 0.0
    for k in range(STEPS):
        total = total + d / (a + k) / (a + k + d)
    a = a + STEPS
    b = a + d
    total = total + np.log1p(d / a) + 0.5 * d / a / b
    square_a, square_b = 1.0 / (a * a), 1.0 / (b * b)
    power_a, power_b = square_a, square_b
    for coefficient in STIRLING:
        total = total + coefficient * (power_a - power_b)
        power_a, power_b = power_a * square_a, power_b * square_b
    x, h = np.where(positive, 1.0, x), np.where(positive, 0.0, h)
    return np.where(positive, total, special.psi(x + h) - special.psi(x))


def slope_of_rgamma(y: Any, x: Any) -> Any:
    """-psi(x) / gamma(x); on the left by reflection, where psi has poles and this function has none."""
    left = np.real(x) < 0.5
    lower, upper = np.where(left, x, 0.0), np.where(left, 1.0, x)
    reflected = special.gamma(1.0 - lower) * (cospi(lower) - sinpi(lower) / math.pi * special.psi(1.0 - lower))
    return np.where(left, reflected, -np.where(left, 1.0, y) * special.psi(upper))


def sinpi(x: Any) -> Any:
    return np.sin(math.pi * x) if is_complex(x) else special.sindg(180.0 * x)


def cospi(x: Any) -> Any:
    return np.cos(math.pi * x) if is_complex(x) else special.cosdg(180.0 * x)


def slope_of_binom(y: Any, n: Any, k: Any, in_n: bool) -> Any:
    """The derivative of gamma(n + 1) / gamma(k + 1) / gamma(n - k + 1), right also where this is 0."""
    zero = y == 0
    m, j = np.where(zero, 1.0, n), np.where(zero, 0.0, k)
    slope = y * (psi_gap(m - j + 1.0, j) if in_n else psi_gap(j + 1.0, m - 2.0 * j))
    n, k = np.where(zero, n, 0.0), np.where(zero, k, 0.0)
    below, rest = special.rgamma(k + 1.0), special.rgamma(n - k + 1.0)
    slope_of_below, slope_of_rest = slope_of_rgamma(below, k + 1.0), slope_of_rgamma(rest, n - k + 1.0)
    at_zero = special.gamma(n + 1.0) * (
        below * slope_of_rest if in_n else slope_of_below * rest - below * slope_of_rest
    )
    if in_n:
        at_zero = at_zero + np.where(zero, y, 0.0) * special.psi(n + 1.0)
    return np.where(zero, at_zero, slope)


def slope_of_poch(y: Any, z: Any, m: Any) -> Any:
    """dy/dz of y = gamma(z + m) / gamma(z), right also where y is 0."""
    zero = y == 0
    slope = y * psi_gap(np.where(zero, 1.0, z), np.where(zero, 0.0, m))
    z, m = np.where(zero, z, 1.0), np.where(zero, m, 0.0)
    at_zero = np.where(zero, y, 0.0) * special.psi(z + m) + special.gamma(z + m) * slope_of_rgamma(special.rgamma(z), z)
    return np.where(zero, at_zero, slope)


rule("gamma(z)", z=lambda y, z: y * special.psi(z))
rule("gammaln(x)", x=lambda y, x: special.psi(x))
rule("loggamma(z)", z=lambda y, z: special.psi(z))
rule("rgamma(z)", z=slope_of_rgamma)
rule("psi(z)", z=slope_of_psi)
rule(
    "poch(z, m)",
    z=slope_of_poch,
    m=lambda y, z, m: y * special.psi(z + m),
)
rule("beta(a, b)", a=lambda y, a, b: -y * psi_gap(a, b), b=lambda y, a, b: -y * psi_gap(b, a))
rule("betaln(a, b)", a=lambda y, a, b: -psi_gap(a, b), b=lambda y, a, b: -psi_gap(b, a))
rule(
    "binom(n, k)",
    n=lambda y, n, k: slope_of_binom(y, n, k, in_n=True),
    k=lambda y, n, k: slope_of_binom(y, n, k, in_n=False),
)
CONSTANT.update((special.gammasgn, special.round))
