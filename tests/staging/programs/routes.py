"""What is staged of a program: its value, and its derivatives in each mode and of several orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad import derivative, grad, hvp, jacfwd, jvp

Program = Callable[[Any, Any, Any], Any]


def total(answer: Any) -> Any:
    """A number that depends on all floats of an answer."""
    number, array, _ = answer
    return number + 0.7 * np.sum(array)


def direction(u: Any) -> Any:
    return 0.5 - 0.25 * np.arange(float(np.shape(u)[0]))


def value(f: Program) -> Program:
    return lambda x, u, n: f(x, u, n)


def gradient(f: Program) -> Program:
    return lambda x, u, n: grad(lambda x, u: total(f(x, u, n)), (0, 1))(x, u)


def forward(f: Program) -> Program:
    return lambda x, u, n: jvp(lambda x, u: total(f(x, u, n)), (x, u), (1.5, direction(u)))


def second(f: Program) -> Program:
    return lambda x, u, n: grad(grad(lambda x: total(f(x, u, n))))(x)


def third(f: Program) -> Program:
    return lambda x, u, n: grad(grad(grad(lambda x: total(f(x, u, n)))))(x)


def hessian_product(f: Program) -> Program:
    return lambda x, u, n: hvp(lambda x, u: total(f(x, u, n)), (x, u), (1.5, direction(u)))


def mixed(f: Program) -> Program:
    """Reverse over forward."""
    return lambda x, u, n: grad(lambda u: jvp(lambda x: total(f(x, u, n)), (x,), (1.0,))[1])(u)


def series(f: Program) -> Program:
    return lambda x, u, n: derivative(lambda x: total(f(x, u, n)), 3)(x)


def stacks(f: Program) -> Program:
    return lambda x, u, n: jacfwd(lambda u: f(x, u, n)[1])(u)


ROUTES = {
    route.__name__: route for route in (value, gradient, forward, second, third, hessian_product, mixed, series, stacks)
}
