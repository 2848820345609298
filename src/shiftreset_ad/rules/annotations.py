"""Names for annotations: what a value is in a derivative, and the type variables that the operators share.

A number stands for a float or an array, at any level of nesting, and structures have any number of them. No type says
so: the names say what the value is to the derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, SupportsComplex, SupportsFloat, TypeAlias, TypeVar, TypeVarTuple

import numpy as np

Primal: TypeAlias = Any  # the value itself: a float, an array, or a number of an older derivative
Tangent: TypeAlias = Any  # x_dot, of forward mode: how the primal changes; None stands for zero
Cotangent: TypeAlias = Any  # x_bar, of reverse mode: how the result changes with the primal; None stands for zero
Direction: TypeAlias = Any  # a tangent or a cotangent: what a linear map takes and gives
Adjoint: TypeAlias = Any  # the cotangents of a number that have arrived so far, in the form that takes the next one

Pushforward: TypeAlias = Callable[[Tangent], Tangent]  # x_dot -> y_dot
Pullback: TypeAlias = Callable[[Cotangent], Cotangent]  # y_bar -> x_bar: the transpose

# What a gradient is of. Arrays count, as one without axes is a scalar, and types do not tell shapes.
Scalar: TypeAlias = SupportsFloat | SupportsComplex
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

Argnums: TypeAlias = int | tuple[int, ...]
Primals: TypeAlias = tuple[Primal, ...] | list[Primal]  # the arguments
Tangents: TypeAlias = tuple[Tangent, ...] | list[Tangent]  # one for each argument
Cotangents: TypeAlias = tuple[Cotangent, ...] | list[Cotangent]

# The bound has checkers take the parameter of a lambda, of which nothing is known, for Any.
X = TypeVar("X", bound=Any)  # the argument
Y = TypeVar("Y", bound=Any)  # the result
S = TypeVar("S", bound=Scalar)  # the result, a scalar
YDot = TypeVar("YDot", bound=Any)  # the tangent of the result
Aux = TypeVar("Aux", bound=Any)  # what is returned beside it
P = ParamSpec("P")  # all parameters, or those after the first
Q = ParamSpec("Q")  # those without self
Xs = TypeVarTuple("Xs")  # all arguments, given by position
