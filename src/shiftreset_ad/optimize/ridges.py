"""Follow-the-ridge: a way to the points where y is the best reply nearby, and x is least given that y replies.

These points need not be saddle points: the payoff may curve downwards in x alone. There the gradients of both players
lead away, and so do their extrapolations.
"""

from __future__ import annotations

from dataclasses import dataclass

from shiftreset_ad.optimize.games import Game
from shiftreset_ad.optimize.krylov import conjugate_gradients
from shiftreset_ad.optimize.line_search import TRIALS
from shiftreset_ad.optimize.results import Iterate, reason
from shiftreset_ad.optimize.running import Rounds
from shiftreset_ad.optimize.vectors import norm
from shiftreset_ad.rules.annotations import Primal

SOLVED = 1e-10  # the relative residual of the equation for the reply
CHANGES_TOO_FAST = reason("the way along the ridge changes too fast for any step")


@dataclass(frozen=True)
class FollowTheRidge:
    """Each player goes along the gradient, and y also moves so that it stays the best reply to the moving x.

    The reply's term solves an equation with the Hessian in y, by products. A step begins with `first`, and is shortened
    until the way changes by less than the part `change`. It keeps no constraint. The payoff must curve downwards in y:
    where it does not, y follows its gradient alone. Wang, Zhang and Ba, On solving minimax optimization locally: a
    follow-the-ridge approach, 2019.

    >>> from shiftreset_ad.optimize import minimax
    >>> result = minimax(lambda x, y: -3.0 * x * x + 4.0 * x * y - y * y, 1.0, 1.0, method=FollowTheRidge())
    >>> result.converged, abs(result.x) < 1e-7, abs(result.y) < 1e-7
    (True, True, True)
    """

    first: float = 1.0
    change: float = 0.7

    def __call__(self, game: Game, z: Primal) -> Rounds:
        """The rounds from a start."""
        if not game.is_free:
            raise ValueError(
                f"{game.name}: follow-the-ridge keeps no constraints; use method='extragradient' with a constraint"
            )
        step = self.first
        value, field = game.at(z)
        way = ridge_way(game, z, field)
        while True:
            here = Iterate(z, value, field)
            yield here
            for _ in range(TRIALS):
                there = z - step * way
                value, field = game.at(there)
                onwards = ridge_way(game, there, field)
                if norm(onwards - way) <= self.change * norm(way):
                    break
                step *= 0.5
            else:
                yield here._replace(stuck=CHANGES_TOO_FAST)
                return
            z, way, step = there, onwards, 1.2 * step


def ridge_way(game: Game, z: Primal, field: Primal) -> Primal:
    """The field, and in y the reply to x's move as well: (H_yy)^-1 H_yx of the gradient in x, taken away."""
    product, (of_x, of_y) = game.hessian_at(z), game.parts
    mixed = of_y * product(of_x * field)
    reply = conjugate_gradients(lambda v: -(of_y * product(of_y * v)), mixed, SOLVED, 2 * len(of_x) + 10)
    return field + reply.x if reply.is_definite else field
