"""What a solver found, and whether it is what was looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from shiftreset_ad.rules.annotations import Primal

_reasons: list[str] = []


def reason(text: str) -> int:
    """A number that stands for the reason why a method of your own has no more rounds, for the last `Iterate`.

    The text may name the length of the `{residual}` and the `{tolerance}`. Unlike a text, a number may depend on a test
    in a staged function. Raises TypeError for what is no text, and ValueError for other names in braces.

    >>> TOO_STEEP = reason("the slope is too steep: the residual is {residual:.1e}")
    >>> Iterate(1.0, 2.0, 1e9, stuck=TOO_STEEP).stuck == TOO_STEEP
    True
    """
    if not isinstance(text, str):
        raise TypeError(f"reason: the text must be a str, and is {text!r:.60}")
    try:
        text.format(residual=0.0, tolerance=0.0)
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"reason: the text may have {{residual}} and {{tolerance}} in braces alone, and is {text!r:.60}; double "
            "other braces"
        ) from error
    _reasons.append(text)
    return len(_reasons) - 1


GOES_ON = reason("the solver is running")
CONVERGED = reason("the residual is {residual:.1e}, within the tolerance")
NOT_FINITE = reason("the residual is not finite")
TOO_LONG = reason("the residual is still {residual:.1e}, and the tolerance {tolerance:.1e}")
STOPPED = reason(f"the callback stopped the solver: {_reasons[TOO_LONG]}")
NO_ROUNDS_LEFT = reason("the method has no more rounds, and the residual is still {residual:.1e}")


class Iterate(NamedTuple):
    """A round of a solver: a vector, the value there, and the residual, which is zero at a solution.

    If the method cannot go on from there, `stuck` is the `reason`.
    """

    x: Primal
    value: Primal
    residual: Primal
    stuck: int = GOES_ON


class Ending(NamedTuple):
    """Why a solver has ended: a `reason`, what its text tells of, and what another library has said."""

    reason: int
    tolerance: float
    residual: float
    said: str = ""

    def __str__(self) -> str:
        """The reason in words."""
        return self.said + _reasons[self.reason].format(residual=self.residual, tolerance=self.tolerance)

    def __repr__(self) -> str:
        return repr(str(self))


@dataclass(frozen=True)
class Result:
    """What a solver found.

    `x` has the structure of the start. `value` is the value of the function there. `residual` is the length of what is
    zero at a solution: of the gradient, or of what `root` makes zero. The solution is good to the tolerance if
    `converged`; if not, `message` says why not: it is the text of `ending`.
    """

    x: Any
    value: Any
    residual: float
    rounds: int
    converged: bool
    ending: Ending

    @property
    def message(self) -> str:
        """Why the solver has ended."""
        return str(self.ending)


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
