"""Legendre functions, with derivatives in the argument (DLMF 14.10 and 18.9), and spherical harmonics.

SciPy's newer functions are no ufuncs, and compute up to two derivatives, in rows. So the functions here have the order
of the derivative as an argument, and SciPy's rows are their values. The third derivative follows from the differential
equation (DLMF 14.2).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.definitions import elementwise
from shiftreset_ad.rules.special.table import rule, special

ROWS = 2  # derivatives that SciPy computes


@elementwise(z=lambda y, n, z, order: legendre(n, z, order + 1))
def legendre(n: Any, z: Any, order: int) -> Any:
    """The derivative of this order of the Legendre polynomial of degree n: a multiple of a Gegenbauer polynomial."""
    if order <= ROWS:
        return special.legendre_p(n, z, diff_n=order)[order]
    degree = np.subtract(n, order)
    odd = math.prod(range(1, 2 * order, 2))
    return np.where(degree < 0, 0.0, odd * special.eval_gegenbauer(np.maximum(degree, 0), order + 0.5, z))[()]


def slope_of_associated(y: Any, n: Any, m: Any, z: Any, branch_cut: Any, norm: bool, order: int) -> Any:
    def derivative(order: int) -> Any:
        return associated(n, m, z, branch_cut, norm, order)

    if order < ROWS:
        return derivative(order + 1)
    rest, square = 1.0 - z * z, np.square(m)
    of_first = 2.0 - np.multiply(n, np.add(n, 1)) + square / rest
    return (4.0 * z * y + of_first * derivative(1) + 2.0 * square * z / (rest * rest) * derivative(0)) / rest


@elementwise(z=slope_of_associated)
def associated(n: Any, m: Any, z: Any, branch_cut: Any, norm: bool, order: int) -> Any:
    """The derivative of this order of an associated Legendre function: 0, 1 or 2."""
    return special.assoc_legendre_p(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=order)[order]


def slope_of_spherical(y: Any, n: Any, m: Any, theta: Any, order: int) -> Any:
    if order < ROWS:
        return spherical(n, m, theta, order + 1)
    cos, sin = np.cos(theta), np.sin(theta)
    square = np.square(m) / (sin * sin)
    of_first = 1.0 / (sin * sin) + square - np.multiply(n, np.add(n, 1))
    return of_first * spherical(n, m, theta, 1) - cos / sin * (y + 2.0 * square * spherical(n, m, theta, 0))


@elementwise(theta=slope_of_spherical)
def spherical(n: Any, m: Any, theta: Any, order: int) -> Any:
    """The derivative of this order of a spherical Legendre function: 0, 1 or 2."""
    return special.sph_legendre_p(n, m, theta, diff_n=order)[order]


def turned(m: Any, phi: Any, y: Any) -> Any:
    """A spherical harmonic, or its derivative in theta; y is its value where phi is 0."""
    return y * np.exp(np.multiply(1j, m) * phi)


@elementwise(
    theta=lambda y, n, m, theta, phi: turned(m, phi, spherical(n, m, theta, 1)),
    phi=lambda y, n, m, theta, phi: np.multiply(1j, m) * y,
)
def harmonic(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    """A spherical harmonic."""
    return special.sph_harm_y(n, m, theta, phi)


for _function, _name in (
    (legendre, "legendre_p"),
    (associated, "assoc_legendre_p"),
    (spherical, "sph_legendre_p"),
    (harmonic, "sph_harm_y"),
):
    _function.__module__, _function.__name__ = "scipy.special", _name


def lpmv_inside(m: Any, v: Any, x: Any) -> Any:
    """The derivative between -1 and 1 for m >= 0, by the functions of the orders m - 1 and m + 1."""
    zero = m == 0
    below = (v + m) * (v - m + 1.0) * special.lpmv(np.where(zero, 0.0, m - 1.0), v, x)
    above = special.lpmv(m + 1.0, v, x)
    return np.where(zero, -above, 0.5 * (below - above)) / np.sqrt(1.0 - x * x)


def lpmv_at_end(m: Any, v: Any, x: Any) -> Any:
    """The derivative at 1 for m >= 0: the function is (1 - x**2)**(m / 2) times a hypergeometric function."""
    rest = 1.0 - x * x
    factor = (
        np.where(m % 2 == 0, 1.0, -1.0) * special.poch(v - m + 1.0, 2.0 * m) / (np.exp2(m) * special.gamma(m + 1.0))
    )
    series = special.hyp2f1(m - v, m + v + 1.0, m + 1.0, 0.5 * (1.0 - x))
    slope = (v - m) * (m + v + 1.0) / (m + 1.0) * special.hyp2f1(m - v + 1.0, m + v + 2.0, m + 2.0, 0.5 * (1.0 - x))
    falling = np.where(m == 0, 0.0, m * x * rest ** np.where(m == 0, 1.0, 0.5 * m - 1.0)) * series
    return factor * (0.5 * rest ** (0.5 * m) * slope - falling)


def slope_of_lpmv(m: Any, v: Any, x: Any) -> Any:
    order, v = np.absolute(m), np.where(v < 0, -1.0 - v, v)
    vanishes = (order > v) & (v == np.floor(v))
    order = np.where(vanishes, order + order % 2, order)
    end = np.absolute(x) == 1
    sign = np.where(x < 0, np.cos(math.pi * (v + order + 1.0)), 1.0)  # for integers only: for others it is infinite
    at_end = sign * lpmv_at_end(order, v, np.where(end, np.absolute(x), 0.5))
    slope = np.where(end, at_end, lpmv_inside(order, v, np.where(end, 0.0, x)))
    behind = np.where(m < 0, order, 0.0)
    return slope * np.where(behind % 2 == 0, 1.0, -1.0) / special.poch(v - behind + 1.0, 2.0 * behind)


rule("lpmv(m, v, x)", x=lambda y, m, v, x: slope_of_lpmv(m, v, x))
