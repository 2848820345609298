"""Recurrences for the Taylor coefficients of y(t) = function(x(t)), one order after the other.

A recurrence takes the coefficients of y and of the operands, as lists, and yields y_1, y_2 and so on. Its caller
appends each coefficient to `y` before it asks for the next. At order k, the caller must know every operand up to k: a
shorter list has only zeros after its end. A recurrence may end when only zeros are left.

Recurrences come from the differential equation that y satisfies, by comparing coefficients: y' = y x' for the
exponential. Griewank and Walther, Evaluating Derivatives (2008), section 13.2; Karczmarczuk, ICFP 1998. For a function
without a recurrence, the partial derivatives are used, at more cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from operator import mul
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.rules.numpy.elementwise import LOG_2, LOG_10

Coefficients: TypeAlias = list[Any]
Recurrence: TypeAlias = Callable[..., Iterator[Any]]


def convolution(a: Coefficients, b: Coefficients, k: int, start: int = 0) -> Any:
    """Coefficient k of the product a b, as far as it is known: the sum of a_j b_(k-j), from j = `start` on."""
    first, last = max(start, k + 1 - len(b)), min(k, len(a) - 1)
    if first > last:
        return 0.0
    products = map(mul, a[first : last + 1], reversed(b[k - last : k - first + 1]))
    return sum(products, next(products))


def extend_rate(x_dot: Coefficients, x: Coefficients, k: int, scale: Any = 1) -> None:
    """Append one more coefficient of `scale` x' to `x_dot`, now that x_k is known."""
    if k < len(x):
        x_dot.append(scale * k * x[k])


def multiply(y: Coefficients, a: Coefficients, b: Coefficients) -> Iterator[Any]:
    for k in count(1):
        if k > len(a) + len(b) - 2:
            return
        yield convolution(a, b, k)


def square(y: Coefficients, x: Coefficients) -> Iterator[Any]:
    return multiply(y, x, x)


def divide(y: Coefficients, a: Coefficients, b: Coefficients) -> Iterator[Any]:
    """The quotient, from a = y b."""
    for k in count(1):
        if len(b) == 1:  # a constant
            if k >= len(a):
                return
            yield a[k] / b[0]
        else:
            known = convolution(b, y, k, 1)
            yield (a[k] - known if k < len(a) else -known) / b[0]


def reciprocal(y: Coefficients, x: Coefficients) -> Iterator[Any]:
    return divide(y, [1.0], x)


def sqrt(y: Coefficients, x: Coefficients) -> Iterator[Any]:
    """The square root, from y y = x."""
    for k in count(1):
        known = convolution(y, y, k, 1)
        yield (x[k] - known if k < len(x) else -known) / (2 * y[0])


def power(y: Coefficients, a: Coefficients, exponent: Any) -> Iterator[Any]:
    """A power with a constant exponent, from a y' = exponent a' y, where a_0 is not 0."""
    a_dot: Coefficients = []
    y_dot: Coefficients = []
    for k in count(1):
        extend_rate(a_dot, a, k)
        y_k = (exponent * convolution(a_dot, y, k - 1) - convolution(a, y_dot, k - 1, 1)) / (k * a[0])
        y_dot.append(k * y_k)
        yield y_k


def exponential(scale: Any = 1, shift: Any = 0) -> Recurrence:
    """A kind of exponential, from y' = scale (y + shift) x'."""

    def recurrence(y: Coefficients, x: Coefficients) -> Iterator[Any]:
        shifted = [y[0] + shift] if shift else y
        x_dot: Coefficients = []
        for k in count(1):
            extend_rate(x_dot, x, k, scale)
            y_k = convolution(x_dot, shifted, k - 1) / k
            if shift:
                shifted.append(y_k)
            yield y_k

    return recurrence


def logarithm(scale: Any = 1, shift: Any = 0) -> Recurrence:
    """A kind of logarithm, from scale (x + shift) y' = x'."""

    def recurrence(y: Coefficients, x: Coefficients) -> Iterator[Any]:
        x_0 = x[0] + shift if shift else x[0]
        y_dot: Coefficients = []
        for k in count(1):
            known = convolution(x, y_dot, k - 1, 1) / k
            y_k = (x[k] / scale - known if k < len(x) else -known) / x_0
            y_dot.append(k * y_k)
            yield y_k

    return recurrence


def coupled(partner: Callable[[Any], Any], y_sign: int, z_sign: int) -> Recurrence:
    """One of a pair of functions, from y' = +-z x' and z' = +-y x', where z = partner(x)."""

    def recurrence(y: Coefficients, x: Coefficients) -> Iterator[Any]:
        z = [partner(x[0])]
        x_dot: Coefficients = []
        for k in count(1):
            extend_rate(x_dot, x, k)
            y_k = convolution(x_dot, z, k - 1) / (y_sign * k)
            z.append(convolution(x_dot, y, k - 1) / (z_sign * k))
            yield y_k

    return recurrence


def tangent(sign: int) -> Recurrence:
    """The tangent or the hyperbolic tangent, from y' = z x' and z = 1 +- y y."""

    def recurrence(y: Coefficients, x: Coefficients) -> Iterator[Any]:
        z = [1.0 + sign * (y[0] * y[0])]
        x_dot: Coefficients = []
        for k in count(1):
            extend_rate(x_dot, x, k)
            yield convolution(x_dot, z, k - 1) / k
            z.append(sign * convolution(y, y, k))

    return recurrence


RECURRENCES: dict[Callable[..., Any], Recurrence] = {
    np.multiply: multiply,
    np.divide: divide,
    np.reciprocal: reciprocal,
    np.square: square,
    np.sqrt: sqrt,
    np.exp: exponential(),
    np.exp2: exponential(scale=LOG_2),
    np.expm1: exponential(shift=1.0),
    np.log: logarithm(),
    np.log2: logarithm(scale=LOG_2),
    np.log10: logarithm(scale=LOG_10),
    np.log1p: logarithm(shift=1.0),
    np.sin: coupled(np.cos, 1, -1),
    np.cos: coupled(np.sin, -1, 1),
    np.sinh: coupled(np.cosh, 1, 1),
    np.cosh: coupled(np.sinh, 1, 1),
    np.tan: tangent(1),
    np.tanh: tangent(-1),
}
