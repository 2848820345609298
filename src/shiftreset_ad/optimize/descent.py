"""Gradient descent: along the gradient, as far as a line search says."""

from __future__ import annotations

from dataclasses import dataclass

from shiftreset_ad.optimize.line_search import NONE_LOWER, TRIALS, at, bracket, golden_section
from shiftreset_ad.optimize.objectives import Objective
from shiftreset_ad.optimize.results import Iterate, reason
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain

NEVER_RISES = reason("the function has no minimum along the gradient: it does not rise again")


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent to the minimum along each line, as in Pearlmutter and Siskind 2008, section 5.

    The search for a bracket begins with the steps `first`; the golden section ends at a relative `width`.

    >>> from shiftreset_ad.optimize import argmin
    >>> round(argmin(lambda x: (x - 3.0) ** 2, 0.0, method=GradientDescent()), 6)
    3.0
    """

    first: tuple[float, float] = (-100.0, 100.0)
    width: float = 1e-3

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        while True:
            here = at(objective, x)
            yield here
            gradient = here.residual

            def along(step: float, here: Iterate = here) -> float:
                return float(plain(objective.value(here.x + step * here.residual)))

            found = bracket(along, *self.first)
            if found is None:
                yield here._replace(stuck=NEVER_RISES)
                return
            x = x + golden_section(along, *found, self.width) * gradient


@dataclass(frozen=True)
class ProjectedGradient:
    """Gradient descent that is projected to what the constraint allows, with steps of Barzilai and Borwein.

    A step is halved until the value is lower than the largest of the last `memory` values (Birgin, Martinez and Raydan,
    SPG, 2000). Without a constraint it is the spectral gradient method.

    >>> from shiftreset_ad.optimize import Box, argmin
    >>> argmin(lambda x: (x - 3.0) ** 2, 0.0, constraint=Box(-1.0, 2.0), method=ProjectedGradient())
    2.0
    """

    memory: int = 10
    decrease: float = 1e-4

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        value, gradient = objective.value_and_gradient(objective.project(x))
        x, step = objective.project(x), 1.0
        values = [float(plain(value))] * max(self.memory, 1)
        while True:
            here = Iterate(x, value, objective.residual(x, gradient))
            yield here
            direction = objective.project(x - step * gradient) - x
            slope = float(plain(gradient) @ plain(direction))
            length, highest, there = 1.0, max(values), x
            for _ in range(TRIALS):
                there = x + length * direction
                found = float(plain(objective.value(there)))
                if found <= highest + self.decrease * length * slope + 1e-15 * abs(highest):
                    break
                length *= 0.5
            else:
                yield here._replace(stuck=NONE_LOWER)
                return
            value, new = objective.value_and_gradient(there)
            values = [*values[1:], float(plain(value))]
            moved, changed = plain(there) - plain(x), plain(new) - plain(gradient)
            curvature = float(moved @ changed)
            step = min(max(float(moved @ moved) / curvature, 1e-10), 1e10) if curvature > 0.0 else min(step * 4, 1e10)
            x, gradient = there, new


@dataclass(frozen=True)
class Armijo:
    """Gradient descent with steps that are halved until the value falls enough (Armijo 1966).

    Each search begins with twice the step of the last one; `first` is the first step, and `decrease` is the part of the
    decrease promised by the slope that is enough.

    >>> from shiftreset_ad.optimize import argmin
    >>> round(argmin(lambda x: (x - 3.0) ** 2, 0.0, method=Armijo()), 6)
    3.0
    """

    first: float = 1.0
    decrease: float = 0.5

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        here, step = at(objective, x), self.first
        while True:
            yield here
            promised = float(plain(here.residual) @ plain(here.residual))
            base = float(plain(here.value))
            for _ in range(TRIALS):
                there = at(objective, here.x - step * here.residual)
                if float(plain(there.value)) <= base - self.decrease * step * promised + 1e-15 * abs(base):
                    break
                step *= 0.5
            else:
                yield here._replace(stuck=NONE_LOWER)
                return
            here, step = there, 2.0 * step
