"""What the operators answer: functions such as `grad(f)`, as values with a name, a signature and a docstring."""

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
    """The docstring of a derived function, which is put together when it is asked for; of the class, its own."""

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
    """What an operator makes of a function `f`: a `rule` for any function, with a name, `f` and the options put in.

    The rule is a function of a module, so what is made of it can be pickled if `f` can.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __new__(cls, rule: Callable[..., Any], name: str, f: Callable[..., Any], *options: Any) -> Self:
        self = super().__new__(cls, rule, name, f, *options)
        self.__name__ = self.__qualname__ = name
        self.__wrapped__ = f  # of which it has the signature
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
    """What an operator makes of a function `f` that is still the same function: it looks like it."""

    def __new__(cls, rule: Callable[..., Any], name: str, f: Callable[..., Any], *options: Any) -> Self:
        self = super().__new__(cls, rule, name, f, *options)
        functools.update_wrapper(self, f)
        return self


def name_in_module(x: Any) -> str | None:
    """The name by which the module of a decorated function has it, to be pickled by as functions are; None if it has
    another under this name.
    """
    f = x.__wrapped__
    try:
        found = attrgetter(f.__qualname__)(sys.modules[f.__module__])
    except (AttributeError, KeyError):
        return None
    return f.__qualname__ if found is x else None
