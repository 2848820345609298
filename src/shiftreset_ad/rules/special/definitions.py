"""Functions of ours for numbers, in place of functions of `scipy.special` that convert their arguments to arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from shiftreset_ad.rules.special.table import rule
from shiftreset_ad.rules.table import answered


def taking_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that uses its rule for numbers, and otherwise calls SciPy's function; it has SciPy's docstring."""
    signature = inspect.signature(function)

    @wraps(function)
    def ours(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = tuple(bound.arguments.values())
        answer = answered(ours, values, values)
        return function(*values) if answer is NotImplemented else answer

    return ours


def elementwise(**partials: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter these partial derivatives as the rule of the decorated function, which calls SciPy's function."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        ours = taking_numbers(function)
        rule(f"{function.__name__}({', '.join(inspect.signature(function).parameters)})", ours, **partials)
        return ours

    return enter
