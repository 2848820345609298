"""Saddle points: one player minimises what the other maximises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.optimize.envelope import value_at
from shiftreset_ad.optimize.games import Extragradient, Game, Optimistic, Projections
from shiftreset_ad.optimize.progress import watched
from shiftreset_ad.optimize.results import Result
from shiftreset_ad.optimize.ridges import FollowTheRidge
from shiftreset_ad.optimize.running import (
    ROUNDS,
    Derivative,
    Outcome,
    Rounds,
    StoppingRules,
    ended,
    require_derivative_name,
)
from shiftreset_ad.optimize.systems import Task, solved
from shiftreset_ad.optimize.vectors import Structure
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.transforms.constants import value as value_of

Player: TypeAlias = Callable[[Game, Primal], Rounds]
METHODS: dict[str, Player] = {
    "extragradient": Extragradient(),
    "optimistic": Optimistic(),
    "follow-the-ridge": FollowTheRidge(),
}


@dataclass(frozen=True)
class Saddle(Result):
    """What `minimax` found: a `Result` in which `x` minimises and `y` maximises."""

    y: Any


@trimming
def minimax(
    f: Callable[..., Any],
    x0: Any,
    y0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str | Player = "extragradient",
    constraints: Projections = (None, None),
    derivative: Derivative = "implicit",
    tolerance: float | None = None,
    rounds: int = 10 * ROUNDS,
    callback: Callable[[Saddle], Any] | None = None,
    progress: bool = False,
) -> Saddle:
    """A saddle point of a scalar function `f(x, y, *args)`, least in `x` and greatest in `y`, as a `Saddle`.

    `x0` and `y0` are structures, and the result's `x` and `y` have these structures and shapes. `constraints` has one
    for `x` and one for `y`, as in `minimize`; None is no constraint. The methods "extragradient" and "optimistic"
    converge if f is convex in x and concave in y, and in other games near a saddle point that attracts. The method
    "follow-the-ridge" leads to points where y is the best reply nearby, and x is least given this reply. A method may
    be an object, too. To find the greatest value for every x, nest:
    minimize(lambda x: maximize(lambda y: f(x, y), y0).value, x0). All else is as in `minimize`: tolerance, derivatives,
    progress, errors. Pearlmutter and Siskind 2008, section 5.

    >>> from shiftreset_ad import grad
    >>> result = minimax(lambda x, y: (x - 1.0) ** 2 + x * y - y * y, 0.0, 0.0)
    >>> round(result.x, 6), round(result.y, 6), result.converged
    (0.8, 0.4, True)
    """
    name = named("minimax", f)
    require_derivative_name(name, derivative)
    solver: Any = METHODS.get(method) if isinstance(method, str) else method
    if not callable(solver):
        raise ValueError(f"{name}: there is no method {method!r:.60}; there are {', '.join(METHODS)}")
    if not (isinstance(constraints, tuple | list) and len(constraints) == 2):
        raise TypeError(
            f"{name}: constraints must be a pair, with one for x and one for y, (Box(0.0, 1.0), None) say, and is "
            f"{constraints!r:.60}"
        )
    both = (x0, y0)
    structure, of_x, _ = Structure(name, "(x0, y0)", both), Structure(name, "x0", x0), Structure(name, "y0", y0)

    def shown(outcome: Outcome) -> Saddle:
        found = outcome.result(structure)
        x, y = found.x
        return Saddle(x, found.value, found.residual, found.rounds, found.converged, found.ending, y)

    rules = StoppingRules.of(name, structure, tolerance, rounds, callback)
    start = structure.start(both if derivative == "unrolled" else value_of(both))

    def task_by(rules: StoppingRules) -> Task:
        return Task(
            name,
            {"f": f, "args": args if isinstance(args, tuple) else (args,), "constraints": tuple(constraints)},
            lambda f, args, constraints: Game(name, f, args, constraints, structure, of_x.size),
            lambda game: ended(solver, game, start, rules, shown),
            shown,
            is_definite=False,
        )

    outcome, system = watched(name, rules, progress, lambda rules: solved(task_by(rules), derivative))
    if system is not None:
        iterate = outcome.iterate
        outcome = outcome._replace(iterate=iterate._replace(value=value_at(system, iterate.x)))
    return shown(outcome)
