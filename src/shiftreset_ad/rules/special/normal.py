"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftreset_ad.rules.special.table import rule, special

ROOT_2 = math.sqrt(2)
ROOT_2PI = math.sqrt(2 * math.pi)


def density(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / ROOT_2PI


def slope_of_log_ndtr(y: Any, x: Any) -> Any:
    """density(x) / ndtr(x); on the left, by 2 ndtr(x) = exp(-x**2 / 2) erfcx(-x / sqrt(2)), which does not vanish."""
    left = np.real(x) < 0
    lower, upper = np.where(left, x, 0.0), np.where(left, 0.0, x)
    on_the_left = 2.0 / ROOT_2PI / special.erfcx(-lower / ROOT_2)
    return np.where(left, on_the_left, density(upper) * np.exp(-np.where(left, 0.0, y)))


rule("ndtr(x)", x=lambda y, x: density(x))
rule("log_ndtr(x)", x=slope_of_log_ndtr)
rule("ndtri(y)", y=lambda x, y: ROOT_2PI * np.exp(0.5 * x * x))
rule("ndtri_exp(y)", y=lambda x, y: 1.0 / slope_of_log_ndtr(y, x))
rule(
    "owens_t(h, a)",
    h=lambda y, h, a: -0.5 * density(h) * special.erf(a * h / ROOT_2),
    a=lambda y, h, a: np.exp(-0.5 * h * h * (1.0 + a * a)) / (2 * math.pi * (1.0 + a * a)),
)
rule(
    "nrdtrimn(p, std, x)",
    p=lambda y, p, std, x: -std * ROOT_2PI * np.exp(0.5 * special.ndtri(p) ** 2),
    std=lambda y, p, std, x: -special.ndtri(p),
    x=1.0,
)
rule(
    "nrdtrisd(mn, p, x)",
    mn=lambda y, mn, p, x: -1.0 / special.ndtri(p),
    p=lambda y, mn, p, x: -y / special.ndtri(p) * ROOT_2PI * np.exp(0.5 * special.ndtri(p) ** 2),
    x=lambda y, mn, p, x: 1.0 / special.ndtri(p),
)
