"""Integrals over an interval, and their rules in both modes (Leibniz).

    d/dp of the integral of f(x, p) from a to b  =  the integral of df/dp  +  f(b) db/dp - f(a) da/dp

A point in between at which f jumps adds its jump. The derivative is an integral again, of a vector in reverse mode, so
derivatives of any order follow. SciPy integrates one component of a vector after the other, and the vector is computed
once at each x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.scipy.integrate.odes import largest
from shiftreset_ad.scipy.integrate.rows import Rows
from shiftreset_ad.scipy.parameters import require_plain
from shiftreset_ad.transforms.custom import custom_derivative
from shiftreset_ad.transforms.products import jvp, vjp

BESIDE = 1e-13  # how far beside a point its one-sided values are taken, in units of its size


class Integral(NamedTuple):
    """The integral of a vector `integrand(x, params)` of `size`, from `places[0]` to `places[-1]`.

    The plain `places` have the points between, in order. Those that are being differentiated are `moving`, by position.
    """

    integrand: Callable[[Any, Any], Any]
    size: int
    places: list[float]
    quad: Callable[[Callable[[float], float]], float]

    def solved(self, params: Any) -> Any:
        """The integral for plain values."""
        known: dict[float, Any] = {}

        def component(x: float, j: int) -> Any:
            if x not in known:
                known[x] = self.integrand(x, params)
                require_plain("scipy.integrate.quad", known[x])
            return known[x][j]

        return np.array([self.quad(lambda x, j=j: component(x, j)) for j in range(self.size)])  # type: ignore[misc]

    def edge(self, i: int, x: Any, params: Any) -> Any:
        """The derivative of the integral in a place."""
        if i == 0 or i == len(self.places) - 1:
            return self.integrand(x, params) if i else -self.integrand(x, params)
        before, here, after = self.places[i - 1 : i + 2]
        step = BESIDE * max(abs(here), min(abs(here - before), abs(after - here)))
        step = step if after > before else -step
        return self.integrand(x - step, params) - self.integrand(x + step, params)


def _integral(problem: Integral, moving: dict[int, Any], params: Any) -> Any:
    """The integral, a vector."""
    return problem.solved(params)


integral: Any = custom_derivative(_integral, nondiff_argnums=0)


def _forward(problem: Integral, primals: Any, tangents: Any) -> Any:
    (moving, params), (moving_dot, params_dot) = primals, tangents

    def integrand(x: Any, both: Any) -> Any:
        return jvp(lambda params: problem.integrand(x, params), (both[0],), (both[1],))[1]

    y = integral(problem, moving, params)
    y_dot = sum((problem.edge(i, x, params) * moving_dot[i] for i, x in moving.items()), np.zeros(problem.size))
    if trees.flatten(params)[0]:
        size = largest(trees.flatten(params_dot)[0])
        params_dot = trees.map_leaves(lambda dot: dot / size, params_dot)
        y_dot = y_dot + integral(problem._replace(integrand=integrand), moving, (params, params_dot)) * size
    return y, y_dot


def _fwd(problem: Integral, moving: dict[int, Any], params: Any) -> Any:
    return integral(problem, moving, params), (moving, params)


def _bwd(problem: Integral, residuals: Any, y_bar: Any) -> Any:
    moving, params = residuals
    rows = Rows(params)

    def integrand(x: Any, both: Any) -> Any:
        params, y_bar = both
        (params_bar,) = vjp(lambda params: problem.integrand(x, params), params)[1](y_bar)
        return np.concatenate(rows.parts(params_bar))

    moving_bar = {i: np.sum(problem.edge(i, x, params) * y_bar) for i, x in moving.items()}
    if not rows.size:
        return moving_bar, params
    size = largest([y_bar])
    pulled = problem._replace(integrand=integrand, size=rows.size)
    total = integral(pulled, moving, (params, y_bar / size)) * size
    return moving_bar, rows.tree(total)


integral.defjvp(_forward)
integral.defvjp(_fwd, _bwd)
