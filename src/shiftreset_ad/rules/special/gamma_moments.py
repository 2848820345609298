"""The derivatives of the incomplete gamma functions in the parameter, to any order.

The derivative of the density f(t; a) in a is (log(t) - psi(a)) f. So the derivative of P(a, x) is the integral of this
function from 0 to x. The integral from 0 to infinity is 0, so it is also minus the integral from x to infinity. The
rules compute the one that does not contain the zero of the integrand, without cancellation. Its own derivatives are
such integrals with powers of log(t) - psi(a). (Moore 1982, AS 187, differentiates the series and the continued
fraction.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.special.densities import LARGE, LITTLE, gamma_density
from shiftreset_ad.rules.special.quadrature import NOTHING, expm1_beyond, integrate, length_of, power
from shiftreset_ad.rules.special.table import special, times
from shiftreset_ad.rules.table import dispatched, structured

# B_2k / 2k, the coefficients in psi(a) = log(a) - 1 / 2a - (1 / 12) / a**2 - ...
STIRLING = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
TINY = 1e-300
NEAR_ZERO = 0.1


def score(a: Any, x: Any) -> Any:
    """log(x) - psi(a), computed without cancellation where both are large."""
    close = (a > LARGE) & (np.absolute(x - a) < 0.5 * a)
    large = np.where(close, a, LARGE)
    correction: Any = 0.0
    inverse = 1.0 / (large * large)
    for coefficient in reversed(STIRLING):
        correction = inverse * (coefficient + correction)
    near = np.log1p(np.where(close, (x - large) / large, 0.0)) + 0.5 / large + correction
    return np.where(close, near, np.log(np.where(close, 1.0, x)) - special.psi(np.where(close, 1.0, a)))


def scored_density(a: Any, x: Any, k: int) -> Any:
    """The density times the k-th power of the score; at 0, a power of x replaces its infinite logarithm."""
    if not k:
        return gamma_density(a, x)
    zero = x == 0
    at_x = np.where(zero, -1.0, score(a, np.where(zero | (x == np.inf), 1.0, x)))
    return at_x**k * gamma_density(a - LITTLE * zero, x)


@dispatched
def moment(operands: list[Any], k: int, above: Any, over_t: bool = False) -> Any:
    """The integral of the gamma density of parameter a times (log(t) - psi(a))**k, for the operands a and x.

    The integral is over t from x to infinity where `above` is true, and otherwise from 0 to x. With t = x exp(z), the
    logarithm of the integrand is concave in z. With `over_t`, it is the density of parameter a + 1, divided by t.
    """
    a, x = np.broadcast_arrays(*(np.asarray(operand, float) for operand in operands))
    inside = (a >= 0) & (x > 0) & (x < np.inf)
    beside = np.where((a >= 0) & ((x == 0) | (x == np.inf)), 0.0, np.nan)
    a = np.maximum(a, TINY)  # at 0, the limit
    a, x, sign = np.where(inside, a, 1.0), np.where(inside, x, 1.0), np.where(above, 1.0, -1.0)

    def exponent(s: Any, a: Any = a, x: Any = x, sign: Any = sign) -> Any:
        z = sign * s
        return (a - x) * z - x * expm1_beyond(z, np.expm1(z))

    def slope(s: Any) -> Any:
        return sign * (a - x * np.exp(sign * s))

    def integrand(s: Any, a: Any, x: Any, sign: Any, at_x: Any) -> Any:
        return power(at_x + sign * s, k) * np.exp(exponent(s, a, x, sign))

    fall = sign * (x - a)  # the exponent is at most -fall s - x s**2 / 2, or x s**2 / (2 + s) for negative z
    linear = np.where(above, fall, 2.0 * fall - NOTHING)
    start = (np.sqrt(linear * linear + np.where(above, 2.0 * x, 8.0 * a) * NOTHING) - linear) / np.where(
        above, x, 2.0 * a
    )
    lifted = a + 1.0 if over_t else a
    at_x = score(lifted, x)
    total = integrate(integrand, length_of(exponent, slope, start), a, x, sign, at_x)
    density = gamma_density(lifted, x)
    return np.where(inside, total * (density if over_t else x * density), beside)[()]


@structured(moment, "operands", kept=("operands",))
def _moment(operands: list[Any], k: int, above: Any, over_t: bool = False) -> Any:
    a, x = operands
    lifted = a + 1.0 if over_t else a

    def slope_in_a() -> Any:
        rest = k * special.zeta(2.0, lifted) * moment(operands, k - 1, above, over_t) if k else 0.0
        return moment(operands, k + 1, above, over_t) - rest

    def slope_in_x() -> Any:
        density = np.where(above, -1.0, 1.0) * scored_density(lifted, x, k)
        return density / x if over_t else density

    return moment(operands, k, above, over_t), ([times(slope_in_a, a), times(slope_in_x, x)],)


def slope_of_gammainc(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) in a.

    For small a, P(a, x) = P(a + 1, x) + x**a exp(-x) / gamma(a + 1); the derivatives of both terms are negative.
    """
    small = a < 1
    above = x > np.where(small, a + 1.0, a) - 0.5  # the limit is about where log(x) is equal to psi
    raised = small & (x <= a + 0.5) & (x > 0)
    tiny = (a < NEAR_ZERO) & (x > a + 0.5)
    kept_a, kept_x = np.where(tiny, 1.0, np.where(raised, a + 1.0, a)), np.where(tiny, 1.0, x)
    slope = np.where(above, -1.0, 1.0) * moment([kept_a, kept_x], 1, above)
    if np.any(tiny):
        slope = np.where(tiny, slope_near_zero(np.where(tiny, a, 1.0), np.where(tiny, x, 1.0)), slope)
    a, x = np.where(raised, a + 1.0, 1.0), np.where(raised, x, 1.0)
    return slope + np.where(raised, score(a, x) * gamma_density(a, x), 0.0)


def slope_near_zero(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) for tiny a: 1 - P(a, x) is a times an integral that, unlike psi(a), is finite at 0."""
    return -(moment([a, x], 0, True, True) + a * moment([a, x], 1, True, True))
