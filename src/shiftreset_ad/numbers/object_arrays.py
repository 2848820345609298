"""Arrays of objects whose elements are numbers, which `numpy.array([x, y])` and `numpy.r_[x, y]` make.

NumPy asks each number in the list by `__array__`. The number answers with an array of objects, so NumPy makes an array
of objects, and computes element by element, by the operators and methods of the elements: slowly, but correctly. An
array of objects that meets a number becomes one number (`rules.building.gathered`). It cannot become an array of floats
unnoticed, as NumPy would call `float(x)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.dispatch import has_array
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.building import OBJECT, gathered, is_of_objects
from shiftreset_ad.rules.table import functions_of

# NumPy's loops over objects call the method with the name of the function.
OF_OBJECTS = (
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "fabs", "rint"),
    *("degrees", "radians", "rad2deg", "deg2rad", "arctan2", "hypot", "fmod", "logical_xor"),
)
WRITERS = {*functions_of("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal")}

# The code of `numpy.mean`, `var` and `std` of plain arrays and of lists.
_METHODS = sys.modules.get("numpy._core._methods")
MEANS = {getattr(_METHODS, name).__code__ for name in ("_mean", "_var", "_std") if hasattr(_METHODS, name)}
_CONCATENATOR = type(np.r_).__getitem__.__code__


def of_elements(x: Any) -> Any:
    """The elements of a number as an array of objects, each a scalar; anything else as it is."""
    if not isinstance(x, Number):
        return x
    shape: tuple[int, ...] = x.shape  # type: ignore[attr-defined]
    elements = np.empty(shape, OBJECT)
    for place in np.ndindex(shape):
        elements[place] = x[place] if has_array(x) else x  # type: ignore[index]
    return elements


def as_object(x: Any) -> Any:
    """A number as the only element of an array of objects without dimensions."""
    whole = np.empty((), OBJECT)
    whole[()] = x
    return whole


def is_asked_by_concatenator() -> bool:
    """Whether the caller's caller is `numpy.r_` or `numpy.c_`, which only join their arguments."""
    return sys._getframe(2).f_code is _CONCATENATOR


def is_asked_by_assertion() -> bool:
    """Whether the caller's caller is a function of `numpy.testing`, which only needs the value."""
    module: str = sys._getframe(2).f_globals.get("__name__", "")
    return module.startswith("numpy.testing.")


def require_real(x: Any) -> None:
    """Raise TypeError for a complex number: NumPy takes the elements of an array of objects for real."""
    if is_complex(x):
        raise TypeError(
            "numpy.array of complex numbers makes an array of objects, whose .real and .imag are wrong; use "
            "numpy.stack or shiftreset_ad.array, also for a list that you give to a function, and numpy.concatenate "
            "for numpy.r_"
        )


def require_unmasked() -> None:
    """Raise TypeError if the caller's caller is a function of `numpy.ma`, whose mask can depend on the dtype."""
    if sys._getframe(2).f_globals.get("__name__", "").startswith("numpy.ma."):
        raise TypeError(
            "numpy.ma: a masked array cannot hold numbers that are being differentiated. Use numpy.where(mask, 0.0, "
            "x), or the where= of numpy.sum and the like"
        )


def may_have_objects(arguments: Iterable[Any]) -> bool:
    """Whether an argument is an array of objects, or may be a list that has one."""
    for argument in arguments:
        kind = type(argument)
        if kind is list or kind is tuple or (kind is ndarray and argument.dtype is OBJECT):
            return True
    return False


def gathered_in(argument: Any) -> Any:
    """An argument whose arrays of objects, also those in lists and tuples, have become numbers."""
    if isinstance(argument, list | tuple) and any(map(_has_objects, argument)):
        return [gathered_in(element) for element in argument]
    return gathered(argument)


def _has_objects(argument: Any) -> bool:
    return any(map(_has_objects, argument)) if isinstance(argument, list | tuple) else is_of_objects(argument)


def writes_into_objects(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a function writes into an array of objects, which can hold a number as it is."""
    return function in WRITERS and is_of_objects(args[0] if args else None)


def on_objects(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy on arrays of objects only."""
    return function(*map(of_elements, args), **{name: of_elements(arg) for name, arg in kwargs.items()})
