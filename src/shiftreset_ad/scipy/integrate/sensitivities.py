"""Forward mode through a differential equation: s' = df/dy s + df/dparams params_dot, solved beside the equation."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.scipy.integrate.odes import Problem, largest, rates, solution
from shiftreset_ad.transforms.products import jvp

STEPS = 5000  # between two times: the limit of odeint is 500, and derivatives may need more


def sensitivities(problem: Problem, y0: Any, t: Any, params: Any, start: Any, params_dot: Tangent) -> Any:
    """The derivative of y(t), (m, n), along a direction that begins with `start` in y; t is constant."""
    n = shape_of(y0)[0]

    def rate(state: Any, t: Any, params: Any) -> Any:
        params, params_dot = params
        return np.concatenate(jvp(problem.linearized_at(n, t), (state[:n], params), (state[n:], params_dot)))

    size = largest([start, *trees.flatten(params_dot)[0]])
    params_dot = trees.map_leaves(lambda dot: dot / size, params_dot)
    both = Problem(rate, problem.solver.with_more(0, STEPS))
    return solution(both, np.concatenate([y0, start / size]), t, (params, params_dot))[:, n:] * size


def _forward(problem: Problem, primals: Any, tangents: Any) -> Any:
    (y0, t, params), (y0_dot, t_dot, params_dot) = primals, tangents
    y = solution(problem, y0, t, params)
    if type(t_dot) is np.ndarray and not np.any(t_dot):
        return y, sensitivities(problem, y0, t, params, y0_dot, params_dot)
    slopes = rates(problem, y, t, params)
    start = y0_dot - slopes[0] * t_dot[0]
    return y, sensitivities(problem, y0, t, params, start, params_dot) + slopes * np.expand_dims(t_dot, 1)


solution.defjvp(_forward)


def by_sensitivities(problem: Problem, y0: Any, t: Any, params: Any, y_bar: Cotangent) -> tuple[Any, Any]:
    """The same as `by_adjoints`, by the sensitivity equations of each component and parameter, forward in time."""
    leaves, structure = trees.flatten([y0, params])
    zeros = [np.zeros(shape_of(x)) for x in leaves]

    def along(i: int, k: int) -> Any:
        unit = np.reshape(np.arange(zeros[i].size) == k, zeros[i].shape) + 0.0
        start, params_dot = trees.unflatten(structure, [unit if i == j else zero for j, zero in enumerate(zeros)])
        return np.sum(sensitivities(problem, y0, t, params, start, params_dot)[1:] * y_bar[1:])

    bars = [
        np.reshape(np.stack([along(i, k) for k in range(zero.size)]), zero.shape) if zero.size else zero
        for i, zero in enumerate(zeros)
    ]
    start_bar, params_bar = trees.unflatten(structure, bars)
    return start_bar, params_bar
