"""SciPy's own functions, forwarded by the modules here. For numbers they raise: they would lose the derivative."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.numbers.remedies import of_scipy
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.building import gathered
from shiftreset_ad.rules.linalg.matrices import array_of


def forwarding(library: ModuleType, ours: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module with the names in `ours` and, guarded, the other names of `library`."""
    return (
        lambda name: guarded(getattr(library, name), f"{library.__name__}.{name}"),
        lambda: sorted({*ours, *dir(library)}),
    )


def guarded(attribute: Any, name: str) -> Any:
    """A function or method of SciPy's that raises NotImplementedError for numbers that are being differentiated."""
    if not callable(attribute) or isinstance(attribute, type):
        return attribute

    @wraps(attribute)
    def function(*args: Any, **kwargs: Any) -> Any:
        if has_number([*map(operand, args), *map(operand, kwargs.values())]):
            raise no_derivative(name, of_scipy(attribute))
        return attribute(*args, **kwargs)

    return function


def no_derivative(name: str, remedy: str | None = None) -> NotImplementedError:
    """The error of a function that takes no numbers; `remedy` says what to write instead, if that is known."""
    instead = f"Use {remedy}" if remedy else "Write it with functions that have one"
    return NotImplementedError(
        f"{name} has no derivative rule here. {instead}, or give it shiftreset_ad.value(x) where a constant is meant"
    )


def operand(x: Any) -> Any:
    """An argument as it is; but a list, or an array of objects, with numbers in it becomes one number."""
    return gathered(array_of(x) if has_number(x) else x)


def in_double(x: Any, name: str) -> Any:
    """An argument as an array or a number in float64, as SciPy computes. NotImplementedError for complex numbers."""
    x = array_of(operand(x))
    dtype = dtype_of(x)
    if dtype.kind == "c":
        raise NotImplementedError(
            f"{name} has no derivative for complex numbers here. Give it the real and the imaginary part, one by one"
        )
    return x if dtype == np.float64 else x.astype(np.float64)
