"""Searches along a line: how far to go in a given direction.

Steps are plain numbers: a search makes them of constants, by comparisons. So a derivative through a solver goes through
the points alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shiftreset_ad.optimize.objectives import Objective, is_finite
from shiftreset_ad.optimize.results import Iterate, reason
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain

GOLDEN = 1.61803399  # to the digits of Press et al.
LIMIT = 100.0  # of the last interval, how many times as far a parabola may lead
TINY = 1e-20  # in place of a divisor of zero
FARTHEST = 1e50  # where the search for a bracket gives up
DECREASE = 1e-4  # of the decrease that the slope promises, the part that is enough
FLATTER = 0.9  # of the slope, the part that may remain
NOISE = 1e-15  # the rounding of a value, relative to it
TRIALS = 200  # enough to come to the farthest step
FALLS_FOREVER = reason("the function falls without end")
NONE_LOWER = reason("no step finds a lower value, and the residual is {residual:.1e}")

Line = Callable[[float], float]  # the plain value at a step


def bracket(f: Line, a: float, b: float) -> tuple[float, float, float] | None:
    """Steps a, b, c in order, with f(b) below f(a) and f(c): downhill, by `mnbrak` of Press et al. 1992.

    Each trial is the vertex of the parabola through the last three points, if it is not too far away, and otherwise a
    growing step. None if the function does not rise again.
    """
    f_a, f_b = f(a), f(b)
    if f_b > f_a:
        a, f_a, b, f_b = b, f_b, a, f_a
    c = b + GOLDEN * (b - a)
    f_c = f(c)
    while not f_b < f_c:
        if abs(c) > FARTHEST:
            return None
        onwards, farthest = c + GOLDEN * (c - b), b + LIMIT * (c - b)
        trial = vertex((a, f_a), (b, f_b), (c, f_c))
        if (b - trial) * (trial - c) > 0.0:
            f_trial = f(trial)
            if f_trial < f_c:
                return b, trial, c
            if f_trial > f_b:
                return a, b, trial
            trial, f_trial = onwards, f(onwards)
        elif (c - trial) * (trial - farthest) > 0.0:
            f_trial = f(trial)
            if f_trial < f_c:
                onwards = trial + GOLDEN * (trial - c)
                b, f_b, c, f_c, trial, f_trial = c, f_c, trial, f_trial, onwards, f(onwards)
        else:
            trial = farthest if (trial - farthest) * (farthest - c) >= 0.0 else onwards
            f_trial = f(trial)
        a, f_a, b, f_b, c, f_c = b, f_b, c, f_c, trial, f_trial
    return a, b, c


def vertex(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Where the parabola through three points is flat; far away if they lie on a line."""
    (x_a, f_a), (x_b, f_b), (x_c, f_c) = a, b, c
    r, q = (x_b - x_a) * (f_b - f_c), (x_b - x_c) * (f_b - f_a)
    return x_b - ((x_b - x_c) * q - (x_b - x_a) * r) / (2.0 * math.copysign(max(abs(q - r), TINY), q - r))


def golden_section(f: Line, a: float, b: float, c: float, tolerance: float) -> float:
    """Where f is least between a and c, given that f(b) is below f(a) and f(c): `golden` of Press et al. 1992."""
    long = GOLDEN - 1.0
    short = 1.0 - long
    if abs(c - b) > abs(b - a):
        left, right = b, b + short * (c - b)
    else:
        left, right = b - short * (b - a), b
    f_left, f_right = f(left), f(right)
    while abs(c - a) > tolerance * (abs(left) + abs(right)):
        if f_right < f_left:
            a, left, f_left, right = left, right, f_right, long * right + short * c
            f_right = f(right)
        else:
            c, right, f_right, left = right, left, f_left, long * left + short * a
            f_left = f(left)
    return left if f_left < f_right else right


def downhill(objective: Objective, start: Iterate, direction: Primal, first: float) -> Iterate:
    """A point along a direction by the rules of Wolfe, by halving (Lewis and Overton 2013); the start if it is stuck.

    A point whose value is lower within rounding, and whose slope is flat enough, counts too (Hager and Zhang 2005):
    near a minimum, slopes still tell where to go when values do not.
    """
    x, value, gradient, _ = start
    base, slope = float(plain(value)), float(plain(gradient) @ plain(direction))
    low, high, step = 0.0, float("inf"), first
    for _ in range(TRIALS):
        there = at(objective, x + step * direction)
        found, flatter = float(plain(there.value)), float(plain(there.residual) @ plain(direction))
        lower = found <= base + DECREASE * step * slope
        as_low = (found <= base + NOISE * abs(base)) & (flatter <= (2 * DECREASE - 1) * slope)
        if not (lower | as_low) & is_finite(there.residual):
            high = step
        elif flatter < FLATTER * slope:
            low = step
        else:
            return there
        step = 0.5 * (low + high) if high < float("inf") else 2.0 * low
        if step > FARTHEST:
            return start._replace(stuck=FALLS_FOREVER)
    return start._replace(stuck=NONE_LOWER)


def at(objective: Objective, x: Primal) -> Iterate:
    """The point with its value and its gradient."""
    return Iterate(x, *objective.value_and_gradient(x))
