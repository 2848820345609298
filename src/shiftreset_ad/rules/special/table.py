"""The notation for the rules of `scipy.special`: the signature as users know it, and partial derivatives by name.

`rule("kv(v, z)", z=...)` has no derivative in the order `v`: a number that is being differentiated is an error there. A
function that the installed SciPy does not have is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from shiftreset_ad.rules.annotations import Cotangent
from shiftreset_ad.rules.broadcasting import is_complex, shape_of, unbroadcast
from shiftreset_ad.rules.table import STRUCTURED, LinearMap, Partial, Structured, elementwise

special: Any = import_module("scipy.special")


class Asked:
    """An operand that answers every ufunc with the ufunc itself."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> np.ufunc:
        return ufunc


def ufunc_of(function: Callable[..., Any], *constants: Any) -> Any:
    """The ufunc that a function calls with its last operand. `zeta` is no ufunc itself; it calls one of two ufuncs."""
    return function(*constants, Asked())


def rule(signature: str, function: Any = None, **partials: Partial) -> None:
    """Enter the partial derivatives of a function applied element by element; by default a function of `special`.

    A partial is `(y, *operands) -> dy/dx`; for a function with several answers, y and dy/dx are tuples.
    """
    name, _, operands = signature.removesuffix(")").partition("(")
    function = function or getattr(special, name, None)
    if function is None:
        return
    parameters = tuple(operands.split(", "))
    several = getattr(function, "nout", 1) > 1
    if isinstance(function, np.ufunc) and len(partials) == len(parameters) <= 2 and not several:
        elementwise(function, *(partials[parameter] for parameter in parameters))
        return

    def differentiate(*values: Any) -> Any:
        y = function(*values)
        map_of = map_of_several if several else map_of_one
        return y, [
            map_of(partial, y, values, x)
            for x, parameter in zip(values, parameters, strict=True)
            if (partial := partials.get(parameter)) is not None
        ]

    active = tuple(parameter for parameter in parameters if partials.get(parameter) is not None)
    differentiate.__signature__ = _signature(parameters)  # type: ignore[attr-defined]
    linear = not any(map(callable, partials.values()))
    STRUCTURED[function] = Structured(function, active, differentiate, parameters, kept=parameters, linear=linear)


def _signature(parameters: tuple[str, ...]) -> Signature:
    return Signature([Parameter(parameter, Parameter.POSITIONAL_ONLY) for parameter in parameters])


def times(slope: Callable[[], Any], x: Any) -> LinearMap:
    """The linear map of an operand `x` in which the derivative is `slope()`, element by element."""
    shape = shape_of(x)
    return LinearMap(lambda x_dot: slope() * x_dot, lambda y_bar: unbroadcast(slope() * y_bar, shape))


def map_of_one(partial: Any, y: Any, values: tuple[Any, ...], x: Any) -> LinearMap:
    """The linear map of one operand; its partial derivative is computed when it is needed."""
    return times(lambda: partial(y, *values) if callable(partial) else partial, x)


def map_of_several(partial: Any, ys: Any, values: tuple[Any, ...], x: Any) -> LinearMap:
    """The linear map of one operand of a function with several answers."""
    shape = shape_of(x)

    def pullback(y_bars: Any) -> Any:
        slopes = partial(ys, *values)
        parts = [slope * y_bar for slope, y_bar in zip(slopes, y_bars, strict=True) if not is_unused(y_bar)]
        return unbroadcast(sum(parts[1:], parts[0]), shape) if parts else np.zeros(shape)

    return LinearMap(lambda x_dot: tuple(slope * x_dot for slope in partial(ys, *values)), pullback)


def is_unused(y_bar: Cotangent) -> bool:
    """Whether `y_bar` is the cotangent of an answer that nobody uses; the derivative of the answer may be infinite."""
    return y_bar is None or (isinstance(y_bar, float | complex | np.generic | np.ndarray) and not np.any(y_bar))


def require_real(name: str, *operands: Any) -> None:
    """Raise NotImplementedError if an operand is complex; there is no complex derivative, or no rule for it."""
    if any(map(is_complex, operands)):
        raise NotImplementedError(
            f"scipy.special.{name} has no derivative here for complex operands. Write it with functions that have one, "
            "or give it shiftreset_ad.value(z) where a constant is meant"
        )


def of_real(name: str, partial: Callable[..., Any]) -> Callable[..., Any]:
    """A partial derivative for real operands only."""

    @wraps(partial)
    def checked(y: Any, *operands: Any) -> Any:
        require_real(name, *operands)
        return partial(y, *operands)

    return checked


def on_two_sides(
    mask: Any, x: Any, there: Callable[[Any], Any], here: Callable[[Any], Any], safe_there: Any, safe_here: Any
) -> Any:
    """`there(x)` where the mask is True, and `here(x)` elsewhere; each gets a safe value in place of the other's.

    Otherwise one could have infinite derivatives where it does not count, and zero times infinity is NaN.
    """
    return np.where(mask, there(np.where(mask, x, safe_there)), here(np.where(mask, safe_here, x)))
