"""Dirichlet's distribution, by functions that have rules. SciPy is called first, for its errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.special.table import special
from shiftreset_ad.rules.stand_ins import carried_out
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.stats.distribution import Distribution, as_doubles, stats


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    x, alpha = operand(x), operand(alpha)
    known = carried_out(stats.dirichlet.logpdf, plain(x), plain(alpha))
    if not (has_number(x) or has_number(alpha)):
        return known
    x, powers, log_scale = on_simplex(x, alpha)
    return np.squeeze(log_scale + np.sum(special.xlogy(powers, x), axis=0))[()]


def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    x, alpha = operand(x), operand(alpha)
    known = carried_out(stats.dirichlet.pdf, plain(x), plain(alpha))
    if not (has_number(x) or has_number(alpha)):
        return known
    x, powers, log_scale = on_simplex(x, alpha)
    zero = x == 0  # there a power has a derivative, but its logarithm has none
    y = np.exp(log_scale + np.sum(special.xlogy(powers, np.where(zero, 1.0, x)), axis=0))
    if np.any(zero):
        y = y * np.prod(np.power(np.where(zero, x, 1.0), powers), axis=0)
    return np.squeeze(y)[()]


def on_simplex(x: Any, alpha: Any) -> tuple[Any, Any, Any]:
    """x with its last component, the exponents of the components, and the logarithm of the factor before the powers."""
    x, alpha = as_doubles("dirichlet", x, alpha)
    if shape_of(x)[0] < shape_of(alpha)[0]:
        x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
    powers = np.reshape(alpha - 1.0, shape_of(alpha) + (1,) * (len(shape_of(x)) - 1))
    return x, powers, special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))


dirichlet = Distribution("dirichlet", {"logpdf": dirichlet_logpdf, "pdf": dirichlet_pdf})
