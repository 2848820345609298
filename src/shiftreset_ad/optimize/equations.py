"""Equations in as many unknowns, and the ways to solve them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.optimize.implicit import solved_by_products
from shiftreset_ad.optimize.line_search import TRIALS
from shiftreset_ad.optimize.objectives import vector_like
from shiftreset_ad.optimize.results import Iterate
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.vectors import Structure, norm
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
            try:
                step = newton_step(equations, here)
            except np.linalg.LinAlgError:
                return "the Jacobian is singular there"
            length = 1.0
            for _ in range(TRIALS):
                there = equations.at(here.x + length * step)
                if there.value <= (1.0 - 1e-4 * length) * here.value:
                    break
                length *= 0.5
            else:
                return f"no step of Newton's makes the residual shorter than {here.value:.1e}"
            here = there


def newton_step(equations: Equations, here: Iterate) -> Primal:
    """Where Newton's method goes."""

    def product(v: Primal) -> Primal:
        return jvp(equations.conditions, (here.x,), (v,))[1]

    return solved_by_products(equations.name, product, -here.residual, is_definite=False)


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
        last: list[Iterate] = []
        memory = min(self.memory, equations.structure.size)  # more rounds than unknowns depend on one another
        while True:
            here = equations.at(x)
            yield here
            x = here.x + here.residual
            if last:
                changes = np.stack([here.residual - before.residual for before in last], axis=1)
                moves = np.stack([here.x - before.x for before in last], axis=1)
                weights = _least_squares(changes, here.residual)
                x = x - (moves + changes) @ weights
            last = [*last, here][-memory:] if memory else []


def _least_squares(a: Primal, b: Primal) -> Primal:
    """The least squares solution, with a little damping, as columns may be nearly dependent."""
    lengths = np.linalg.norm(plain(a), axis=0)
    scales = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    a = a * scales
    square = np.transpose(a) @ a + DAMPING * np.eye(len(scales))
    return scales * np.linalg.solve(square, np.transpose(a) @ b)
