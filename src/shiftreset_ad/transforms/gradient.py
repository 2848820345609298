"""`grad` and `value_and_grad`: the gradient of a scalar function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Concatenate, Literal, overload

import numpy as np

from shiftreset_ad.array_api import MET
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import named, require_complex, scalar_and_aux
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.boundary.tracebacks import trimmed
from shiftreset_ad.boundary.trees import handed_back, returned
from shiftreset_ad.modes.reverse.backpropagation import there_and_back
from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.rules.annotations import Argnums, Aux, Cotangent, P, Primal, S, Scalar, X
from shiftreset_ad.rules.carried_zeros import carried


@overload
def value_and_grad(
    f: np.ufunc, argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[..., tuple[Any, Any]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]  # Any is less than what is known of argument 0
    f: Callable[Concatenate[X, P], S],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Callable[Concatenate[X, P], tuple[S, X]]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[X, P], tuple[S, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> Callable[Concatenate[X, P], tuple[tuple[S, Aux], X]]: ...
@overload
def value_and_grad(
    f: Callable[P, S], argnums: Argnums, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[P, tuple[S, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, tuple[S, Aux]], argnums: Argnums, *, has_aux: Literal[True], holomorphic: bool = False
) -> Callable[P, tuple[tuple[S, Aux], Any]]: ...
def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the value of `f` and its gradient, `(value, gradient)`.

    `f: (..., tree of floats and arrays, ...) -> ()`. The gradient has the structure, shapes and dtypes of the argument
    that `argnums` names, with None for an integer, a string and the like. If `argnums` is a tuple, the gradient is a
    tuple with an entry for each argument. With `has_aux`, `f` returns `(scalar, aux)`, and the value is this pair.

    For a real `f` of z = x + iy, the gradient is df/dx - i df/dy. With `holomorphic`, arguments and result are complex,
    and the gradient is the complex derivative. Raises TypeError if an argument has no floating-point numbers, or if the
    result is not a scalar. Wang et al. 2019, section 3.2; Pearlmutter and Siskind 2008, section 4.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return Derived(value_and_gradient_of_f, named("value_and_grad", f), f, argnums, has_aux, holomorphic)


@overload
def grad(
    f: np.ufunc, argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[..., Any]: ...
@overload
def grad(  # type: ignore[overload-overlap]  # Any is less than what is known of argument 0
    f: Callable[Concatenate[X, P], Scalar],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Callable[Concatenate[X, P], X]: ...
@overload
def grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[X, P], tuple[Scalar, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> Callable[Concatenate[X, P], tuple[X, Aux]]: ...
@overload
def grad(
    f: Callable[P, Scalar], argnums: Argnums, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[P, Any]: ...
@overload
def grad(
    f: Callable[P, tuple[Scalar, Aux]], argnums: Argnums, *, has_aux: Literal[True], holomorphic: bool = False
) -> Callable[P, tuple[Any, Aux]]: ...
def grad(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the gradient of `f`: `value_and_grad` without the value.

    Shapes, structures and errors are those of `value_and_grad`. With `has_aux`, it returns `(gradient, aux)`.

    >>> grad(lambda x: x * x)(3.0)
    6.0
    """
    return Derived(gradient_of_f, named("grad", f), f, argnums, has_aux, holomorphic)


def value_and_gradient_of_f(
    name: str, f: Any, argnums: Any, has_aux: bool, holomorphic: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The value of a function and its gradient."""
    try:
        value, gradient, aux = differentiate(name, f, Arguments(name, argnums, args), has_aux, holomorphic, kwargs)
    except BaseException as error:
        raise trimmed(error)  # noqa: B904 (the same error)
    answer = ((value, aux) if has_aux else value), gradient
    return handed_back(answer, args) if MET else answer


def gradient_of_f(
    name: str, f: Any, argnums: Any, has_aux: bool, holomorphic: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The gradient of a function."""
    try:
        _, gradient, aux = differentiate(name, f, Arguments(name, argnums, args), has_aux, holomorphic, kwargs)
    except BaseException as error:
        raise trimmed(error)  # noqa: B904 (the same error)
    answer = (gradient, aux) if has_aux else gradient
    return handed_back(answer, args) if MET else answer


def differentiate(
    operator: str, f: Callable[..., Any], arguments: Arguments, has_aux: bool, holomorphic: bool, kwargs: Any
) -> tuple[Primal, Cotangent, Any]:
    """The value of `f`, its gradient, and the `aux` that `f` returned."""
    if holomorphic:
        require_complex(operator, arguments.numbers)
    value, derivatives, aux = derivatives_at(
        arguments.numbers, operator, f, arguments, has_aux=has_aux, holomorphic=holomorphic, kwargs=kwargs
    )
    return value, arguments.derivative(derivatives), aux


def derivatives_at(
    numbers: list[Primal],
    operator: str,
    f: Callable[..., Any],
    arguments: Arguments,
    has_aux: bool = False,
    holomorphic: bool = False,
    kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Primal, list[Cotangent], Any]:
    """The value of `f` with these numbers in its arguments, the derivative by each of them, and the `aux`."""

    def program(xs: list[NumR]) -> Callable[[], Any]:
        return partial(returned, partial(f, *arguments.with_numbers(xs), **kwargs))

    scalar = partial(scalar_and_aux, operator, has_aux, holomorphic)
    value, derivatives, aux = with_relaxed_collector(partial(there_and_back, program, numbers, scalar))
    if carried.any:
        derivatives = carried.certain_of(derivatives)
    return value, derivatives, aux
