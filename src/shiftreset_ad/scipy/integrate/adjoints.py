"""Reverse mode through a differential equation: lambda' = -lambda df/dy, and the integral of lambda df/dparams.

The equation is run backwards together with the adjoint, from each known solution to the solution before it, so that
only the known solutions are kept. They are the checkpoints: where errors grow on the way back, more are made between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.integrate.odes import Problem, largest, rates, solution
from shiftreset_ad.scipy.integrate.rows import Rows
from shiftreset_ad.scipy.integrate.sensitivities import by_sensitivities
from shiftreset_ad.transforms.products import vjp

__all__ = ["solution"]

AGREEMENT = 100.0  # a solution that is run back may miss its beginning by so many times the tolerance
HALVINGS = 6  # of one part between two known solutions
MOST_HALVINGS = 32  # of all parts: then the sensitivity equations take less time


class NotReversibleError(Exception):
    """The solution cannot be run backwards: errors grow too much."""


def _fwd(problem: Problem, y0: Any, t: Any, params: Any) -> Any:
    y = solution(problem, y0, t, params)
    return y, (y, y0, t, params)


def _bwd(problem: Problem, residuals: Any, y_bar: Cotangent) -> Any:
    y, y0, t, params = residuals
    try:
        start_bar, params_bar = by_adjoints(problem, y, t, params, y_bar)
    except NotReversibleError:
        start_bar, params_bar = by_sensitivities(problem, y0, t, params, y_bar)
    slopes = rates(problem, y, t, params)
    t_bar = np.concatenate([-np.sum(slopes[:1] * start_bar, axis=1), np.sum(slopes[1:] * y_bar[1:], axis=1)])
    return start_bar + y_bar[0], t_bar, params_bar


solution.defvjp(_fwd, _bwd)


def by_adjoints(problem: Problem, y: Any, t: Any, params: Any, y_bar: Cotangent) -> tuple[Any, Any]:
    """The cotangents of y(t[0]), as far as they come from later times, and of the parameters.

    The part between two times starts at the known solution. If it does not lead back to the solution before it, it is
    run in two halves.
    """
    m, n = shape_of(y)
    rows = Rows(params)
    critical = problem.solver.critical_times()
    rtol, atol = problem.solver.tolerances()

    def rate(state: Any, t: Any, params: Any) -> Any:
        slope, pull = vjp(problem.linearized_at(n, t), state[:n], params)
        y_bar, params_bar = pull(-state[n : 2 * n])
        return np.concatenate([slope, y_bar, *rows.parts(params_bar)])

    adjoint = Problem(rate, problem.solver.with_more(rows.size))
    all_halvings = 0

    def back(from_t: Any, to_t: Any, from_y: Any, to_y: Any, bar: Cotangent, halvings: int) -> tuple[Any, Any]:
        """The cotangents at `to_t`, and the integral of the parameters' cotangents, for `bar` at `from_t`."""
        nonlocal all_halvings
        begin, end = float(plain(to_t)), float(plain(from_t))
        middle = next((c for c in critical if min(begin, end) < c < max(begin, end)), None)
        if middle is None:
            size = largest([bar])
            state = np.concatenate([from_y, bar / size, np.zeros(rows.size)])
            state = solution(adjoint.until(to_t), state, np.stack([from_t, to_t]), params)[1]
            known = plain(to_y)
            if np.all(np.abs(plain(state[:n]) - known) <= AGREEMENT * (atol + rtol * np.abs(known))):
                return state[n : 2 * n] * size, state[2 * n :] * size
            all_halvings += 1
            if not halvings or all_halvings > MOST_HALVINGS:
                raise NotReversibleError
            halvings, middle = halvings - 1, 0.5 * (from_t + to_t)
        y_there = solution(problem.until(middle), to_y, np.stack([to_t, middle]), params)[1]
        if not np.all(np.isfinite(y_there)):
            raise NotReversibleError
        bar, first = back(from_t, middle, from_y, y_there, bar, halvings)
        bar, second = back(middle, to_t, y_there, to_y, bar, halvings)
        return bar, first + second

    bar, total = np.zeros(n), np.zeros(rows.size)
    for i in range(m - 1, 0, -1):
        bar = bar + y_bar[i]
        if not (type(bar) is np.ndarray and not np.any(bar)):
            bar, part = back(t[i], t[i - 1], y[i], y[i - 1], bar, HALVINGS)
            total = total + part
    return bar, rows.tree(total)
