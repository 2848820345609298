"""Equations in as many unknowns, and the ways to solve them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.optimize.krylov import by_gmres, is_good
from shiftreset_ad.optimize.line_search import TRIALS
from shiftreset_ad.optimize.objectives import vector_like
from shiftreset_ad.optimize.results import Iterate, reason
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.vectors import Structure, norm, rows_like
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.transforms.products import jvp


class Equations:
    """A function from a structure to a structure like it, whose residual is to be zero.

    For a fixed point, the residual is f(x) - x.
    """

    __slots__ = ("_args", "_f", "_is_fixed", "name", "structure")

    def __init__(
        self, name: str, f: Callable[..., Any], args: tuple[Any, ...], structure: Structure, is_fixed: bool
    ) -> None:
        self.name = name
        self.structure = structure
        self._f = f
        self._args = args
        self._is_fixed = is_fixed

    def conditions(self, x: Primal) -> Primal:
        """The residual at a vector."""
        y = self._f(self.structure.tree_of(x), *self._args)
        y = vector_like(self.structure, y, self.name, "the function")
        return y - x if self._is_fixed else y

    def at(self, x: Primal) -> Iterate:
        """A vector with its residual."""
        residual = self.conditions(x)
        return Iterate(x, norm(residual), residual)


DAMPING = 1e-10
SINGULAR = reason("the Jacobian is singular there")
NONE_SHORTER = reason("no step of Newton's makes the residual shorter than {residual:.1e}")

Solver: TypeAlias = Callable[[Equations, Primal], Rounds]


@dataclass(frozen=True)
class Newton:
    """Newton's method: each step by products with the Jacobian, halved until the residual is shorter.

    Knoll and Keyes, Jacobian-free Newton-Krylov methods, 2004.

    >>> from shiftreset_ad.optimize import root
    >>> round(root(lambda x: x**3 - 8.0, 1.0, method=Newton()), 6)
    2.0
    """

    def __call__(self, equations: Equations, x: Primal) -> Rounds:
        """The rounds from a start."""
        here = equations.at(x)
        while True:
            yield here
            step, is_solved = newton_step(equations, here)
            if not is_solved:
                yield here._replace(stuck=SINGULAR)
                return
            length, there = 1.0, here
            for _ in range(TRIALS):
                there = equations.at(here.x + length * step)
                if there.value <= (1.0 - 1e-4 * length) * here.value:
                    break
                length *= 0.5
            else:
                yield here._replace(stuck=NONE_SHORTER)
                return
            here = there


def newton_step(equations: Equations, here: Iterate) -> tuple[Primal, bool]:
    """Where Newton's method goes, and whether the Jacobian tells it."""

    def product(v: Primal) -> Primal:
        return jvp(equations.conditions, (here.x,), (v,))[1]

    found = by_gmres(product, -here.residual)
    return found.x, is_good(found)


@dataclass(frozen=True)
class Iteration:
    """The function, applied again and again: x becomes f(x).

    >>> from shiftreset_ad.optimize import fixed_point
    >>> round(fixed_point(lambda x: 0.5 * x + 1.0, 0.0, method=Iteration()), 6)
    2.0
    """

    def __call__(self, equations: Equations, x: Primal) -> Rounds:
        """The rounds from a start."""
        while True:
            here = equations.at(x)
            yield here
            x = x + here.residual


@dataclass(frozen=True)
class Anderson:
    """The function, applied again and again, and extrapolated from the last `memory` rounds.

    Anderson 1965; Walker and Ni, Anderson acceleration for fixed-point iterations, 2011.

    >>> from shiftreset_ad.optimize import fixed_point
    >>> round(fixed_point(lambda x: 2.0 - 0.9 * x, 0.0, method=Anderson()), 6)
    1.052632
    """

    memory: int = 5

    def __call__(self, equations: Equations, x: Primal) -> Rounds:
        """The rounds from a start."""
        size = equations.structure.size
        memory = min(self.memory, size)  # more rounds than unknowns depend on one another
        here = equations.at(x)
        points, residuals, done = rows_like(memory, here.residual + x), rows_like(memory, here.residual + x), 0
        while True:
            yield here
            x = here.x + here.residual
            if memory:
                is_known = np.reshape(np.arange(memory) < done, (memory, 1))
                changes, moves = (here.residual - residuals) * is_known, (here.x - points) * is_known
                weights = _least_squares(np.transpose(changes), here.residual)
                x = x - weights @ (moves + changes)
                points[done % memory], residuals[done % memory] = here.x, here.residual
            here, done = equations.at(x), done + 1


def _least_squares(a: Primal, b: Primal) -> Primal:
    """The least squares solution, with a little damping, as columns may be nearly dependent."""
    lengths = np.linalg.norm(plain(a), axis=0)
    scales = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    a = a * scales
    square = np.transpose(a) @ a + DAMPING * np.eye(len(scales))
    return scales * np.linalg.solve(square, np.transpose(a) @ b)
