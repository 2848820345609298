"""What a solver found, and whether it is what was looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from shiftreset_ad.rules.annotations import Primal


class Iterate(NamedTuple):
    """A round of a solver: a vector, the value there, and the residual, which is zero at a solution."""

    x: Primal
    value: Primal
    residual: Primal


@dataclass(frozen=True)
class Result:
    """What a solver found.

    `x` has the structure of the start. `value` is the value of the function there. `residual` is the length of what is
    zero at a solution: of the gradient, or of what `root` makes zero. The solution is good to the tolerance if
    `converged`; if not, `message` says why not.
    """

    x: Any
    value: Any
    residual: float
    rounds: int
    converged: bool
    message: str


class NotConvergedError(ArithmeticError):
    """A solution was needed, or rounds towards it, and the solver has none: `result` is what it found."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def require_converged(operator: str, result: Result, what: str) -> None:
    """Raise NotConvergedError unless the solver has found a solution, which `what` needs."""
    if not result.converged:
        raise NotConvergedError(
            f"{operator}: {what} needs a solution, and none was found in {result.rounds} rounds: {result.message}. "
            "Give another start, more rounds, another method, or a larger tolerance. The attribute `result` of this "
            "error is what was found",
            result,
        )
