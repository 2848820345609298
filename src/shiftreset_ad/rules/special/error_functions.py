"""Error functions (DLMF chapter 7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.special.table import on_two_sides, rule, special

ROOT_PI = math.sqrt(math.pi)
TERMS = 18
FAR = 8.0  # from here on, the terms of the asymptotic series below are exact


def asymptotic(u: Any) -> Any:
    """The first terms of the sum of (2k - 1)!! u**k over k > 0, where u is 1 / (2 x**2) or -1 / (2 x**2)."""
    total = 1.0
    for k in range(TERMS, 1, -1):
        total = 1.0 + (2 * k - 1) * u * total
    return u * total


def slope_of_erfcx(y: Any, x: Any) -> Any:
    """2 x y - 2 / sqrt(pi); for large x, where this cancels, by the asymptotic series."""
    if is_complex(x):
        return 2.0 * x * y - 2.0 / ROOT_PI
    far = x > FAR
    near = 2.0 * np.where(far, 0.0, x) * np.where(far, 0.0, y) - 2.0 / ROOT_PI
    return np.where(far, 2.0 / ROOT_PI * asymptotic(-0.5 / np.where(far, x, FAR) ** 2), near)


def slope_of_dawsn(y: Any, x: Any) -> Any:
    """1 - 2 x y; for large x, where this cancels, by the asymptotic series."""
    if is_complex(x):
        return 1.0 - 2.0 * x * y
    far = np.absolute(x) > FAR
    near = 1.0 - 2.0 * np.where(far, 0.0, x) * np.where(far, 0.0, y)
    return np.where(far, -asymptotic(0.5 / np.where(far, x, FAR) ** 2), near)


def slope_of_wofz(z: Any) -> Any:
    """2i / sqrt(pi) - 2 z w(z); in the upper half plane for large z, where this cancels, by the asymptotic series."""
    far = (np.absolute(z) > FAR) & (np.imag(z) > 0)
    return on_two_sides(
        far,
        z,
        lambda z: -2j / ROOT_PI * asymptotic(0.5 / (z * z)),
        lambda z: 2j / ROOT_PI - 2.0 * z * special.wofz(z),
        safe_there=FAR * 1j,
        safe_here=0.0,
    )


def slope_of_voigt_profile(x: Any, sigma: Any, gamma: Any, direction: Any) -> Any:
    """The real part of w'(z) * direction for z = (x + i gamma) / (sqrt(2) sigma), as the profile is scaled."""
    z = (x + 1j * gamma) / (math.sqrt(2) * sigma)
    return np.real(slope_of_wofz(z) * direction(z)) / (math.sqrt(2 * math.pi) * sigma)


def slopes_of_fresnel(name: str, x: Any, sign: float) -> tuple[Any, Any]:
    """The derivatives of the integral of exp(+-i t**2) from x on, and of the scaled one, w(exp(i pi / 4) x) / 2."""
    if np.any(x < 0):
        raise NotImplementedError(
            f"scipy.special.{name} has no derivative here for negative x, where SciPy's values are not the values of "
            "the integral. Write it with scipy.special.fresnel"
        )
    turn = np.exp(0.25j * math.pi)
    scaled = 0.5 * turn * slope_of_wofz(turn * x)
    return -np.exp(sign * 1j * x * x), scaled if sign > 0 else np.conjugate(scaled)


rule("erf(z)", z=lambda y, z: 2.0 / ROOT_PI * np.exp(-z * z))
rule("erfc(z)", z=lambda y, z: -2.0 / ROOT_PI * np.exp(-z * z))
rule("erfi(z)", z=lambda y, z: 2.0 / ROOT_PI * np.exp(z * z))
rule("erfcx(x)", x=slope_of_erfcx)
rule("dawsn(x)", x=slope_of_dawsn)
rule("wofz(z)", z=lambda y, z: slope_of_wofz(z))
rule("modfresnelp(x)", x=lambda ys, x: slopes_of_fresnel("modfresnelp", x, 1.0))
rule("modfresnelm(x)", x=lambda ys, x: slopes_of_fresnel("modfresnelm", x, -1.0))
rule("erfinv(y)", y=lambda x, y: ROOT_PI / 2.0 * np.exp(x * x))
rule("erfcinv(y)", y=lambda x, y: -ROOT_PI / 2.0 * np.exp(x * x))
rule(
    "voigt_profile(x, sigma, gamma)",
    x=lambda y, x, sigma, gamma: slope_of_voigt_profile(x, sigma, gamma, lambda z: 1.0 / (math.sqrt(2) * sigma)),
    sigma=lambda y, x, sigma, gamma: slope_of_voigt_profile(x, sigma, gamma, lambda z: -z / sigma) - y / sigma,
    gamma=lambda y, x, sigma, gamma: slope_of_voigt_profile(x, sigma, gamma, lambda z: 1j / (math.sqrt(2) * sigma)),
)
