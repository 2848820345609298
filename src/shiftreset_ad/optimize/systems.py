"""A solver's problem as a system of conditions on its solution, which depends on parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.numbers.tags import seeing
from shiftreset_ad.optimize.implicit import solution
from shiftreset_ad.optimize.parameters import Parameters
from shiftreset_ad.optimize.results import Iterate, NotConvergedError, Result, require_converged
from shiftreset_ad.optimize.running import Outcome
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.plain import plain


class Task(NamedTuple):
    """A problem to be made of the user's functions and arguments, and the way to solve it."""

    operator: str
    roots: dict[str, Any]  # the functions and arguments
    problem: Callable[..., Any]  # of the roots, in order
    run: Callable[[Any], Outcome]  # the solver
    shown: Callable[[Outcome], Result]  # what the user sees of an outcome
    is_definite: bool  # whether the Jacobian of the conditions is symmetric and positive definite


def solved(task: Task, derivative: str) -> tuple[Outcome, Solutions | None]:
    """What the solver finds, as a function of all that the roots hold; for implicit derivatives, the system as well."""
    if derivative == "unrolled":
        outcome = task.run(task.problem(*task.roots.values()))
        if outcome.converged and not outcome.rounds and has_number(outcome.iterate.residual):
            raise NotConvergedError(
                f"{task.operator}: the solution is the start, so there are no rounds whose derivative could be taken. "
                "Give another start, or derivative='implicit'",
                task.shown(outcome),
            )
        return outcome, None
    parameters = Parameters(task.operator, task.roots)
    if not parameters.numbers:
        outcome = task.run(task.problem(*task.roots.values()))
        require_plain(task.operator, outcome.iterate)
        return outcome, None
    system = Solutions(task, parameters)
    outcome = system.outcome(plain(parameters.numbers))
    require_converged(task.operator, task.shown(outcome), "an implicit derivative")
    x = solution(system, parameters.numbers)
    return outcome._replace(iterate=outcome.iterate._replace(x=x)), system


def require_plain(operator: str, iterate: Iterate) -> None:
    """Raise TypeError if what a solver found depends on a number that is not among the parameters."""
    if has_number(iterate):
        raise TypeError(
            f"{operator}: the function depends on a number that is being differentiated, but the number is neither in "
            "args nor in a variable that the function closes over: it is, for example, in a global variable or in an "
            "attribute of an object. Pass it by args, or use derivative='unrolled'"
        )


def _are_same(x: Primal, y: Primal) -> Any:
    return np.all(x == y) if shape_of(x) else x == y


class Solutions:
    """The solution as a function of the parameters, as `implicit` differentiates it."""

    __slots__ = ("_found", "_task", "is_definite", "operator", "parameters")

    def __init__(self, task: Task, parameters: Parameters) -> None:
        self.operator = task.operator
        self.is_definite = task.is_definite
        self.parameters = parameters
        self._task = task
        self._found: tuple[Any, Outcome] | None = None

    def outcome(self, numbers: Any) -> Outcome:
        """What the solver finds for plain parameters. It runs once, as long as they are the same."""
        if self._found is None or not all(map(_are_same, self._found[0], numbers)):
            outcome = seeing((), self.with_problem, numbers, self._task.run)
            require_plain(self.operator, outcome.iterate)
            self._found = numbers, outcome
        return self._found[1]

    def solved(self, numbers: Any) -> Primal:
        """The solution for plain parameters."""
        return self.outcome(numbers).iterate.x

    def conditions(self, x: Primal, numbers: Any) -> Primal:
        """What is zero at the solution."""
        return self.with_problem(numbers, lambda problem: problem.conditions(x))

    def with_problem(self, numbers: Any, use: Callable[[Any], Any]) -> Any:
        """What `use` makes of the problem for these parameters."""
        return self.parameters.run(lambda *roots: use(self._task.problem(*roots)), numbers)
