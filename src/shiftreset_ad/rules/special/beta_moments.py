"""The derivatives of the incomplete beta functions in the parameters, to any order.

As in `gamma_moments`: the derivative of the density f(t; a, b) in a is (log(t) - E log(t)) f. Its integral from 0 to 1
is 0, so the derivative of I_x(a, b) is the integral from 0 to x, or minus the integral from x to 1. (Boik and
Robison-Cox 1998, Derivatives of the incomplete beta function, differentiate the continued fraction.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.special.densities import LITTLE, beta_density
from shiftreset_ad.rules.special.gamma import psi_gap
from shiftreset_ad.rules.special.quadrature import NOTHING, expm1_beyond, integrate, length_of, log1p_beyond, power
from shiftreset_ad.rules.special.table import special, times
from shiftreset_ad.rules.table import dispatched, structured

TINY = 1e-300


def log_of_part(x: Any, rest: Any) -> Any:
    """log(x), from x and `rest` = 1 - x."""
    close = rest < 0.5
    return np.where(close, np.log1p(-np.where(close, rest, 0.0)), np.log(np.where(close, 1.0, x)))


def score(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """log(x) - E log(t), where t is beta-distributed."""
    return log_of_part(x, rest) + psi_gap(a, b)


def in_logits(z: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """The increases of log(u) and log(v), where v = 1 - u, if log(u / v) increases by z."""
    minus = np.log1p(u * np.expm1(z))
    return z - minus, -minus


def log_of_mean(z: Any, u: Any, v: Any) -> Any:
    """log(v + u exp(z)) - u z, which is of second order in z. (v, u, -z) in place of (u, v, z) gives the same."""
    z, u = np.where(u < v, z, -z), np.minimum(u, v)
    expm1 = np.expm1(z)
    w = u * expm1
    log1p = np.log1p(w)
    mean = np.asarray(log1p - u * z)
    near = np.abs(z) < 1
    of_expm1 = expm1_beyond(z[near], expm1[near])
    mean[near] = np.broadcast_to(u, mean.shape)[near] * of_expm1 + log1p_beyond(w[near], log1p[near])
    return mean


def scored_density(a: Any, b: Any, x: Any, rest: Any, j: int, k: int) -> Any:
    """The density times powers of both scores; where a logarithm is infinite, a power of x or 1 - x replaces it."""
    zero, one = x == 0, rest == 0
    density = beta_density(a - LITTLE * zero if j else a, b - LITTLE * one if k else b, x, rest)
    if j:
        of_x = score(a, b, np.where(zero, 0.5, x), np.where(zero, 0.5, rest))
        density = np.where(zero, -1.0, of_x) ** j * density
    if k:
        of_rest = score(b, a, np.where(one, 0.5, rest), np.where(one, 0.5, x))
        density = np.where(one, -1.0, of_rest) ** k * density
    return density


@dispatched
def moment(operands: list[Any], j: int, k: int, above: Any) -> Any:
    """The integral of the beta density times powers of the scores of t and 1 - t, for a, b, x and 1 - x.

    The integral is over t from x to 1 where `above` is true, and otherwise from 0 to x. The logarithm of the integrand
    is a concave function of log(t / (1 - t)). The last operand is needed only because 1 - x might be rounded.
    """
    a, b, x, rest = np.broadcast_arrays(*(np.asarray(operand, float) for operand in operands))
    inside = (a >= 0) & (b >= 0) & (x > 0) & (rest > 0)
    beside = np.where((a >= 0) & (b >= 0) & ((x == 0) | (rest == 0)), 0.0, np.nan)
    a, b = np.maximum(a, TINY), np.maximum(b, TINY)  # at 0, the limit
    a, b = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    x, rest = np.where(inside, x, 0.5), np.where(inside, rest, 0.5)
    # The integral over the part of t or 1 - t from 0 to u.
    p, q = np.where(above, b, a), np.where(above, a, b)
    u, v = np.where(above, rest, x), np.where(above, x, rest)
    fall = p * v - q * u

    def exponent(s: Any, p: Any = p, q: Any = q, u: Any = u, v: Any = v, fall: Any = fall) -> Any:
        return -fall * s - (p + q) * log_of_mean(-s, u, v)

    def slope(s: Any) -> Any:
        part = u * np.exp(-s)
        return (p + q) * (part / (v + part)) - p

    def integrand(s: Any, p: Any, q: Any, u: Any, v: Any, fall: Any, of_u: Any, of_v: Any, above: Any) -> Any:
        more, less = in_logits(-s, u, v)
        more, less = of_u + more, of_v + less
        of_t, of_rest = (np.where(above, less, more) if j else 1.0), (np.where(above, more, less) if k else 1.0)
        return power(of_t, j) * power(of_rest, k) * np.exp(exponent(s, p, q, u, v, fall))

    start = (NOTHING - (p + q) * log_of_part(v, u)) / p
    length = length_of(exponent, slope, start)
    total = integrate(integrand, length, p, q, u, v, fall, score(p, q, u, v), score(q, p, v, u), above)
    return np.where(inside, total * (x * rest * beta_density(a, b, x, rest)), beside)[()]


@structured(moment, "operands", kept=("operands",))
def _moment(operands: list[Any], j: int, k: int, above: Any) -> Any:
    a, b, x, rest = operands

    def slope_in_a() -> Any:
        both = special.zeta(2.0, a + b)
        slope = moment(operands, j + 1, k, above)
        if j:
            slope = slope - j * (special.zeta(2.0, a) - both) * moment(operands, j - 1, k, above)
        return slope + k * both * moment(operands, j, k - 1, above) if k else slope

    def slope_in_b() -> Any:
        both = special.zeta(2.0, a + b)
        slope = moment(operands, j, k + 1, above)
        if k:
            slope = slope - k * (special.zeta(2.0, b) - both) * moment(operands, j, k - 1, above)
        return slope + j * both * moment(operands, j - 1, k, above) if j else slope

    def slope_in_x() -> Any:
        return np.where(above, -1.0, 1.0) * scored_density(a, b, x, rest, j, k)

    y = moment(operands, j, k, above)
    slopes = (slope_in_a, slope_in_b, slope_in_x, lambda: np.zeros(shape_of(y)))
    return y, ([times(slope, operand) for slope, operand in zip(slopes, operands, strict=True)],)


def slope_of_betainc(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """The derivative of I_x(a, b) in a, where `rest` is 1 - x.

    For small parameters, it is the derivative of I_x(a + 1, b) or I_x(a, b + 1), plus a term of the same sign.
    """
    lifted = np.where(a < 1, a + 1.0, a)
    above = x * (lifted + b - 0.5) > lifted - 0.5  # the limit is about where log(x) is equal to its mean
    inside = (x > 0) & (rest > 0)
    in_a, in_b = inside & (a < 1) & ~above, inside & (b < 1) & above
    operands = [np.where(in_a, a + 1.0, a), np.where(in_b, b + 1.0, b), x, rest]
    slope = np.where(above, -1.0, 1.0) * moment(operands, 1, 0, above)
    apart = in_a | in_b
    a, b = np.where(apart, a, 1.0), np.where(apart, b, 1.0)
    x, rest = np.where(apart, x, 0.5), np.where(apart, rest, 0.5)
    raised = np.where(in_a, a + 1.0, a)
    mean = np.where(in_a, 1.0 / (a + b), 0.0) - psi_gap(raised, b)  # psi(raised) - psi(a + b)
    density = beta_density(raised, np.where(in_b, b + 1.0, b), x, rest)
    term = (log_of_part(x, rest) - mean) * density * np.where(in_a, rest, -x) / (a + b)
    return slope + np.where(apart, term, 0.0)
