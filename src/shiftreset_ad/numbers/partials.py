"""Partial derivatives, as the tables give them, made ready for the modes, which multiply by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import complex128, float64

from shiftreset_ad.numbers.number import is_double, plain_value
from shiftreset_ad.rules.numpy.shapes import astype

PYTHON = (float, int, complex)


def as_function(partial: Any) -> Callable[..., Any]:
    """A partial derivative as a function, where the table may have a number, or None for zero."""
    constant = partial or 0.0
    return partial if callable(partial) else lambda y, a, b=None: constant


def ieee(partial: Callable[..., Any], *values: Any) -> Any:
    """A partial derivative by NumPy's arithmetic, where Python's raises: 0.5 / 0.0 is infinite, as for arrays."""
    return partial(*map(_of_numpy, values))


def factor(partial: Callable[..., Any], *values: Any) -> Any:
    """The factor of a tangent, by Python's or by NumPy's arithmetic."""
    try:
        return partial(*values)
    except ArithmeticError:
        return ieee(partial, *values)


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


def share(partial: Any) -> Callable[..., Any]:
    """`times`, for scalars that are numbers: it also spares the product by the 1 that the way back begins with.

    Such a product would be an operation of the outer derivative. Only a float can stand for its product: an array, even
    without dimensions, would be memory that the adjoint has together with the program, and an integer is no adjoint.
    """
    if not callable(partial):
        return times(partial)

    def product(y_bar: Any, *values: Any) -> Any:
        try:
            factor = partial(*values)
            return factor if type(y_bar) is float and y_bar == 1.0 and is_double(factor) else factor * y_bar
        except ArithmeticError:
            return ieee(partial, *values) * y_bar

    return product
