"""Carlson's symmetric elliptic integrals, and the integrals that their derivatives are (DLMF 19.16 and 19.18).

They are multiples of integrals of products of (t + x)**-p over t from 0 to infinity. The derivative of such an integral
in x is -p times the integral with p + 1, and so on to any order. The usual formulas are differences of such integrals:
they are 0 / 0 where operands are equal, and cancel nearby. But the integrand is positive, so the integral itself is
easy to compute: in the logarithm of t, the trapezoidal rule converges geometrically (Trefethen and Weideman 2014,
section 14).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.special.table import rule, special, times
from shiftreset_ad.rules.table import LinearMap, dispatched, structured

STEP = 0.5  # the error is about exp(-2 pi**2 / STEP)
NODES = np.exp(np.arange(-220, 161) * STEP)  # for operands that are up to exp(70) apart


BLOCK = 2**16  # elements that are computed at once


@dispatched
def integral(operands: list[Any], exponents: tuple[float, ...]) -> Any:
    """The integral over positive t of the product of (t + x)**-p, for these operands x and exponents p."""
    size = np.maximum.reduce(np.broadcast_arrays(*map(np.absolute, operands)))
    scale = np.where(size == 0, 1.0, size)
    scaled = [np.divide(x, scale) for x in operands]
    total: Any = 0.0
    at_once = max(1, BLOCK // max(1, scale.size))
    for start in range(0, NODES.size, at_once):
        t = np.reshape(NODES[start : start + at_once], (-1, *[1] * scale.ndim))
        total = total + np.sum(t * math.prod((t + x) ** -p for x, p in zip(scaled, exponents, strict=True)), axis=0)
    at_zero = sum(np.where(np.equal(x, 0), p, 0.0) for x, p in zip(operands, exponents, strict=True))
    total = np.where(at_zero < 1, STEP * total, np.inf)  # it diverges
    return total * scale ** (1.0 - sum(exponents))


@structured(integral, "operands", kept=("operands",))
def _integral(operands: list[Any], exponents: tuple[float, ...]) -> Any:
    def map_of(i: int) -> LinearMap:
        def slope() -> Any:
            raised = tuple(p + (j == i) for j, p in enumerate(exponents))
            return -exponents[i] * integral(operands, raised)

        return times(slope, operands[i])

    return integral(operands, exponents), (map_of,)


def multiple(factor: float, *exponents: float) -> Callable[..., Any]:
    """A partial derivative that is a multiple of the integral with these exponents, and (t + 0) as a further factor."""

    def partial(y: Any, *operands: Any) -> Any:
        return factor * integral([*operands, 0.0][: len(exponents)], exponents)

    return partial


def slope_of_elliprc(y: Any, x: Any, z: Any, in_z: bool) -> Any:
    """The derivative of R_C(x, z) = R_F(x, z, z); for negative z, R_C is a principal value."""
    if is_complex(x) or is_complex(z):
        return -special.elliprd(x, z, z) / 3.0 if in_z else -special.elliprd(z, z, x) / 6.0
    negative = z < 0
    apart, x = np.where(negative, x, 1.0), np.where(negative, 1.0, x)
    below, z = np.where(negative, z, -1.0), np.where(negative, 1.0, z)
    y = np.where(negative, y, 0.0)
    if in_z:
        principal = (np.sqrt(apart) / below - y) / (2.0 * (below - apart))
        return np.where(negative, principal, -special.elliprd(x, z, z) / 3.0)
    principal = (y - 1.0 / np.sqrt(apart)) / (2.0 * (below - apart))
    return np.where(negative, principal, -special.elliprd(z, z, x) / 6.0)


def unless_principal(partial: Callable[..., Any]) -> Callable[..., Any]:
    """A partial derivative of R_J; NotImplementedError for a negative last operand."""

    def checked(y: Any, *operands: Any) -> Any:
        if not is_complex(operands[-1]) and np.any(operands[-1] < 0):
            raise NotImplementedError(
                "scipy.special.elliprj has no derivative here for a negative p, for which it is a principal value"
            )
        return partial(y, *operands)

    return checked


rule(
    "elliprf(x, y, z)",
    x=lambda f, x, y, z: -special.elliprd(y, z, x) / 6.0,
    y=lambda f, x, y, z: -special.elliprd(z, x, y) / 6.0,
    z=lambda f, x, y, z: -special.elliprd(x, y, z) / 6.0,
)
rule(
    "elliprd(x, y, z)",
    x=multiple(-0.75, 1.5, 0.5, 1.5),
    y=multiple(-0.75, 0.5, 1.5, 1.5),
    z=multiple(-2.25, 0.5, 0.5, 2.5),
)
rule(
    "elliprc(x, y)",
    x=lambda f, x, y: slope_of_elliprc(f, x, y, in_z=False),
    y=lambda f, x, y: slope_of_elliprc(f, x, y, in_z=True),
)
rule(
    "elliprj(x, y, z, p)",
    x=unless_principal(multiple(-0.75, 1.5, 0.5, 0.5, 1.0)),
    y=unless_principal(multiple(-0.75, 0.5, 1.5, 0.5, 1.0)),
    z=unless_principal(multiple(-0.75, 0.5, 0.5, 1.5, 1.0)),
    p=unless_principal(multiple(-1.5, 0.5, 0.5, 0.5, 2.0)),
)
rule(
    "elliprg(x, y, z)",
    x=multiple(0.125, 1.5, 0.5, 0.5, -1.0),
    y=multiple(0.125, 0.5, 1.5, 0.5, -1.0),
    z=multiple(0.125, 0.5, 0.5, 1.5, -1.0),
)
