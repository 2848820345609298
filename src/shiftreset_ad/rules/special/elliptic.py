"""Legendre's elliptic integrals, Jacobi's elliptic functions and the arithmetic-geometric mean (DLMF 19 and 22).

In the usual formulas, the derivative in the parameter m is 0 / 0 at m = 0 and m = 1; in the formulas here it is not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.table import rule, special

ITERATIONS = 16  # enough for the arithmetic-geometric mean of operands of any ratio


def slope_of_ellipk(m: Any) -> Any:
    return math.pi / 8.0 * special.hyp2f1(1.5, 1.5, 2.0, m)


def slope_of_ellipe(m: Any) -> Any:
    return -math.pi / 8.0 * special.hyp2f1(0.5, 1.5, 2.0, m)


def slope_of_ellipkm1(y: Any, p: Any) -> Any:
    """The derivative in p = 1 - m, which may be tiny."""
    small = p < 0.5
    m = np.where(small, 0.0, 1.0 - p)
    p = np.where(small, p, 0.25)
    closed = (p * np.where(small, y, 0.0) - special.ellipe(1.0 - p)) / (2.0 * p * (1.0 - p))
    return np.where(small, closed, -slope_of_ellipk(m))


def incomplete(phi: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """The number of half periods next to phi, the cube of the sine of the rest, and the operands of R_D beside 1."""
    sine = np.sin(phi)
    square = sine * sine
    return (
        2.0 * np.rint(phi / math.pi),
        np.cos(np.rint(phi / math.pi) * math.pi) * square * sine,
        np.cos(phi) ** 2,
        1.0 - m * square,
    )


def slope_of_ellipkinc(phi: Any, m: Any) -> Any:
    """The derivative in m of F(phi, m); within one period, F = s R_F(c**2, 1 - m s**2, 1)."""
    periods, cube, c, d = incomplete(phi, m)
    return special.elliprd(c, 1.0, d) * cube / 6.0 + at_periods(periods, slope_of_ellipk, m)


def slope_of_ellipeinc(phi: Any, m: Any) -> Any:
    """The derivative in m of E(phi, m)."""
    periods, cube, c, d = incomplete(phi, m)
    return -special.elliprd(c, d, 1.0) * cube / 6.0 + at_periods(periods, slope_of_ellipe, m)


def at_periods(periods: Any, slope: Any, m: Any) -> Any:
    """The part from whole periods; at m = 1 it is infinite if there are whole periods."""
    return periods * slope(np.where(periods == 0, 0.0, m))


def slopes_in_u(ys: Any, u: Any, m: Any) -> tuple[Any, ...]:
    sn, cn, dn, _ = ys
    return cn * dn, -sn * dn, -m * sn * cn, dn


def slopes_in_m(ys: Any, u: Any, m: Any) -> tuple[Any, ...]:
    """The derivatives in m, by the amplitude, which is the inverse of F in its first operand."""
    sn, cn, dn, amplitude = ys
    turn = -dn * slope_of_ellipkinc(amplitude, m)
    return cn * turn, -sn * turn, -(sn * sn + 2.0 * m * sn * cn * turn) / (2.0 * dn), turn


def slope_of_agm(a: Any, b: Any) -> Any:
    """The derivative in a, by the derivative of the iteration."""
    a_dot, b_dot = 1.0, 0.0
    negative = (a < 0) | (b < 0)
    a, b = np.where(negative, -a, a), np.where(negative, -b, b)
    for _ in range(ITERATIONS):
        root = np.sqrt(a) * np.sqrt(b)
        a_dot, b_dot = 0.5 * (a_dot + b_dot), 0.5 * (a_dot * (b / root) + b_dot * (a / root))
        a, b = 0.5 * (a + b), root
    return a_dot


rule("ellipk(m)", m=lambda y, m: slope_of_ellipk(m))
rule("ellipkm1(p)", p=slope_of_ellipkm1)
rule("ellipe(m)", m=lambda y, m: slope_of_ellipe(m))
rule(
    "ellipkinc(phi, m)",
    phi=lambda y, phi, m: 1.0 / np.sqrt(1.0 - m * np.sin(phi) ** 2),
    m=lambda y, phi, m: slope_of_ellipkinc(phi, m),
)
rule(
    "ellipeinc(phi, m)",
    phi=lambda y, phi, m: np.sqrt(1.0 - m * np.sin(phi) ** 2),
    m=lambda y, phi, m: slope_of_ellipeinc(phi, m),
)
rule("ellipj(u, m)", u=slopes_in_u, m=slopes_in_m)
rule("agm(a, b)", a=lambda y, a, b: slope_of_agm(a, b), b=lambda y, a, b: slope_of_agm(b, a))
