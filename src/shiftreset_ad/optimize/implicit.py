"""The derivative of a solution in the parameters, by the implicit function theorem.

A solution x(p) makes the conditions F(x, p) zero. So its derivative along p_dot solves a linear equation,

    dF/dx x_dot = -dF/dp p_dot,

and the way back solves the transposed equation. The matrix dF/dx is never formed: the equation is solved by products.
The solution of the linear equation makes conditions zero, too, so its own derivative is found in the same way. In this
manner every order follows from the one rule below.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np

from shiftreset_ad.optimize.krylov import by_conjugate_gradients, by_gmres, is_exact, is_good
from shiftreset_ad.optimize.objectives import Product
from shiftreset_ad.rules.annotations import Cotangent, Primal
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.transforms.custom import custom_derivative
from shiftreset_ad.transforms.products import jvp, linearize, vjp


class System(Protocol):
    """Conditions that a vector x has to fulfil, depending on parameters, and a way to find x."""

    operator: str
    is_definite: bool  # whether dF/dx is symmetric and positive definite

    def solved(self, parameters: Any) -> Primal:
        """The solution for plain parameters."""

    def conditions(self, x: Primal, parameters: Any) -> Primal:
        """F(x, p), a vector like x."""


def _solution(system: System, parameters: Any) -> Primal:
    return system.solved(parameters)


solution: Any = custom_derivative(_solution, nondiff_argnums=0)


def _forward(system: System, primals: Any, tangents: Any) -> Any:
    (parameters,), (parameters_dot,) = primals, tangents
    x = solution(system, parameters)
    _, conditions_dot = jvp(partial(system.conditions, x), (parameters,), (parameters_dot,))
    return x, solution(Linearized(system, is_transposed=False), (-conditions_dot, x, parameters))


def _fwd(system: System, parameters: Any) -> Any:
    x = solution(system, parameters)
    return x, (x, parameters)


def _bwd(system: System, residuals: Any, x_bar: Cotangent) -> Any:
    x, parameters = residuals
    z = solution(Linearized(system, is_transposed=True), (-x_bar, x, parameters))
    _, pull = vjp(partial(system.conditions, x), parameters)
    return pull(z)


solution.defjvp(_forward)
solution.defvjp(_fwd, _bwd)


class Linearized:
    """The linear equation dF/dx z = b of a system, or the transposed equation, in the parameters (b, x, p)."""

    __slots__ = ("_is_transposed", "_system", "is_definite", "operator")

    def __init__(self, system: System, is_transposed: bool) -> None:
        self._system = system
        self._is_transposed = is_transposed and not system.is_definite
        self.operator = system.operator
        self.is_definite = system.is_definite

    def conditions(self, z: Primal, parameters: Any) -> Primal:
        """dF/dx z - b."""
        b, x, p = parameters
        return self._product_at(x, p)(z) - b

    def solved(self, parameters: Any) -> Primal:
        """The solution, by conjugate gradients or by GMRES."""
        b, x, p = parameters
        return solved_by_products(self.operator, self._product_at(x, p, often=True), plain(b), self.is_definite)

    def _product_at(self, x: Primal, p: Any, often: bool = False) -> Product:
        """The product with dF/dx, or with its transpose. The way back is recorded for any number of products."""

        def conditions(x: Primal) -> Primal:
            return self._system.conditions(x, p)

        if self._is_transposed or (self.is_definite and often):
            _, pull = vjp(conditions, x)
            return lambda z: pull(z)[0]
        if often:
            return linearize(conditions, x)[1]
        return lambda z: jvp(conditions, (x,), (z,))[1]


def solved_by_products(operator: str, product: Product, b: Primal, is_definite: bool) -> Primal:
    """The solution of a linear equation; LinAlgError if there is none."""
    if is_definite:
        found = by_conjugate_gradients(product, b)
        if not found.is_definite:
            raise np.linalg.LinAlgError(
                f"{operator}: the map is not positive definite: its curvature is negative in some direction. Without "
                "definite=True, linear_solve takes any map; and a minimum has no negative curvature, so give another "
                "start if the function was to be minimised"
            )
        if is_exact(found):
            return found.x
    found = by_gmres(product, b)
    if not is_good(found):
        raise np.linalg.LinAlgError(
            f"{operator}: a linear equation has no solution: {found.error:.1e} of the right-hand side remains. For a "
            "derivative: what was found is not isolated, or the function has a kink there. Add a small term that makes "
            "the solution unique, such as 1e-6 * np.sum(x**2), or use derivative='unrolled'"
        )
    return found.x
