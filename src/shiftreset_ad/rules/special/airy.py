"""Airy and parabolic cylinder functions, with their derivatives: y'' is a multiple of y (DLMF 9.2 and 12.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.special.table import require_real, rule, special


def slopes_of_airye(ys: Any, x: Any) -> tuple[Any, ...]:
    """The derivatives of the scaled functions: Ai has the factor exp(2/3 x sqrt(x)), and Bi has its inverse.

    For negative x, both factors are 1.
    """
    require_real("airye", x)
    ai, aip, bi, bip = ys
    rate = np.where(x < 0, 0.0, np.sqrt(np.where(x < 0, 1.0, x)))
    return aip + rate * ai, x * ai + rate * aip, bip - rate * bi, x * bi - rate * bip


def slopes_of_itairy(ys: Any, x: Any) -> tuple[Any, ...]:
    """The derivatives are the integrands; for the last two integrals, these are Ai(-x) and Bi(-x)."""
    ai, _, bi, _ = special.airy(x)
    ai_behind, _, bi_behind, _ = special.airy(-x)
    return ai, bi, ai_behind, bi_behind


rule("airy(z)", z=lambda ys, z: (ys[1], z * ys[0], ys[3], z * ys[2]))
rule("airye(z)", z=slopes_of_airye)
rule("itairy(x)", x=slopes_of_itairy)
rule("pbdv(v, x)", x=lambda ys, v, x: (ys[1], (0.25 * x * x - v - 0.5) * ys[0]))
rule("pbvv(v, x)", x=lambda ys, v, x: (ys[1], (0.25 * x * x - v - 0.5) * ys[0]))
rule("pbwa(a, x)", x=lambda ys, a, x: (ys[1], (a - 0.25 * x * x) * ys[0]))
