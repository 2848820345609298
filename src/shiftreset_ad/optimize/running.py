"""The rounds of a solver: when it ends, and what it tells meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from shiftreset_ad.optimize.results import Iterate, Result
from shiftreset_ad.optimize.vectors import Structure, norm

Rounds: TypeAlias = Generator[Iterate, None, str]  # it returns why there are no more
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
    """The last iterate, and what became of the run."""

    iterate: Iterate
    rounds: int
    converged: bool
    message: str

    def result(self, structure: Structure, sign: float = 1.0) -> Result:
        """The outcome as the user gets it."""
        x, value, residual = self.iterate
        x = structure.tree_of(x)
        return Result(x, value if sign > 0 else -value, norm(residual), self.rounds, self.converged, self.message)


def ended(rounds: Rounds, rules: StoppingRules, show: Callable[[Outcome], Result]) -> Outcome:
    """Run a solver until the rules end it; `show` makes a result for the callback."""
    done, last = 0, None
    while True:
        try:
            iterate = next(rounds)
        except StopIteration as stop:
            if last is None:
                raise
            return Outcome(last, done - 1, False, stop.value)
        size = norm(iterate.residual)
        if not math.isfinite(size):
            return Outcome(iterate, done, False, "the residual is not finite")
        if size <= rules.tolerance:
            return Outcome(iterate, done, True, f"the residual is {size:.1e}, within the tolerance")
        message = f"the residual is still {size:.1e}, and the tolerance {rules.tolerance:.1e}"
        if rules.callback is not None and rules.callback(show(Outcome(iterate, done, False, message))) is True:
            return Outcome(iterate, done, False, f"the callback stopped the solver: {message}")
        if done == rules.rounds:
            return Outcome(iterate, done, False, message)
        done, last = done + 1, iterate
