"""The value at a minimum or at a saddle point: its derivative is that of the function alone (the envelope theorem).

To first order, the value does not change if the point moves, as the gradient is zero. With a constraint it changes if
what is allowed moves. So the value is that at the projection of a point that does not move.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from shiftreset_ad.optimize.systems import Solutions
from shiftreset_ad.rules.annotations import Cotangent, Primal
from shiftreset_ad.transforms.custom import custom_derivative
from shiftreset_ad.transforms.products import jvp, vjp


def value_at(system: Solutions, x: Primal) -> Primal:
    """The value at a solution, with its derivatives in the parameters."""
    numbers = system.parameters.numbers
    return best_value(system, system.with_problem(numbers, lambda problem: problem.unprojected(x)), numbers)


def _value(system: Solutions, x: Primal, numbers: Any) -> Primal:
    return system.with_problem(numbers, lambda problem: problem.value(problem.project(x)))


best_value: Any = custom_derivative(_value, nondiff_argnums=0)


def _forward(system: Solutions, primals: Any, tangents: Any) -> Any:
    (x, numbers), (_, numbers_dot) = primals, tangents
    _, value_dot = jvp(partial(_value, system, x), (numbers,), (numbers_dot,))
    return best_value(system, x, numbers), value_dot


def _fwd(system: Solutions, x: Primal, numbers: Any) -> Any:
    return best_value(system, x, numbers), (x, numbers)


def _bwd(system: Solutions, residuals: Any, value_bar: Cotangent) -> Any:
    x, numbers = residuals
    _, pull = vjp(partial(_value, system, x), numbers)
    return None, *pull(value_bar)


best_value.defjvp(_forward)
best_value.defvjp(_fwd, _bwd)
