"""Games of two players as solvers see them, and the ways to a saddle point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.optimize.line_search import TRIALS
from shiftreset_ad.optimize.objectives import Objective, Product, Projection
from shiftreset_ad.optimize.results import Iterate, reason
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.vectors import Structure, norm
from shiftreset_ad.rules.annotations import Primal

Projections: TypeAlias = tuple[Projection | None, Projection | None]
CHANGES_TOO_FAST = reason("the field of the game changes too fast for any step")


class Game:
    """A payoff f(x, y) of the two players' variables together. Its field is where each of them wants to go, negated."""

    __slots__ = ("_objective", "_signs", "is_free", "name", "structure")

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        projections: Projections,
        structure: Structure,
        size_of_x: int,
    ) -> None:
        def payoff(players: Any) -> Any:
            return f(*players, *args)

        def project(players: Any) -> Any:
            return tuple(
                player if projection is None else projection(player)
                for player, projection in zip(players, projections, strict=True)
            )

        self.is_free = all(projection is None for projection in projections)
        self.name = name
        self.structure = structure
        self._objective = Objective(name, payoff, (), None if self.is_free else project, structure, 1.0)
        self._signs = np.where(np.arange(structure.size) < size_of_x, 1.0, -1.0).astype(structure.dtype)

    def value(self, z: Primal) -> Primal:
        """The payoff."""
        return self._objective.value(z)

    def project(self, z: Primal) -> Primal:
        """The nearest vector that both constraints allow."""
        return self._objective.project(z)

    def at(self, z: Primal) -> tuple[Primal, Primal]:
        """The payoff and the field."""
        value, gradient = self._objective.value_and_gradient(z)
        return value, self._signs * gradient

    @property
    def parts(self) -> tuple[Primal, Primal]:
        """Ones where a vector belongs to x, and ones where it belongs to y."""
        return np.maximum(self._signs, 0.0), np.maximum(-self._signs, 0.0)

    def hessian_at(self, z: Primal) -> Product:
        """The product with the Hessian of the payoff at a vector."""
        return self._objective.hessian_at(z)

    def residual(self, z: Primal, field: Primal) -> Primal:
        """What is zero at a saddle point."""
        return self._objective.residual(z, field)

    def conditions(self, z: Primal) -> Primal:
        """The residual as a function of the vector alone."""
        return self.residual(z, self.at(z)[1])

    def unprojected(self, z: Primal) -> Primal:
        """A vector whose projection is `z`, if `z` is a saddle point."""
        return z if self._objective.projection is None else z - self.at(z)[1]


@dataclass(frozen=True)
class Extragradient:
    """Each round looks ahead by a step along the field, and goes along the field from there (Korpelevich 1976).

    A step begins with `first`, and is shortened until the field changes by less than the part `change` of the way
    (Khobotov 1987).

    >>> from shiftreset_ad.optimize import minimax
    >>> result = minimax(lambda x, y: x * y + x * x, 1.0, 1.0, method=Extragradient())
    >>> abs(result.x) < 1e-7, abs(result.y) < 1e-7
    (True, True)
    """

    first: float = 1.0
    change: float = 0.7

    def __call__(self, game: Game, z: Primal) -> Rounds:
        """The rounds from a start."""
        z, step = game.project(z), self.first
        while True:
            value, field = game.at(z)
            here = Iterate(z, value, game.residual(z, field))
            yield here
            there = field
            for _ in range(TRIALS):
                ahead = game.project(z - step * field)
                _, there = game.at(ahead)
                if step * norm(there - field) <= self.change * norm(ahead - z):
                    break
                step *= 0.5
            else:
                yield here._replace(stuck=CHANGES_TOO_FAST)
                return
            z = game.project(z - step * there)
            step *= 1.2


@dataclass(frozen=True)
class Optimistic:
    """Optimistic descent and ascent: each round adds how the field has changed since the last one.

    It needs one gradient where `Extragradient` needs two (Popov 1980; Malitsky and Tam 2020, for the steps).

    >>> from shiftreset_ad.optimize import minimax
    >>> result = minimax(lambda x, y: x * y + x * x, 1.0, 1.0, method=Optimistic())
    >>> abs(result.x) < 1e-7, abs(result.y) < 1e-7
    (True, True)
    """

    first: float = 1.0
    change: float = 0.45

    def __call__(self, game: Game, z: Primal) -> Rounds:
        """The rounds from a start."""
        z, step = game.project(z), self.first
        value, field = game.at(z)
        correction = 0.0 * field
        while True:
            here = Iterate(z, value, game.residual(z, field))
            yield here
            there, new = z, field
            for _ in range(TRIALS):
                there = game.project(z - step * field - correction)
                value, new = game.at(there)
                if step * norm(new - field) <= self.change * norm(there - z):
                    break
                step *= 0.5
            else:
                yield here._replace(stuck=CHANGES_TOO_FAST)
                return
            correction = step * (new - field)
            z, field, step = there, new, 1.2 * step
