"""Least squares with bounds and robust losses, whose solution has derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import scipy.optimize  # type: ignore[import-untyped]

from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.optimize.calls import SolverCall
from shiftreset_ad.transforms.gradient import grad

# The losses of SciPy, functions of the square of a residual.
LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


@wraps(scipy.optimize.least_squares)
def least_squares(*args: Any, **kwargs: Any) -> Any:
    """Where half the sum of the losses of `fun(x, *args, **kwargs)` is least, within `bounds`, as SciPy's object.

    `x: (n,)`, `cost` and `fun: (m,)` of the object are numbers. They have derivatives of any order in `args`, `kwargs`,
    `bounds` and what `fun` closes over, and none in `x0`: the gradient is zero at the solution, or a bound is active.
    They are as precise as the solution (`ftol`, `xtol`, `gtol`). Arguments, methods, answers and errors are SciPy's.
    Raises NotConvergedError for the derivative of what is no solution, LinAlgError where the solution is not isolated,
    and NotImplementedError for a function as `loss`.

    >>> from shiftreset_ad import grad
    >>> data = np.array([1.0, 2.0, 3.0])
    >>> slope = lambda p: least_squares(lambda a: a * data - p * data**2, [1.0]).x[0]
    >>> round(grad(slope)(1.0), 6), round(float(np.sum(data**3) / np.sum(data**2)), 6)
    (2.571429, 2.571429)
    """
    call = SolverCall(scipy.optimize.least_squares, args, kwargs)
    result = call.run()
    if call.is_plain:
        return result
    loss, scale = call.given["loss"], call.given["f_scale"]
    if loss not in LOSSES:
        raise NotImplementedError(
            "scipy.optimize.least_squares has no derivative with a function as loss. Use one of "
            f"{', '.join(map(repr, LOSSES))}, or shiftreset_ad.optimize.minimize of the sum of the losses"
        )

    def residuals(x: Any, given: dict[str, Any]) -> Any:
        return np.reshape(array_of(operand(given["fun"](x, *given["args"], **(given["kwargs"] or {})))), (-1,))

    def cost(x: Any, given: dict[str, Any]) -> Any:
        return 0.5 * scale**2 * np.sum(LOSSES[loss]((residuals(x, given) / scale) ** 2))

    def conditions(x: Any, given: dict[str, Any]) -> Any:
        slope = grad(lambda x: cost(x, given))(x)
        low, high = (array_of(bound) for bound in _ends(given["bounds"]))
        return x - np.clip(x - slope, low, high) if is_bounded else slope

    is_bounded = bool(np.any(result.active_mask))
    result.x = call.differentiated(result.x, conditions, result.success, result, is_definite=not is_bounded)
    result.cost = cost(result.x, call.given)
    result.fun = residuals(result.x, call.given)
    return result


def _ends(bounds: Any) -> tuple[Any, Any]:
    """The lower and the upper bounds, from a pair or from SciPy's object."""
    return (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else tuple(bounds)
