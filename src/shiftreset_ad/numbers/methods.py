"""The methods of arrays that NumPy also has as functions: a number calls the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.numbers.dispatch import call_unusual, call_usual, name_of, position_of_out
from shiftreset_ad.numbers.object_arrays import OF_OBJECTS, gathered_in
from shiftreset_ad.numbers.writing import function_into

METHODS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in ("sum", "mean", "prod", "max", "min", "var", "std", "cumsum", "cumprod", "ravel", "squeeze")
    },
    **{name: getattr(np, name) for name in ("swapaxes", "repeat", "diagonal", "trace", "dot", "clip", "round")},
    **{name: getattr(np, name) for name in ("all", "any", "argmax", "argmin", "argsort", "nonzero", "searchsorted")},
    **{name: getattr(np, name) for name in ("argpartition", "take", "choose", "put")},
}


INSTEAD = {"flat": "x.ravel()"}


def with_named_out(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The arguments, with `out` and all later ones given by name, as rules have no `out`."""
    names = list(inspect.signature(function).parameters)
    place = names.index("out")
    if len(args) > len(names):
        raise TypeError(f"{name_of(function)}: too many positional arguments")
    for name in names[place : len(args)]:
        if name in kwargs:
            raise TypeError(f"{name_of(function)}: multiple values for argument {name!r}")
    given = {
        name: argument
        for name, argument in zip(names[place:], args[place:], strict=False)
        if argument is not np._NoValue and (argument is not None or name != "out")
    }
    return args[:place], {**kwargs, **given}


def _compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """`numpy.compress(condition, x, axis)`."""
    return np.compress(condition, self, axis, out=out)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = call_usual(function, (self, *args), kwargs)
        if answer is not NotImplemented:
            return answer
        arguments = (self, *map(gathered_in, args))
        if len(arguments) > position_of_out(function):
            arguments, kwargs = with_named_out(function, arguments, kwargs)
        if kwargs and kwargs.get("out") is not None:
            return function_into(function, arguments, kwargs)
        return call_unusual(function, arguments, kwargs)

    method.__doc__ = f"`numpy.{function.__name__}(x, ...)`."
    return method


def _elementwise_method(ufunc: np.ufunc) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        return ufunc(self, *others)

    method.__doc__ = f"`numpy.{ufunc.__name__}(x, ...)`, which NumPy calls on the elements of an array of objects."
    return method


def _missing(name: str) -> property:
    instead = f", and {INSTEAD[name]} has the same elements" if name in INSTEAD else ""

    def refuse(self: Any) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no attribute {name!r}, which floats or arrays have, because it has no "
            f"derivative rule; shiftreset_ad.value(x) gives the plain one{instead}"
        )

    return property(refuse, doc="Not available: it has no derivative rule.")


def give_methods(kind: type) -> None:
    """Give a class of numbers the methods of arrays, and properties that raise for those without a rule.

    Each is a property: a `__getattr__` would take every attribute of every number off CPython's fast path.
    """
    for name, function in METHODS.items():
        setattr(kind, name, _method(function))
    kind.compress = _compress  # type: ignore[attr-defined]
    for name in OF_OBJECTS:
        setattr(kind, name, _elementwise_method(getattr(np, name)))
    for name in {*dir(np.ndarray), *dir(np.float64)}:
        if not name.startswith("_") and not hasattr(kind, name):
            setattr(kind, name, _missing(name))
