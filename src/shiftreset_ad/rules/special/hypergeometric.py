"""Hypergeometric functions: derivatives in the argument, but not in the parameters (DLMF 13.3, 15.5 and 16.3)."""

from __future__ import annotations

import numpy as np

from shiftreset_ad.rules.special.table import rule, special

rule("hyp0f1(b, z)", z=lambda y, b, z: special.hyp0f1(b + 1.0, z) / b)
rule("hyp1f1(a, b, z)", z=lambda y, a, b, z: (a / b) * special.hyp1f1(a + 1.0, b + 1.0, z))
rule("hyp2f1(a, b, c, z)", z=lambda y, a, b, c, z: a * (b / c) * special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, z))
rule("hyperu(a, b, x)", x=lambda y, a, b, x: -a * special.hyperu(a + 1.0, b + 1.0, x))
rule("wright_bessel(a, b, x)", x=lambda y, a, b, x: special.wright_bessel(a, a + b, x))
rule("log_wright_bessel(a, b, x)", x=lambda y, a, b, x: np.exp(special.log_wright_bessel(a, a + b, x) - y))
