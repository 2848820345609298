"""Spheroidal wave functions: derivatives in the argument. SciPy has the first, the equation the second (DLMF 30.2).

There is no rule for functions of the second kind: SciPy's are not accurate where x is small.
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.rules.special.table import rule, special


def prolate(ys: Any, m: Any, c: Any, cv: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives by ((1 - x**2) y')' + (cv - c**2 x**2 - m**2 / (1 - x**2)) y = 0, which also holds beyond 1."""
    y, slope = ys
    rest = 1.0 - x * x
    return slope, (2.0 * x * slope - (cv - (c * x) ** 2 - m * m / rest) * y) / rest


def oblate_angular(ys: Any, m: Any, c: Any, cv: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives by the equation of `prolate` with -c**2 in place of c**2."""
    y, slope = ys
    rest = 1.0 - x * x
    return slope, (2.0 * x * slope - (cv + (c * x) ** 2 - m * m / rest) * y) / rest


def oblate_radial(ys: Any, m: Any, c: Any, cv: Any, x: Any) -> tuple[Any, Any]:
    """The derivatives by the equation of `oblate_angular` at i x."""
    y, slope = ys
    total = 1.0 + x * x
    return slope, ((cv - (c * x) ** 2 - m * m / total) * y - 2.0 * x * slope) / total


for _name, _slopes in (
    ("pro_ang1", prolate),
    ("pro_rad1", prolate),
    ("obl_ang1", oblate_angular),
    ("obl_rad1", oblate_radial),
):
    _characteristic = getattr(special, f"{_name[:3]}_cv")
    rule(
        f"{_name}(m, n, c, x)",
        x=lambda ys, m, n, c, x, f=_slopes, cv=_characteristic: f(ys, m, c, cv(m, n, c), x),
    )
    rule(f"{_name}_cv(m, n, c, cv, x)", x=lambda ys, m, n, c, cv, x, f=_slopes: f(ys, m, c, cv, x))
