"""Newton's method for minima, by products with the Hessian alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftreset_ad.optimize.line_search import at, downhill
from shiftreset_ad.optimize.objectives import Objective, Product
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.vectors import norm
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain


@dataclass(frozen=True)
class NewtonCG:
    """Newton's method: conjugate gradients find each step, by products with the Hessian, which is never built.

    The equation is solved the more precisely the closer the minimum is, and a direction of negative curvature ends its
    solution (Nocedal and Wright 2006, algorithm 7.1). Pearlmutter and Siskind 2008, section 5, has the products.

    >>> from shiftreset_ad.optimize import argmin
    >>> round(argmin(lambda x: (x - 3.0) ** 4 + x, 0.0, method=NewtonCG()), 6)
    2.370039
    """

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        here = at(objective, x)
        while True:
            yield here
            direction = newton_step(objective.hessian_at(here.x), here.residual)
            here = downhill(objective, here, direction, 1.0)


def newton_step(product: Product, gradient: Primal) -> Primal:
    """Newton's step, as far as conjugate gradients go before the curvature is negative; the gradient's way if none."""
    size = norm(gradient)
    enough = min(0.5, float(np.sqrt(size))) * size
    step, residual = 0.0 * gradient, gradient
    direction, square = -residual, residual @ residual
    for k in range(2 * len(plain(gradient)) + 10):
        if norm(residual) <= enough:
            break
        image = product(direction)
        curvature = direction @ image
        if not float(plain(curvature)) > 1e-14 * float(plain(direction) @ plain(direction)):
            return direction if k == 0 else step
        length = square / curvature
        step = step + length * direction
        residual = residual + length * image
        square, before = residual @ residual, square
        direction = -residual + (square / before) * direction
    return step
