"""A solution of a differential equation at any times, and the times of its events, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.optimize import implicit
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.integrate.adjoints import solution
from shiftreset_ad.scipy.integrate.odes import Problem
from shiftreset_ad.scipy.values import with_value

Event = Callable[[Any, Any, list[Any]], Any]  # of the time, the state and the parameters


class Trajectory(NamedTuple):
    """The solution of a problem from a start on."""

    problem: Problem
    y0: Any
    t0: Any
    params: list[Any]

    def at(self, t: Any, known: Any) -> Any:
        """The solution at times in their order, (m, n), whose values are `known`."""
        start = np.reshape(array_of(self.t0), (1,))
        return with_value(solution(self.problem, self.y0, np.concatenate([start, t]), self.params)[1:], known)

    def times_of(self, event: Event, times: Any) -> Any:
        """The times of an event, whose values are known."""
        return implicit.solution(EventTimes(self.problem, event, times), list(self[1:]))


@dataclass(frozen=True)
class EventTimes:
    """The times of an event as a system: the event's function is zero there. The start and parameters may change."""

    problem: Problem
    event: Event
    times: Any
    is_definite: bool = False

    @property
    def operator(self) -> str:
        """The name in errors."""
        return self.problem.solver.operator

    def solved(self, parameters: Any) -> Primal:
        """The times for the parameters for which they are known."""
        return self.times

    def conditions(self, x: Primal, parameters: Any) -> Primal:
        """What the event's function gives at the times x."""
        trajectory = Trajectory(self.problem, *parameters)
        start = np.reshape(array_of(trajectory.t0), (1,))
        y = solution(self.problem, trajectory.y0, np.concatenate([start, x]), trajectory.params)[1:]
        values = [self.event(x[i], y[i], trajectory.params) for i in range(len(self.times))]
        return np.stack([np.reshape(array_of(operand(g)), ()) + 0.0 * x[i] for i, g in enumerate(values)])


class DenseOutput:
    """SciPy's dense output, whose call `sol(t)` has derivatives; it has all attributes of SciPy's object."""

    def __init__(self, trajectory: Trajectory, sol: Any) -> None:
        self._trajectory = trajectory
        self._sol = sol

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sol, name)

    def __call__(self, t: Any) -> Any:
        """The solution at a time, (n,), or at times in any order, (n, m)."""
        t = operand(t)
        known = self._sol(plain(t))
        times = np.reshape(array_of(t), (-1,))
        values = np.asarray(plain(times))
        begin, end = self._sol.ts[0], self._sol.ts[-1]
        if np.any((values < min(begin, end)) | (values > max(begin, end))):
            raise NotImplementedError(
                "scipy.integrate.solve_ivp: sol(t) has no derivative outside of the times that the solver has gone "
                f"through, from {begin} to {end}. Give a longer t_span, or shiftreset_ad.value of the solution"
            )
        order = np.argsort(values if end >= begin else -values, kind="stable")
        y = self._trajectory.at(times[order], np.reshape(known, (len(known), -1)).T[order])
        return np.reshape(np.transpose(y[np.argsort(order)]), known.shape)
