"""Mathieu functions: derivatives in the argument. SciPy has the first, the equation the second (DLMF 28.2, 28.20).

Angles are in degrees, but SciPy's derivatives are derivatives in radians.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.degrees import DEGREE
from shiftreset_ad.rules.special.table import rule, special


def slopes_of(eigenvalue: str, modified: bool) -> Callable[..., Any]:
    characteristic = getattr(special, eigenvalue)

    def angular(ys: Any, m: Any, q: Any, x: Any) -> tuple[Any, Any]:
        y, slope = ys
        return DEGREE * slope, DEGREE * (2.0 * q * special.cosdg(2.0 * x) - characteristic(m, q)) * y

    def radial(ys: Any, m: Any, q: Any, x: Any) -> tuple[Any, Any]:
        y, slope = ys
        return slope, (characteristic(m, q) - 2.0 * q * np.cosh(2.0 * x)) * y

    return radial if modified else angular


rule("mathieu_cem(m, q, x)", x=slopes_of("mathieu_a", modified=False))
rule("mathieu_sem(m, q, x)", x=slopes_of("mathieu_b", modified=False))
rule("mathieu_modcem1(m, q, x)", x=slopes_of("mathieu_a", modified=True))
rule("mathieu_modcem2(m, q, x)", x=slopes_of("mathieu_a", modified=True))
rule("mathieu_modsem1(m, q, x)", x=slopes_of("mathieu_b", modified=True))
rule("mathieu_modsem2(m, q, x)", x=slopes_of("mathieu_b", modified=True))
