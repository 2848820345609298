"""The derivatives of the incomplete gamma functions in the parameter, to any order.

The derivative of the density f(t; a) in a is (log(t) - psi(a)) f, so that of P(a, x) is an integral of this from 0 to
x; and, as the whole integral is 0, minus the one from x to infinity. The one that does not pass the zero of the
integrand is computed, without cancellation. Its own derivatives are such integrals with powers of log(t) - psi(a).
(Moore 1982, AS 187, differentiates the series and the continued fraction.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.special.densities import LARGE, gamma_density
from shiftreset_ad.rules.special.quadrature import NOTHING, expm1_beyond, integrate, length_of
from shiftreset_ad.rules.special.table import special, times
from shiftreset_ad.rules.table import dispatched, structured

# B_2k / 2k, with which psi(a) = log(a) - 1 / 2a - (1 / 12) / a**2 - ...
STIRLING = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
TINY = 1e-300


def score(a: Any, x: Any) -> Any:
    """log(x) - psi(a), which cancels where both are large."""
    close = (a > LARGE) & (np.absolute(x - a) < 0.5 * a)
    large = np.where(close, a, LARGE)
    correction: Any = 0.0
    inverse = 1.0 / (large * large)
    for coefficient in reversed(STIRLING):
        correction = inverse * (coefficient + correction)
    near = np.log1p(np.where(close, (x - large) / large, 0.0)) + 0.5 / large + correction
    return np.where(close, near, np.log(np.where(close, 1.0, x)) - special.psi(np.where(close, 1.0, a)))


@dispatched
def moment(operands: list[Any], k: int, above: Any) -> Any:
    """The integral of the gamma density of parameter a times (log(t) - psi(a))**k, for the operands a and x.

    Over t from x to infinity where `above` says so, and else from 0 to x. By t = x exp(z), the logarithm of the
    integrand is concave.
    """
    a, x = np.broadcast_arrays(*(np.asarray(operand, float) for operand in operands))
    inside = (a >= 0) & (x > 0) & (x < np.inf)
    beside = np.where((a >= 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    a = np.maximum(a, TINY)  # 0 is a limit
    a, x, sign = np.where(inside, a, 1.0), np.where(inside, x, 1.0), np.where(above, 1.0, -1.0)

    def exponent(s: Any) -> tuple[Any, Any]:
        z = sign * s
        return (a - x) * z - x * expm1_beyond(z), sign * (a - x * np.exp(z))

    fall = sign * (x - a)  # the exponent is at most -fall s - x s**2 / 2, or x s**2 / (2 + s) for negative z
    linear = np.where(above, fall, 2.0 * fall - NOTHING)
    start = (np.sqrt(linear * linear + np.where(above, 2.0 * x, 8.0 * a) * NOTHING) - linear) / np.where(
        above, x, 2.0 * a
    )
    at_x = score(a, x)
    total = integrate(lambda s: (at_x + sign * s) ** k * np.exp(exponent(s)[0]), length_of(exponent, start))
    return np.where(inside, total * (x * gamma_density(a, x)), beside)[()]


@structured(moment, "operands", kept=("operands",))
def _moment(operands: list[Any], k: int, above: Any) -> Any:
    a, x = operands

    def slope_in_a() -> Any:
        rest = k * special.zeta(2.0, a) * moment(operands, k - 1, above) if k else 0.0
        return moment(operands, k + 1, above) - rest

    def slope_in_x() -> Any:
        return np.where(above, -1.0, 1.0) * score(a, x) ** k * gamma_density(a, x)

    return moment(operands, k, above), ([times(slope_in_a, a), times(slope_in_x, x)],)


def slope_of_gammainc(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) in a.

    For small a, P(a, x) = P(a + 1, x) + x**a exp(-x) / gamma(a + 1), of which both derivatives are negative.
    """
    small = a < 1
    above = x > np.where(small, a + 1.0, a) - 0.5  # about where log(x) is psi
    raised = small & (x <= a + 0.5)
    slope = np.where(above, -1.0, 1.0) * moment([np.where(raised, a + 1.0, a), x], 1, above)
    apart = raised & (x > 0)
    a, x = np.where(apart, a + 1.0, 1.0), np.where(apart, x, 1.0)
    return slope + np.where(apart, score(a, x) * gamma_density(a, x), 0.0)
