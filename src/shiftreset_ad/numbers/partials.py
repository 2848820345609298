"""Partial derivatives, as the tables give them, made ready for the modes, which multiply by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import complex128, float64

from shiftreset_ad.numbers.number import plain_value
from shiftreset_ad.rules.numpy.shapes import astype

PYTHON = (float, int, complex)


def as_function(partial: Any) -> Callable[..., Any]:
    """A partial derivative as a function, where the table may have a number, or None for zero."""
    constant = partial or 0.0
    return partial if callable(partial) else lambda y, a, b=None: constant


def ieee(partial: Callable[..., Any], *values: Any) -> Any:
    """A partial derivative by NumPy's arithmetic, where Python's raises: 0.5 / 0.0 is infinite, as for arrays."""
    return partial(*map(_of_numpy, values))


def _of_numpy(x: Any) -> Any:
    plain = plain_value(x)
    return astype(x, complex128 if isinstance(plain, complex) else float64) if isinstance(plain, PYTHON) else x


def times(partial: Any) -> Callable[..., Any]:
    """`(x_dot, y, *xs) -> dy/dx x_dot`, for a partial derivative of the table, without products by 1 and -1."""
    if not callable(partial):
        constant = partial or 0.0
        if constant == 1.0:
            return lambda x_dot, *_: x_dot
        if constant == -1.0:
            return lambda x_dot, *_: -x_dot
        return lambda x_dot, *_: constant * x_dot

    def product(x_dot: Any, *values: Any) -> Any:
        try:
            return partial(*values) * x_dot
        except ArithmeticError:
            return ieee(partial, *values) * x_dot

    return product
