"""How functions of networks take numbers, and arrays of every library."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from shiftreset_ad.array_api.libraries import has_foreign
from shiftreset_ad.array_api.standard import Standard, adopted
from shiftreset_ad.nn.torch_kernels import are_floating_tensors, by_torch_on_tensors
from shiftreset_ad.numbers.dispatch import call_with
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.table import COMPOSITE, STRUCTURED, answered

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


def fused(
    operands: int, composition: Callable[..., Any], of_tensors: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """A function that computes plain arrays in fewer steps than `composition`, which is the same by other functions.

    The function computes if its first `operands` are plain arrays, or None. Numbers go by the rule of the function, or
    by the composition if the function has no rule. Floating-point tensors of PyTorch go by `of_tensors`, if it is
    given. Everything else, such as a recorded value or an array of another library, goes by the composition.
    """

    def taking_numbers(function: Function) -> Function:
        @wraps(function)
        def ours(*args: Any) -> Any:
            is_plain = True
            for x in args[:operands]:
                if type(x) is not np.ndarray and x is not None:
                    if issubclass(type(x), Number) and ours in STRUCTURED:
                        return call_with(ours, args, {})
                    is_plain = False
            if is_plain:
                return function(*args)
            if of_tensors is not None and are_floating_tensors(args[:operands]):
                answer = by_torch_on_tensors(of_tensors, args[:operands], *args[operands:])
                if answer is not None:
                    return answer
            return composition(*args)

        COMPOSITE[ours] = composition
        return cast(Function, ours)

    return taking_numbers


class Shared:
    """What the pullbacks of several operands need of one cotangent, computed once for all of them.

    It is forgotten as soon as each of the `users` has had it, as the memory of a cotangent may be used again.
    """

    __slots__ = ("compute", "cotangent", "found", "left", "users")

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute
        self.users = self.left = 0
        self.cotangent = self.found = None

    def __call__(self, cotangent: Any) -> Any:
        if not self.left or self.cotangent is not cotangent:
            self.cotangent, self.found, self.left = cotangent, self.compute(cotangent), self.users
        found = self.found
        self.left -= 1
        if self.left <= 0:
            self.cotangent, self.found, self.left = None, None, 0
        return found


def of_any_library(function: Function) -> Function:
    """A function that also takes arrays of other libraries where nothing is differentiated, and returns such arrays."""

    @wraps(function)
    def ours(*args: Any, **kwargs: Any) -> Any:
        if not has_foreign(args) and not (kwargs and has_foreign(tuple(kwargs.values()))):
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
