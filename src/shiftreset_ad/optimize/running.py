"""The rounds of a solver: when it ends, and what it tells meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from shiftreset_ad.optimize.results import (
    CONVERGED,
    GOES_ON,
    NO_ROUNDS_LEFT,
    NOT_FINITE,
    STOPPED,
    TOO_LONG,
    Ending,
    Iterate,
    Result,
)
from shiftreset_ad.optimize.vectors import Structure, norm
from shiftreset_ad.rules.annotations import Primal

Rounds: TypeAlias = Generator[Iterate, None, None]
Derivative: TypeAlias = Literal["implicit", "unrolled"]
Callback: TypeAlias = Callable[[Result], Any]
ROUNDS = 1000


def require_derivative_name(operator: str, derivative: str) -> None:
    """Raise ValueError unless this names a way through a solution."""
    if derivative not in ("implicit", "unrolled"):
        raise ValueError(f"{operator}: derivative must be 'implicit' or 'unrolled', and is {derivative!r:.60}")


@dataclass(frozen=True)
class StoppingRules:
    """When a solver ends: within the `tolerance`, after so many `rounds`, or when the callback says so."""

    tolerance: float
    rounds: int
    callback: Callback | None = None

    @classmethod
    def of(cls, operator: str, structure: Structure, tolerance: float | None, rounds: int, callback: Any) -> Self:
        """The rules that the user gave. The usual tolerance is the square root of the precision."""
        if tolerance is None:
            tolerance = math.sqrt(structure.precision)
        if not tolerance >= 0.0:
            raise ValueError(f"{operator}: tolerance must not be negative, and is {tolerance!r}")
        if not (isinstance(rounds, int) and rounds >= 0):
            raise ValueError(f"{operator}: rounds must be an integer from 0 on, and is {rounds!r:.60}")
        return cls(tolerance, rounds, callback)


class Outcome(NamedTuple):
    """The last iterate, and the `reason` why the run has ended. Another library may have `said` something, too."""

    iterate: Iterate
    rounds: int
    reason: int
    tolerance: float = 0.0
    said: str = ""

    @property
    def converged(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.reason == CONVERGED

    def result(self, structure: Structure, sign: float = 1.0) -> Result:
        """The outcome as the user gets it."""
        x, value, residual, _ = self.iterate
        x, size = structure.tree_of(x), norm(residual)
        ending = Ending(self.reason, self.tolerance, size, self.said)
        return Result(x, value if sign > 0 else -value, size, self.rounds, self.converged, ending)


def ended(
    method: Callable[[Any, Primal], Rounds],
    problem: Any,
    start: Primal,
    rules: StoppingRules,
    show: Callable[[Outcome], Result],
) -> Outcome:
    """Run a method on a problem from a start until the rules end it; `show` makes a result for the callback."""
    done, last = 0, Iterate(start, math.nan * np.sum(start), start)
    for iterate in method(problem, start):
        why = _ending(iterate, done, rules, show)
        if why != GOES_ON:
            return Outcome(iterate, done - 1 if iterate.stuck else done, why, rules.tolerance)
        done, last = done + 1, iterate
    return Outcome(last, max(done - 1, 0), NO_ROUNDS_LEFT, rules.tolerance)


def _ending(iterate: Iterate, done: int, rules: StoppingRules, show: Callable[[Outcome], Result]) -> int:
    """Why a solver ends with this iterate, after so many rounds; GOES_ON if it does not."""
    if not isinstance(iterate, Iterate):
        raise TypeError(
            f"the method yields a {type(iterate).__name__}; let it yield an optimize.Iterate of the vector, the value "
            "there, and the residual"
        )
    if isinstance(iterate.stuck, str):
        raise TypeError(
            f"the method yields an Iterate with stuck={iterate.stuck!r:.60}; give it the number that "
            "optimize.reason(text) returns"
        )
    size = norm(iterate.residual)
    if not math.isfinite(size):
        return NOT_FINITE
    if size <= rules.tolerance:
        return CONVERGED
    if iterate.stuck:
        return iterate.stuck
    still = Outcome(iterate, done, TOO_LONG, rules.tolerance)
    if rules.callback is not None and rules.callback(show(still)) is True:
        return STOPPED
    return TOO_LONG if done == rules.rounds else GOES_ON
