"""The functions that operators return, such as `grad(f)`: values with a name, a signature and a docstring."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from functools import partial
from itertools import islice
from operator import attrgetter
from types import MethodType
from typing import Any, Self


class Documentation:
    """The docstring of a derived function, put together when it is read. The class keeps its own docstring."""

    def __init__(self, of_class: str | None) -> None:
        self._of_class = of_class

    def __get__(self, derived: Derived | None, owner: type) -> str | None:
        if derived is None:
            return self._of_class
        name, f, *given = derived.args
        parameters = islice(inspect.signature(derived.func).parameters, 2, None)
        options = ", ".join(f"{option}={value!r}" for option, value in zip(parameters, given, strict=False))
        said = f"{name}{options and f', {options}'}: {derived.func.__doc__} It takes the arguments of the function."
        of_f = getattr(f, "__doc__", None)
        return f"{said}\n\n{of_f}" if of_f else said


class Derived(partial[Any]):
    """The function that an operator makes of `f`: a `rule` for any function, with a name, `f` and the options put in.

    The rule is a function of a module, so the new function can be pickled if `f` can.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __new__(cls, rule: Callable[..., Any], name: str, f: Callable[..., Any], *options: Any) -> Self:
        self = super().__new__(cls, rule, name, f, *options)
        self.__name__ = self.__qualname__ = name
        self.__wrapped__ = f  # the signature is that of f
        if (module := getattr(f, "__module__", None)) is not None:
            self.__module__ = module
        return self

    def of(self, f: Callable[..., Any]) -> Self:
        """The same derivative of another function."""
        name, _, *options = self.args
        return type(self)(self.func, name, f, *options)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self.args[0]}>"

    def __reduce__(self) -> Any:
        return name_in_module(self) or (type(self), (self.func, *self.args))


Derived.__doc__ = Documentation(Derived.__doc__)  # type: ignore[assignment]


class Decorated(Derived):
    """The function that an operator makes of `f` if it computes the same: it looks like `f`."""

    def __new__(cls, rule: Callable[..., Any], name: str, f: Callable[..., Any], *options: Any) -> Self:
        self = super().__new__(cls, rule, name, f, *options)
        functools.update_wrapper(self, f)
        return self


def name_in_module(x: Any) -> str | None:
    """The name of a decorated function in its module, by which it is pickled as functions are.

    None if the module has something else under this name.
    """
    f = x.__wrapped__
    try:
        found = attrgetter(f.__qualname__)(sys.modules[f.__module__])
    except (AttributeError, KeyError):
        return None
    return f.__qualname__ if found is x else None
