"""The library's functions as plain NumPy has them: derivatives by the complex step, in C order, and no rules.

The functions that programs differentiate inside are analytic, so that these derivatives are exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEP = 1e-30

zeros = np.zeros
array = np.array


def _jacobian(f: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The value of `f`, and the matrix of its derivatives, at the elements that `x` has now."""
    x = np.array(x, float)
    y = np.array(f(x.copy("K")))
    columns = []
    for place in np.ndindex(x.shape):
        z = x.astype(complex)
        z[place] += STEP * 1j
        columns.append(np.ravel(np.imag(f(z))) / STEP)
    return y, np.ascontiguousarray(np.reshape(columns, (x.size, y.size)).T)  # in C order, as the library has it


def jvp(f: Any, primals: Any, tangents: Any) -> Any:
    y, matrix = _jacobian(f, primals[0])
    return y, np.reshape(matrix @ np.ravel(tangents[0]), y.shape)


def vjp(f: Any, x: Any) -> Any:
    shape = np.shape(x)
    y, matrix = _jacobian(f, x)
    return y, lambda y_bar: (np.reshape(np.ravel(y_bar) @ matrix, shape),)


def linearize(f: Any, x: Any) -> Any:
    y, matrix = _jacobian(f, x)
    return y, lambda x_dot: np.reshape(matrix @ np.ravel(x_dot), y.shape)


def jacfwd(f: Any) -> Any:
    def jacobian_of_f(x: Any) -> Any:
        y, matrix = _jacobian(f, x)
        return np.reshape(matrix, y.shape + np.shape(x))

    return jacobian_of_f


jacrev = jacobian = grad = jacfwd


def value_and_jacobian(f: Any) -> Any:
    return lambda x: (f(x), jacfwd(f)(x))


class Custom:
    """A function whose rules nobody needs."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def __call__(self, *args: Any) -> Any:
        return self.f(*args)

    def defvjp(self, *_: Any) -> None: ...

    defjvp = defvjp


custom_vjp = custom_jvp = custom_derivative = Custom


def checkpoint(f: Any) -> Any:
    return f


fuse = checkpoint


def checkpointed_loop(step: Any, state: Any, n: int, _: int) -> Any:
    for k in range(n):
        state = step(k, state)
    return state
