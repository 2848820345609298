"""Derivatives with respect to what a function closes over.

A closure is code with an environment. So its sensitivity is a structure with the sensitivity of each free variable
(Pearlmutter and Siskind 2008, section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.rules.annotations import Cotangent, P, Primal, S, Scalar
from shiftreset_ad.transforms.gradient import differentiate


def _differentiated(operator: str, f: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The value of `f`, and its sensitivity."""
    environment = Environment({"f": f})
    places = [i for i in environment.variables() if trees.is_number(environment.leaves[i])]
    if not places:
        raise TypeError(
            f"{operator}: the function closes over no float and no array of floats. Globals, parameters and their "
            "defaults are not free variables; make them arguments, and use grad"
        )

    def f_of_variables(numbers: list[Primal]) -> Any:
        leaves = list(environment.leaves)
        for i, number in zip(places, numbers, strict=True):
            leaves[i] = number
        instance = environment.with_leaves(leaves)
        value = instance.roots[0](*args, **kwargs)
        return value, (instance, instance.checked_updates(operator))

    numbers = [environment.leaves[i] for i in places]
    value, gradient, (instance, updates) = differentiate(
        operator, f_of_variables, Arguments(operator, 0, (numbers,)), has_aux=True, holomorphic=False, kwargs={}
    )
    instance.assign(updates)
    derivatives: list[Cotangent] = [None] * len(environment.leaves)
    for i, x_bar in zip(places, gradient, strict=True):
        derivatives[i] = x_bar
    return value, environment.sensitivity(f, derivatives)  # type: ignore[arg-type]


def value_and_grad_closure(f: Callable[P, S]) -> Callable[P, tuple[S, dict[str, Any]]]:
    """The function that returns the value of `f` and its sensitivity, as `grad_closure` does, `(value, sensitivity)`.

    >>> def of(w):
    ...     return lambda x: w * w * x
    >>> value_and_grad_closure(of(3.0))(2.0)
    (18.0, {'w': 12.0})
    """
    return Derived(_value_and_sensitivity, _named("value_and_grad_closure", f), f)


@trimming
def _value_and_sensitivity(name: str, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The value of a function and the sensitivity of what it closes over."""
    return _differentiated(name, f, args, kwargs)


def grad_closure(f: Callable[P, Scalar]) -> Callable[P, dict[str, Any]]:
    """The function that returns the sensitivity of `f`: a dict with the gradient with respect to each free variable.

    `f` returns a scalar. The keys of the dict are the names of the variables that `f` closes over. A number, an array
    or a structure of them has a gradient of the same structure and shapes. A function has a dict of its own (a
    `functools.partial` by `func`, `args` and `keywords`; a bound method by `__func__` and `__self__`). A variable
    without a derivative has None, and so has a function where it holds itself. A variable that functions share has one
    sensitivity, which all their dicts show. Globals, parameters and their defaults are not free variables. Values that
    `f` assigns by `nonlocal` are kept.

    Raises TypeError if `f` is not a Python function, closes over nothing that can be differentiated or does not return
    a scalar; ControlError if it changes a list with such numbers in place. Pearlmutter and Siskind 2008, section 4.

    >>> def of(w):
    ...     return lambda x: w * w * x
    >>> grad_closure(of(3.0))(2.0)
    {'w': 12.0}
    """
    return Derived(_sensitivity, _named("grad_closure", f), f)


@trimming
def _sensitivity(name: str, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The sensitivity of what a function closes over."""
    return _differentiated(name, f, args, kwargs)[1]


def _named(operator: str, f: Any) -> str:
    name = named(operator, f)
    if not isinstance(f, FunctionType | Derived):
        raise TypeError(
            f"{operator}: only a Python function has free variables, and this is {f!r:.60}; "
            f"write {operator}(lambda x: f(x)), whose free variable is f"
        )
    return name
