"""Differential equations, and the rules of their solutions in both modes.

Forward mode solves the sensitivity equations, and reverse mode solves the adjoint equations. Both make another equation
of the equation, and solve it by the same solver. So the derivatives have derivatives, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.parameters import require_plain
from shiftreset_ad.transforms.custom import custom_derivative


class Solver(Protocol):
    """A solver of SciPy's for plain values, and its settings."""

    operator: str

    def solved(self, rate: Callable[[Any, Any], Any], y0: Any, t: Any, params: Any) -> Any:
        """The solution of y' = rate(y, t), of shape (m, n)."""

    def tolerances(self) -> tuple[Any, Any]:
        """The relative and the absolute tolerance of a component."""

    def critical_times(self) -> list[float]:
        """Times at which the rate may jump: the solver must not step over them."""

    def until(self, end: float) -> Self:
        """The solver up to a time. It is quiet: where it fails, the answer has NaN, and nothing is said."""

    def with_more(self, more: int, steps: int = 0) -> Self:
        """A solver for two states, each as precise as the state here, and `more` components.

        A limit of steps between two times is at least `steps`.
        """


class Problem(NamedTuple):
    """The equation y' = rate(y, t, params), and how to solve it."""

    rate: Callable[[Any, Any, Any], Any]
    solver: Solver

    def solved(self, y0: Any, t: Any, params: Any) -> Any:
        """The solution for plain values."""

        def rate(y: Any, t: float) -> Any:
            answer = self.rate(y, t, params)
            require_plain(self.solver.operator, answer)
            return answer

        return self.solver.solved(rate, y0, t, params)

    def until(self, end: Any) -> Problem:
        """The problem up to a time, for a quiet solver."""
        return self._replace(solver=self.solver.until(float(plain(end))))

    def linearized_at(self, n: int, t: Any) -> Callable[[Any, Any], Any]:
        """The rate as a vector, a function of the state and the parameters."""
        return lambda y, params: np.reshape(array_of(operand(self.rate(y, t, params))), (n,)) + 0.0


def _solution(problem: Problem, y0: Any, t: Any, params: Any) -> Any:
    """The solution, of shape (m, n)."""
    return problem.solved(y0, t, params)


solution: Any = custom_derivative(_solution, nondiff_argnums=0)


def of_real_numbers(operator: str, y0: Any, t: Any, numbers: list[Any]) -> tuple[Any, Any, list[Any]]:
    """The start and the times as floats, and the parameters; TypeError if there is a complex number."""
    for x in (y0, t, *numbers):
        if is_complex(x if hasattr(x, "dtype") else np.asarray(x)):
            raise TypeError(
                f"{operator} differentiates equations of real numbers, but was given complex numbers. Take the real "
                "and the imaginary parts apart, as an equation of twice as many components"
            )
    y0, t = (x if dtype_of(x) == np.float64 else astype(x, np.float64) for x in map(array_of, (y0, t)))
    return y0, t, numbers


def largest(directions: list[Any]) -> float:
    """The largest element of a direction. The equation is linear, so it is solved for a direction of size 1: otherwise
    the tolerances would be too large or too small.
    """
    size = float(max(np.max(np.abs(plain(x)), initial=0.0) for x in directions))
    return size if 0.0 < size < np.inf else 1.0


def rates(problem: Problem, y: Any, t: Any, params: Any) -> Any:
    """y' at these times."""
    m, n = shape_of(y)
    return np.stack([problem.linearized_at(n, t[i])(y[i], params) for i in range(m)])
