"""How functions of networks take numbers, and arrays of every library."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from shiftreset_ad.array_api.libraries import has_foreign
from shiftreset_ad.array_api.standard import Standard, adopted
from shiftreset_ad.rules.table import answered

Function = TypeVar("Function", bound=Callable[..., Any])


def operation(operands: int) -> Callable[[Function], Function]:
    """A function with a rule of its own: the first of its `operands` that is no plain array answers a call of it."""

    def taking_numbers(function: Function) -> Function:
        @wraps(function)
        def ours(*args: Any) -> Any:
            answer = answered(ours, args[:operands], args)
            return function(*args) if answer is NotImplemented else answer

        return cast(Function, ours)

    return taking_numbers


def of_any_library(function: Function) -> Function:
    """A function that also takes arrays of other libraries where nothing is differentiated, and returns such arrays."""

    @wraps(function)
    def ours(*args: Any, **kwargs: Any) -> Any:
        if not has_foreign(args) and not has_foreign(tuple(kwargs.values())):
            return function(*args, **kwargs)
        return _unwrapped(function(*adopted(args), **{name: adopted(arg) for name, arg in kwargs.items()}))

    return cast(Function, ours)


def _unwrapped(answer: Any) -> Any:
    """An answer as the program gets it: constant arrays are the library's own."""
    if type(answer) in (tuple, list):
        return type(answer)(map(_unwrapped, answer))
    return answer.array if type(answer) is Standard else answer


def as_array(x: Any) -> Any:
    """A list as an array; any array or number as it is."""
    return x if hasattr(x, "__array_function__") else np.asarray(x)
