"""Quasi-Newton methods: they learn the curvature from the gradients (Nocedal and Wright 2006, chapters 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftreset_ad.optimize.line_search import at, downhill
from shiftreset_ad.optimize.objectives import Objective
from shiftreset_ad.optimize.results import Iterate
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.vectors import norm
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain


def rounds(objective: Objective, x: Primal, curvature: Callable[[], Curvature]) -> Rounds:
    """The rounds of a quasi-Newton method; where its direction leads nowhere, it forgets what it has learnt."""
    here, learnt = at(objective, x), curvature()
    while True:
        yield here
        gradient = here.residual
        direction = -learnt.times_inverse(gradient)
        if not float(plain(direction) @ plain(gradient)) < 0.0:
            learnt, direction = curvature(), -gradient
        there = downhill(objective, here, direction, 1.0 if learnt.known else min(1.0, 1.0 / norm(gradient)))
        if isinstance(there, str) and learnt.known:
            learnt = curvature()
            there = downhill(objective, here, -gradient, min(1.0, 1.0 / norm(gradient)))
        if isinstance(there, str):
            return there
        moved, changed = there.x - here.x, there.residual - gradient
        if float(plain(moved) @ plain(changed)) > 1e-14 * norm(moved) * norm(changed):
            learnt.learn(moved, changed)
        here = Iterate(*there)


class Curvature:
    """What is known of the Hessian."""

    known = False

    def times_inverse(self, v: Primal) -> Primal:
        """The product of the inverse of the Hessian with a vector."""
        raise NotImplementedError

    def learn(self, moved: Primal, changed: Primal) -> None:
        """Take in how the gradient changed along the way."""
        raise NotImplementedError


class Dense(Curvature):
    """The approximate inverse of the Hessian as a matrix."""

    def __init__(self) -> None:
        self._inverse: Primal = None

    def times_inverse(self, v: Primal) -> Primal:
        return v if self._inverse is None else self._inverse @ v

    def learn(self, moved: Primal, changed: Primal) -> None:
        product = moved @ changed
        if self._inverse is None:
            self._inverse = product / (changed @ changed) * np.eye(len(plain(moved)))
        image = self._inverse @ changed
        cross = np.outer(moved, image) / product
        self._inverse = (
            self._inverse
            - cross
            - np.transpose(cross)
            + np.outer(moved, moved) * ((1.0 + (changed @ image) / product) / product)
        )
        self.known = True


class Limited(Curvature):
    """The last steps, and the changes of the gradient along them."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._steps: list[tuple[Primal, Primal, Primal]] = []

    def times_inverse(self, v: Primal) -> Primal:
        if not self._steps:
            return v
        parts = []
        for moved, changed, product in reversed(self._steps):
            part = (moved @ v) / product
            v = v - part * changed
            parts.append(part)
        _, changed, product = self._steps[-1]
        v = product / (changed @ changed) * v
        for (moved, changed, product), part in zip(self._steps, reversed(parts), strict=True):
            v = v + (part - (changed @ v) / product) * moved
        return v

    def learn(self, moved: Primal, changed: Primal) -> None:
        self._steps = [*self._steps, (moved, changed, moved @ changed)][-self._memory :]
        self.known = True


@dataclass(frozen=True)
class BFGS:
    """The method of Broyden, Fletcher, Goldfarb and Shanno. It keeps a matrix of n x n: for hundreds of variables.

    >>> from shiftreset_ad.optimize import argmin
    >>> round(argmin(lambda x: (x - 3.0) ** 4 + x, 0.0, method=BFGS()), 6)
    2.370039
    """

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        return rounds(objective, x, Dense)


@dataclass(frozen=True)
class LBFGS:
    """BFGS by the last `memory` steps alone, for any number of variables.

    >>> from shiftreset_ad.optimize import argmin
    >>> round(argmin(lambda x: (x - 3.0) ** 4 + x, 0.0, method=LBFGS()), 6)
    2.370039
    """

    memory: int = 20

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        return rounds(objective, x, lambda: Limited(self.memory))
