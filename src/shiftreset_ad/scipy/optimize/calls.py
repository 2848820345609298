"""A call of a SciPy solver, which is run for plain values. Its solution gets derivatives from the conditions on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shiftreset_ad.optimize import implicit
from shiftreset_ad.optimize.parameters import Parameters
from shiftreset_ad.optimize.results import NotConvergedError
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.parameters import parameters_of, require_plain
from shiftreset_ad.transforms.constants import value

# The parameters of SciPy's functions on which a solution depends. All others say how it is searched.
DETERMINING = ("f", "func", "fun", "args", "kwargs", "bounds")
CALLED = ("fprime", "fprime2", "jac", "loss", "callback")


class SolverCall:
    """A call of a solver of SciPy's, whose arguments are `given` by name.

    The call `is_plain` if its solution depends on no number that is being differentiated.
    """

    def __init__(self, solver: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(solver).bind(*args, **kwargs)
        bound.apply_defaults()
        self.given: dict[str, Any] = dict(bound.arguments)
        self.name = f"scipy.optimize.{solver.__name__}"
        self._solver = solver
        if "args" in self.given and not isinstance(self.given["args"], tuple):
            self.given["args"] = (self.given["args"],)
        self._roots = {name: x for name, x in self.given.items() if name in DETERMINING + CALLED}
        self._settings = {name: value(x) for name, x in self.given.items() if name not in self._roots}
        parameters = parameters_of(self.name, self._roots)
        self.is_plain = parameters is None
        if parameters is not None:
            self._parameters = parameters

    def run(self, **others: Any) -> Any:
        """SciPy's answer for plain values, with some other settings."""
        settings = self._settings | others
        if self.is_plain:
            return self._solver(**settings, **self._roots)

        def solved(*roots: Any) -> Any:
            return self._solver(**settings, **dict(zip(self._roots, roots, strict=True)))

        return self._parameters.run(solved, plain(self._parameters.numbers))

    def differentiated(
        self, x: Any, conditions: Callable[..., Any], has_converged: bool, result: Any, is_definite: bool = False
    ) -> Any:
        """A solution `x`, a plain vector, with the derivatives that follow from `conditions(x, given)` = 0.

        `given` has the functions and arguments by name. Raises NotConvergedError unless the solver has converged.
        """
        if not has_converged:
            raise NotConvergedError(
                f"{self.name}: a derivative needs a solution, and SciPy has found none. Give another start, or larger "
                "limits. The attribute `result` of this error is what SciPy found",
                result,
            )
        names = tuple(self._roots)

        def residual(x: Primal, *roots: Any) -> Primal:
            return conditions(x, dict(zip(names, roots, strict=True)))

        solution = Solution(self.name, self._parameters, x, residual, is_definite)
        require_plain(self.name, solution.conditions(x, plain(self._parameters.numbers)))
        return implicit.solution(solution, self._parameters.numbers)


@dataclass(frozen=True)
class Solution:
    """A known solution of conditions that depend on parameters, as `implicit` differentiates it."""

    operator: str
    parameters: Parameters
    x: Any
    residual: Callable[..., Primal]
    is_definite: bool

    def solved(self, parameters: Any) -> Primal:
        """The solution."""
        return self.x

    def conditions(self, x: Primal, parameters: Any) -> Primal:
        """What is zero at the solution."""
        return self.parameters.run(lambda *roots: self.residual(x, *roots), parameters)
