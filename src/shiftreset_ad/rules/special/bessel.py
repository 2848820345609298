"""Bessel, Struve and Kelvin functions: derivatives in the argument, by the recurrences of DLMF 10.6, 10.29 and 11.4.

There is no derivative in the order. Functions scaled by a function of |z| are not holomorphic, so they only have
derivatives for real arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.special.table import of_real, rule, special

TERMS = 18
FAR = 40.0  # from here on, the terms of the asymptotic series below are exact, for small orders


def neighbours(name: str, below: float, above: float) -> Callable[..., Any]:
    """The derivative in z by the functions of the orders v - 1 and v + 1, with these factors."""
    function = getattr(special, name)
    return lambda y, v, z: below * function(v - 1.0, z) + above * function(v + 1.0, z)


def whole_neighbours(name: str, below: float, above: float) -> Callable[..., Any]:
    """`neighbours`, for a function that cuts the order to an integer."""
    slope = neighbours(name, below, above)
    return lambda y, n, x: slope(y, np.trunc(n), x)


def asymptotic_slope(v: Any, z: Any, sign: float) -> Any:
    """The derivative of z**-0.5 times the sum of sign**k a_k(v) / z**k (DLMF 10.40)."""
    term, total = 1.0, 0.5
    for k in range(1, TERMS):
        term = sign * term * (4.0 * v * v - (2 * k - 1) ** 2) / (8.0 * k * z)
        total = total + (k + 0.5) * term
    return -total / (z * np.sqrt(z))


def is_far(v: Any, z: Any) -> Any:
    """Where to use the asymptotic series, as the slope of a scaled function and the slope of its scale cancel."""
    return z > np.maximum(FAR, 10.0 * v * v)


def slope_of_ive(v: Any, z: Any) -> Any:
    v = v * 1.0
    size = np.absolute(z)
    far = is_far(v, size)
    near = np.where(far, 0.0, z)
    closed = 0.5 * (special.ive(v - 1.0, near) + special.ive(v + 1.0, near)) - np.sign(near) * special.ive(v, near)
    parity = np.where(z < 0, -np.cos(math.pi * v), 1.0)  # for integers only: other orders are not real there
    return np.where(far, parity * asymptotic_slope(v, np.where(far, size, FAR), -1.0) / math.sqrt(2 * math.pi), closed)


def slope_of_kve(v: Any, z: Any) -> Any:
    v = v * 1.0
    far = False if is_complex(z) else is_far(v, z)
    near = np.where(far, 1.0, z)
    closed = special.kve(v, near) - 0.5 * (special.kve(v - 1.0, near) + special.kve(v + 1.0, near))
    return np.where(far, math.sqrt(0.5 * math.pi) * asymptotic_slope(v, np.where(far, z, FAR), 1.0), closed)


def inhomogeneity(v: Any, x: Any) -> Any:
    """The term that the recurrence of Struve functions has in addition to the terms for Bessel functions."""
    return np.power(0.5 * x, v) * special.rgamma(v + 1.5) * (0.5 / math.sqrt(math.pi))


# Any order
rule("jv(v, z)", z=neighbours("jv", 0.5, -0.5))
rule("yv(v, z)", z=neighbours("yv", 0.5, -0.5))
rule("iv(v, z)", z=neighbours("iv", 0.5, 0.5))
rule("kv(v, z)", z=neighbours("kv", -0.5, -0.5))
rule("hankel1(v, z)", z=neighbours("hankel1", 0.5, -0.5))
rule("hankel2(v, z)", z=neighbours("hankel2", 0.5, -0.5))
rule("hankel1e(v, z)", z=lambda y, v, z: neighbours("hankel1e", 0.5, -0.5)(y, v, z) - 1j * y)
rule("hankel2e(v, z)", z=lambda y, v, z: neighbours("hankel2e", 0.5, -0.5)(y, v, z) + 1j * y)
rule("jve(v, z)", z=of_real("jve", neighbours("jve", 0.5, -0.5)))
rule("yve(v, z)", z=of_real("yve", neighbours("yve", 0.5, -0.5)))
rule("ive(v, z)", z=of_real("ive", lambda y, v, z: slope_of_ive(v, z)))
rule("kve(v, z)", z=lambda y, v, z: slope_of_kve(v, z))
rule("yn(n, x)", x=whole_neighbours("yn", 0.5, -0.5))
rule("kn(n, x)", x=whole_neighbours("kn", -0.5, -0.5))

# Orders 0 and 1
rule("j0(x)", x=lambda y, x: -special.j1(x))
rule("j1(x)", x=lambda y, x: 0.5 * (special.j0(x) - special.jv(2.0, x)))
rule("y0(x)", x=lambda y, x: -special.y1(x))
rule("y1(x)", x=lambda y, x: 0.5 * (special.y0(x) - special.yn(2, x)))
rule("i0(x)", x=lambda y, x: special.i1(x))
rule("i1(x)", x=lambda y, x: 0.5 * (special.i0(x) + special.iv(2.0, x)))
rule("k0(x)", x=lambda y, x: -special.k1(x))
rule("k1(x)", x=lambda y, x: -0.5 * (special.k0(x) + special.kn(2, x)))
rule("i0e(x)", x=lambda y, x: slope_of_ive(0.0, x))
rule("i1e(x)", x=lambda y, x: slope_of_ive(1.0, x))
rule("k0e(x)", x=lambda y, x: slope_of_kve(0.0, x))
rule("k1e(x)", x=lambda y, x: slope_of_kve(1.0, x))

# Struve functions
rule("struve(v, x)", x=lambda y, v, x: neighbours("struve", 0.5, -0.5)(y, v, x) + inhomogeneity(v, x))
rule("modstruve(v, x)", x=lambda y, v, x: neighbours("modstruve", 0.5, 0.5)(y, v, x) + inhomogeneity(v, x))

# Kelvin functions: the real and imaginary parts of two solutions of y'' + y' / x = i y
SECOND = {"berp": ("bei", -1.0, 0.0), "beip": ("ber", 1.0, 0.5), "kerp": ("kei", -1.0, 0.0), "keip": ("ker", 1.0, 0.0)}


def first_derivative(name: str) -> Callable[..., Any]:
    derivative = getattr(special, f"{name}p")
    return lambda y, x: derivative(x)


def second_derivative(name: str) -> Callable[..., Any]:
    other, sign, limit = SECOND[name]
    function = getattr(special, other)

    def partial(y: Any, x: Any) -> Any:
        return sign * function(x) - np.where(x == 0, limit, y / np.where(x == 0, 1.0, x))

    return partial


for _name in ("ber", "bei", "ker", "kei"):
    rule(f"{_name}(x)", x=first_derivative(_name))
for _name in SECOND:
    rule(f"{_name}(x)", x=second_derivative(_name))
