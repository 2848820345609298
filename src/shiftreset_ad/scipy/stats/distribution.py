"""SciPy's distributions with some methods replaced by our own; all other methods raise for numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.broadcasting import FLOAT64, dtype_of, is_complex
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.scipy.forwarding import guarded, no_derivative, operand

stats: Any = import_module("scipy.stats")


def require_real(name: str, *operands: Any) -> None:
    if any(map(is_complex, operands)):
        raise TypeError(f"scipy.stats.{name} is a function of real numbers, but was given complex numbers")


def as_doubles(name: str, *operands: Any) -> list[Any]:
    """The operands as arrays in double precision; SciPy's distributions compute in it."""
    arrays = list(map(array_of, operands))
    require_real(name, *arrays)
    return [x if dtype_of(x) == FLOAT64 else astype(x, float) for x in arrays]


class Distribution:
    """A distribution of SciPy's, with these methods in place of its own. A call returns it with fixed parameters."""

    def __init__(self, name: str, methods: dict[str, Callable[..., Any]]) -> None:
        self._name = f"scipy.stats.{name}"
        self._scipys = getattr(stats, name)
        self.__dict__ |= {
            method: wraps(getattr(self._scipys, method))(function) for method, function in methods.items()
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return guarded(getattr(self._scipys, name), f"{self._name}.{name}")

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(self._scipys)})

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        return Frozen(self, args, kwds)


class Frozen:
    """A distribution with fixed parameters."""

    def __init__(self, distribution: Distribution, args: tuple[Any, ...], kwds: dict[str, Any]) -> None:
        self._distribution = distribution
        self._args = tuple(map(operand, args))
        self._kwds = {name: operand(arg) for name, arg in kwds.items()}
        if not has_number([*self._args, *self._kwds.values()]):
            distribution._scipys(*args, **kwds)  # raises SciPy's errors

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in vars(self._distribution):
            method = vars(self._distribution)[name]
            return lambda *args: method(*args, *self._args, **self._kwds)
        full = f"{self._distribution._name}.{name}"
        if has_number([*self._args, *self._kwds.values()]):
            raise no_derivative(full)
        return guarded(getattr(self._distribution._scipys(*self._args, **self._kwds), name), full)
