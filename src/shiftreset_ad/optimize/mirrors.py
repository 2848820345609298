"""Mirror descent: steps in another geometry, which keeps a constraint without a projection.

A mirror map takes a point to its mirror image, and `back` takes the image to the point. The steps add gradients to the
image. On the simplex the usual map is the logarithm, and `back` is the softmax: each step multiplies the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from shiftreset_ad.optimize.constraints import Simplex
from shiftreset_ad.optimize.line_search import NOISE, NONE_LOWER, TRIALS, at
from shiftreset_ad.optimize.objectives import Objective, is_finite, vector_like
from shiftreset_ad.optimize.results import Iterate
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain

Map: TypeAlias = Callable[[Any], Any]  # from a structure to a structure like it


class Mirror(NamedTuple):
    """A mirror map `into`, which is the gradient of a convex function, and its inverse `back`.

    Both take a structure like the variables, and return one. `back` returns what the constraint allows.
    """

    into: Map
    back: Map


@dataclass(frozen=True)
class MirrorDescent:
    """Mirror descent: x becomes back(into(x) - step * gradient), and so stays where `back` leads.

    Without a `mirror`, a `Simplex` has the entropy's, by which weights are multiplied (Kivinen and Warmuth 1997), and
    variables without a constraint have the identity. A step begins with twice the last one, at first with `first`, and
    is halved until the value falls enough. Raises ValueError for a start at the border, where the image is not finite.
    Nemirovsky and Yudin 1983; Beck and Teboulle 2003.

    >>> from shiftreset_ad.optimize import Box, argmin
    >>> positive = MirrorDescent(Mirror(np.log, np.exp))
    >>> round(argmin(lambda x: x - 2.0 * np.log(x), 1.0, constraint=Box(0.0, np.inf), method=positive), 6)
    2.0
    """

    mirror: Mirror | None = None
    first: float = 1.0

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        into, back = _maps(self.mirror, objective)
        x, step = objective.project(x), self.first
        with np.errstate(divide="ignore"):
            image = into(x)
        if not is_finite(image):
            raise ValueError(
                f"{objective.name}: the start of mirror descent lies at the border, where the mirror map is not "
                "finite. Give a start inside: positive weights, for example"
            )
        here = at(objective, back(image))
        while True:
            shown = here._replace(residual=objective.residual(here.x, here.residual))
            yield shown
            base, gradient = float(plain(here.value)), here.residual
            for _ in range(TRIALS):
                reflected = image - step * gradient
                there = at(objective, back(reflected))
                if _is_lower(base, gradient, here.x, there):
                    break
                step *= 0.5
            else:
                yield shown._replace(stuck=NONE_LOWER)
                return
            here, image, step = there, reflected, 2.0 * step


def _is_lower(base: float, gradient: Primal, x: Primal, there: Iterate) -> bool:
    """Whether the value falls by half of what the slope promises; near a minimum, the slopes tell."""
    moved = plain(there.x) - plain(x)
    promised, found = float(plain(gradient) @ moved), float(plain(there.value))
    as_low = found <= base + NOISE * abs(base) and float(plain(there.residual) @ moved) <= 0.0
    return found <= base + 0.5 * promised or as_low


def _maps(mirror: Mirror | None, objective: Objective) -> tuple[Map, Map]:
    """The mirror map and its inverse, on vectors."""
    constraint, structure = objective.projection, objective.structure
    if mirror is not None:
        into, back = (
            lambda x, of=of: vector_like(structure, of(structure.tree_of(x)), objective.name, "the mirror map")
            for of in mirror
        )
        return into, back
    if isinstance(constraint, Simplex):
        return np.log, lambda image: constraint.total * _softmax(image)
    if constraint is None:
        return lambda x: x, lambda image: image
    raise ValueError(
        f"{objective.name}: mirror descent knows the mirror map of a Simplex only. Give MirrorDescent(Mirror(into, "
        "back)) for another constraint, or use method='projected-gradient'"
    )


def _softmax(image: Primal) -> Primal:
    weights = np.exp(image - np.max(plain(image)))
    return weights / np.sum(weights)
