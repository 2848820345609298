"""Zeta functions: derivatives in both operands, by the formula of Euler and Maclaurin (DLMF 25.2 and 25.11)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.gamma import cospi, sinpi
from shiftreset_ad.rules.special.table import require_real, rule, special, times, ufunc_of
from shiftreset_ad.rules.table import dispatched, structured

SUMMED = 20
# B_2j / (2j)!
COEFFICIENTS = [
    b / math.factorial(2 * j + 2)
    for j, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798))
]
FAR = 1100.0  # beyond it, all terms except the term of 1 vanish


@dispatched
def logarithms(operands: list[Any], k: int) -> Any:
    """The sum of log(n + q)**k / (n + q)**s over all n >= 0, analytically continued, for the operands s and q."""
    s, q = np.broadcast_arrays(*(np.asarray(operand, float) for operand in operands))
    valid = q > 0
    far, q = s > FAR, np.where(valid, q, 1.0)
    s = np.minimum(s, FAR)
    total = sum(np.log(n + q) ** k * (n + q) ** -s for n in reversed(range(SUMMED)))
    a = SUMMED + q
    log, power = np.log(a), a**-s
    # The sum from a on: its integral, half of its first term, and odd derivatives, polynomials in the logarithm.
    integral = sum(math.factorial(k) / math.factorial(i) * log**i / (s - 1.0) ** (k - i + 1) for i in range(k + 1))
    total = total + power * (a * integral + 0.5 * log**k)
    polynomial: list[Any] = [0.0] * k + [1.0]
    for order in range(2 * len(COEFFICIENTS) - 1):
        power = power / a
        raised = [*((i + 1) * c for i, c in enumerate(polynomial[1:])), 0.0]
        polynomial = [up - (s + order) * c for up, c in zip(raised, polynomial, strict=True)]
        if order % 2 == 0:
            at_a = sum(c * log**i for i, c in enumerate(polynomial))
            total = total - COEFFICIENTS[order // 2] * power * at_a
    return np.where(valid, np.where(far & (q >= 1), 0.0, total), np.nan)[()]


@structured(logarithms, "operands", kept=("operands",))
def _logarithms(operands: list[Any], k: int) -> Any:
    s, q = operands

    def in_s() -> Any:
        return -logarithms(operands, k + 1)

    def in_q() -> Any:
        slope = -s * logarithms([s + 1.0, q], k)
        return slope + k * logarithms([s + 1.0, q], k - 1) if k else slope

    return logarithms(operands, k), ([times(in_s, s), times(in_q, q)],)


def slope_of_riemann(x: Any) -> Any:
    """The derivative of Riemann's function; on the left by reflection (DLMF 25.4)."""
    require_real("zeta", x)
    left = x < -1
    right = -logarithms([np.where(left, 2.0, x), 1.0], 1)
    s = np.where(left, x, -2.0)
    sine, cosine, mirrored = sinpi(0.5 * s), cospi(0.5 * s), special.zeta(1.0 - s, 1.0)
    inner = (math.log(2.0 * math.pi) - special.psi(1.0 - s)) * sine + 0.5 * math.pi * cosine
    reflected = inner * mirrored + sine * logarithms([1.0 - s, 1.0], 1)
    factor = 2.0 * (2.0 * math.pi) ** (s - 1.0) * special.gamma(1.0 - s)
    return np.where(left, factor * reflected, right)


rule(
    "zeta(x, q)",
    ufunc_of(special.zeta, 2.0),
    x=lambda y, x, q: -logarithms([x, q], 1),
    q=lambda y, x, q: -x * special.zeta(x + 1.0, q),
)
rule("zeta(x)", ufunc_of(special.zeta), x=lambda y, x: slope_of_riemann(x))
rule("zetac(x)", x=lambda y, x: slope_of_riemann(x))
