"""The programs `saddle` and `particle` of the Stalingrad benchmarks, in each mix of forward and reverse mode.

Both nest one derivative in another. `saddle` minimises over one point what an opponent maximises over another point:
the outer gradient goes through the inner optimisation. `particle` chooses the place of a charge so that a particle
lands as near to zero as it can: the outer gradient goes through a simulation in which each step needs a gradient.
"fr" is forward mode outside and reverse mode inside, and so on. The answers are those that Siskind and Pearlmutter
report for these programs, and all mixes must give them.

All mixes give every digit of the saddle. The last three digits of the particle are rounding: without rounding, in 50
digits, the published program gives 0.2071918746486109. In floats they depend on the order of sums and on the formulas
of the derivatives: the authors' Stalingrad distribution itself records 0.20719187464861197, in
`examples/automatic/particle.vlad`. `tests/test_particle.py` shows both.

    python examples/nested_modes.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeAlias

from table import print_table

from shiftreset_ad import grad, jvp, value

Point: TypeAlias = tuple[float, ...]
Function: TypeAlias = Callable[[Point], float]
Gradient: TypeAlias = Callable[[Function], Callable[[Point], Point]]

KNOWN = {"saddle": 8.246324826140356e-06, "particle": 0.20719187464861194}
TOLERANCE = 1e-13  # relative: sums may be taken in another order
SMALL = 1e-5  # the gradient and the step at which a descent ends


def by_directions(f: Function) -> Callable[[Point], Point]:
    """The gradient in forward mode, one direction after the other."""

    def gradient(x: Point) -> Point:
        units = [tuple(float(i == j) for j in range(len(x))) for i in range(len(x))]
        return tuple(jvp(f, (x,), (unit,))[1] for unit in units)

    return gradient


MODES: dict[str, Gradient] = {"f": by_directions, "r": grad}


def plus(x: Point, factor: float, y: Point) -> Point:
    """The point x + factor y."""
    return tuple(a + factor * b for a, b in zip(x, y, strict=True))


def distance(x: Point, y: Point) -> float:
    """The distance of two points."""
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) ** 0.5


def argmin(f: Function, x: Point, gradient: Gradient) -> Point:
    """Where f is least: gradient descent, whose step doubles after ten successes and halves after a failure."""
    slope_of = gradient(f)
    step, successes, f_x, slope = 1e-5, 0, f(x), slope_of(x)
    while math.hypot(*map(value, slope)) > SMALL:
        if successes == 10:
            step, successes = 2.0 * step, 0
        there = plus(x, -step, slope)
        if distance(value(x), value(there)) <= SMALL:
            break
        f_there = f(there)
        if f_there < f_x:
            x, f_x, slope, successes = there, f_there, slope_of(there), successes + 1
        else:
            step, successes = 0.5 * step, 0
    return x


def saddle(outer: Gradient, inner: Gradient) -> float:
    """The first coordinate of the saddle point of x^2 + y^2 - u^2 - v^2."""

    def payoff(x: Point, u: Point) -> float:
        return x[0] ** 2 + x[1] ** 2 - (u[0] ** 2 + u[1] ** 2)

    def worst(x: Point) -> float:
        return payoff(x, argmin(lambda u: -payoff(x, u), (1.0, 1.0), inner))

    return argmin(worst, (1.0, 1.0), outer)[0]


def particle(outer: Gradient, inner: Gradient) -> float:
    """The place of the charge for which the particle lands at zero."""

    def square_of_landing(w: Point) -> float:
        charges = ((10.0, 10.0 - w[0]), (10.0, 0.0))
        pull = inner(lambda x: sum(1.0 / distance(x, charge) for charge in charges))
        x: Point = (0.0, 8.0)
        velocity: Point = (0.75, 0.0)
        while True:
            force = pull(x)
            there = plus(x, 0.1, velocity)
            if there[1] <= 0.0:
                return plus(x, -x[1] / velocity[1], velocity)[0] ** 2
            x, velocity = there, plus(velocity, -0.1, force)

    return argmin(square_of_landing, (0.0,), outer)[0]


def main() -> int:
    """Run both programs in all mixes; 1 if an answer is another one."""
    rows, is_right = [], True
    for name, program in (("saddle", saddle), ("particle", particle)):
        for outer, inner in ("ff", "fr", "rf", "rr"):
            begin = time.perf_counter()
            found = float(program(MODES[outer], MODES[inner]))
            is_right &= math.isclose(found, KNOWN[name], rel_tol=TOLERANCE)
            rows.append([name, outer + inner, repr(found), repr(KNOWN[name]), f"{time.perf_counter() - begin:.2f}"])
    print_table("nested derivatives, outside and inside", ["program", "modes", "found", "known", "seconds"], rows)
    print(f"all answers {'AGREE' if is_right else 'DO NOT AGREE'} with the known ones")
    return 0 if is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
