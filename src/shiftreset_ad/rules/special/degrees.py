"""Trigonometric functions of degrees."""

from __future__ import annotations

import math

from shiftreset_ad.rules.special.table import rule, special

DEGREE = math.pi / 180

rule("sindg(x)", x=lambda y, x: DEGREE * special.cosdg(x))
rule("cosdg(x)", x=lambda y, x: -DEGREE * special.sindg(x))
rule("tandg(x)", x=lambda y, x: DEGREE * (1.0 + y * y))
rule("cotdg(x)", x=lambda y, x: -DEGREE * (1.0 + y * y))
rule("radian(d, m, s)", d=DEGREE, m=DEGREE / 60, s=DEGREE / 3600)
