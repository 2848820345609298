"""What a worker does for one shard: load it, and compute a value or a derivative of the user's function.

The functions are at the top of this module, so that every engine can send their names to its workers.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.control.frames import is_ours
from shiftreset_ad.transforms.gradient import value_and_grad
from shiftreset_ad.transforms.jacobians import hvp
from shiftreset_ad.transforms.products import jvp, vjp


class Label(NamedTuple):
    """Which shard it is, among how many, and its weight."""

    number: int
    among: int
    weight: float

    @property
    def name(self) -> str:
        """How errors call it."""
        return f"shard {self.number} of {self.among}"


Task = Callable[[Callable[..., Any], Any, Any], Any]  # of the function, what all shards share, and the data


def carried_out(label: Label, data: Any, task: Task, f: Callable[..., Any], shared: Any) -> Any:
    """The weighted answer of a task for one shard. An error gets a note with the shard and with the user's line."""
    try:
        answer = task(f, shared, data() if callable(data) else data)
        leaves, spec = trees.flatten(answer)
        return trees.unflatten(spec, leaves if label.weight == 1.0 else [label.weight * leaf for leaf in leaves])
    except Exception as error:
        error.add_note(f"in {label.name}{_place(error)}")
        raise


def _place(error: Exception) -> str:
    """The user's line in which an error was raised, if there is one."""
    frames = traceback.walk_tb(error.__traceback__)
    of_user = [(frame.f_code, line) for frame, line in frames if not is_ours(frame.f_code)]
    return f', at File "{of_user[-1][0].co_filename}", line {of_user[-1][1]}' if of_user else ""


def value(f: Callable[..., Any], shared: Any, data: Any) -> Any:
    """f(params, data)"""
    return f(shared[0], data)


def value_and_gradient(f: Callable[..., Any], shared: Any, data: Any) -> Any:
    """The value, and the gradient in the parameters."""
    return value_and_grad(f)(shared[0], data)


def hessian_product(f: Callable[..., Any], shared: Any, data: Any) -> Any:
    """The product of the Hessian with a direction."""
    params, tangents = shared
    return hvp(lambda params: f(params, data), (params,), (tangents,))


def half_square(f: Callable[..., Any], shared: Any, data: Any) -> Any:
    """Half the sum of the squares of the residuals f(params, data)."""
    return _half_square(f(shared[0], data))


def half_square_and_gradient(f: Callable[..., Any], shared: Any, data: Any) -> Any:
    """Half the sum of squares, and its gradient."""
    return value_and_grad(lambda params: _half_square(f(params, data)))(shared[0])


def half_square_product(f: Callable[..., Any], shared: Any, data: Any) -> Any:
    """The product of the Hessian of half the sum of squares with a direction."""
    params, tangents = shared
    return hvp(lambda params: _half_square(f(params, data)), (params,), (tangents,))


def gauss_newton_product(f: Callable[..., Any], shared: Any, data: Any) -> Any:
    """J^T J v, for the Jacobian J of the residuals."""
    params, tangents = shared
    _, pushed = jvp(lambda params: f(params, data), (params,), (tangents,))
    _, pull = vjp(lambda params: f(params, data), params)
    return pull(pushed)[0]


def _half_square(residuals: Any) -> Any:
    return 0.5 * sum(np.sum(leaf * leaf) for leaf in trees.flatten(residuals)[0])
