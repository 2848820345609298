"""Quasi-Newton methods: they learn the curvature from the gradients (Nocedal and Wright 2006, chapters 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftreset_ad.optimize.line_search import at, downhill
from shiftreset_ad.optimize.objectives import Objective
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.vectors import norm, rows_like
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.plain import plain


def rounds(objective: Objective, x: Primal, curvature: Callable[[Primal], Curvature]) -> Rounds:
    """The rounds of a quasi-Newton method; where its direction leads nowhere, it forgets what it has learnt.

    `curvature` is called with a vector of the kind of all vectors in it.
    """
    here, is_new = at(objective, x), True
    learnt = curvature(here.x + here.residual)
    while True:
        if is_new:
            yield here
        gradient = here.residual
        direction = -learnt.times_inverse(gradient)
        if not float(plain(direction) @ plain(gradient)) < 0.0:
            learnt.forget()
            direction = -gradient
        there = downhill(objective, here, direction, 1.0 if learnt.known else min(1.0, 1.0 / norm(gradient)))
        is_new = not (there.stuck and learnt.known)
        if is_new:
            moved, changed = there.x - here.x, there.residual - gradient
            if float(plain(moved) @ plain(changed)) > 1e-14 * norm(moved) * norm(changed):
                learnt.learn(moved, changed)
            here = there
        else:
            learnt.forget()


class Curvature:
    """What is known of the Hessian."""

    def __init__(self) -> None:
        self.known = False

    def times_inverse(self, v: Primal) -> Primal:
        """The product of the inverse of the Hessian with a vector."""
        raise NotImplementedError

    def learn(self, moved: Primal, changed: Primal) -> None:
        """Take in how the gradient changed along the way."""
        raise NotImplementedError

    def forget(self) -> None:
        """Nothing is known any more."""
        self.known = False


class Dense(Curvature):
    """The approximate inverse of the Hessian as a matrix."""

    def __init__(self, like: Primal) -> None:
        super().__init__()
        self._unit = np.eye(len(plain(like)), dtype=dtype_of(like))
        self._inverse: Primal = self._unit

    def times_inverse(self, v: Primal) -> Primal:
        return self._inverse @ v if self.known else v

    def learn(self, moved: Primal, changed: Primal) -> None:
        product = moved @ changed
        if not self.known:
            self._inverse = product / (changed @ changed) * self._unit
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
    """The last steps, and the changes of the gradient along them, in rows that are used in turn."""

    def __init__(self, memory: int, like: Primal) -> None:
        super().__init__()
        self._memory = memory
        self._moved = rows_like(memory, like)
        self._changed = rows_like(memory, like)
        self._products = rows_like(memory, np.sum(like))
        self._learnt = 0

    def times_inverse(self, v: Primal) -> Primal:
        if not self.known:
            return v
        moved, changed, products, memory, end = self._moved, self._changed, self._products, self._memory, self._learnt
        start, parts = max(end - memory, 0), 0.0 * products
        for k in range(end - 1, start - 1, -1):
            row = k % memory
            part = (moved[row] @ v) / products[row]
            v = v - part * changed[row]
            parts[row] = part
        last = changed[(end - 1) % memory]
        v = products[(end - 1) % memory] / (last @ last) * v
        for k in range(start, end):
            row = k % memory
            v = v + (parts[row] - (changed[row] @ v) / products[row]) * moved[row]
        return v

    def learn(self, moved: Primal, changed: Primal) -> None:
        if not self._memory:
            return
        row = self._learnt % self._memory
        self._moved[row] = moved
        self._changed[row] = changed
        self._products[row] = moved @ changed
        self._learnt += 1
        self.known = True

    def forget(self) -> None:
        self._learnt = 0
        self.known = False


@dataclass(frozen=True)
class BFGS:
    """The method of Broyden, Fletcher, Goldfarb and Shanno. It keeps a matrix of n x n: for hundreds of variables.

    >>> from shiftreset_ad.optimize import argmin
    >>> round(argmin(lambda x: (x - 3.0) ** 4 + x, 0.0, method=BFGS()), 6)
    2.370039
    """

    def __call__(self, objective: Objective, x: Primal) -> Rounds:
        """The rounds from a start."""
        yield from rounds(objective, x, Dense)


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
        yield from rounds(objective, x, lambda like: Limited(self.memory, like))
