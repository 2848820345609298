"""A method at location 0 and scale 1 that has a rule, and from it the method with a location and a scale."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from shiftreset_ad.numbers.dispatch import call
from shiftreset_ad.numbers.number import Number, has_number
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.rules.special.table import rule
from shiftreset_ad.rules.stand_ins import carried_out, is_staged
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.stats.distribution import require_real, stats

QUANTILES = {"ppf", "isf"}
Moments = dict[str, Callable[..., Any]]


def standard(name: str, method: str, parameters: tuple[str, ...], **partials: Any) -> Callable[..., Any]:
    """A method at location 0 and scale 1, with the partial derivatives `(y, x, *shapes)` as its rule."""
    of_scipy = getattr(getattr(stats, name), method)

    def function(*values: Any) -> Any:
        return call(function, *values) if any(map(has_number, values)) else carried_out(of_scipy, *values)

    function.__module__, function.__name__ = "scipy.stats", f"{name}.{method}"
    rule(f"{name}({', '.join(parameters)})", function, **partials)
    return function


def reader(names: tuple[str, ...], defaults: tuple[Any, ...]) -> Callable[..., list[Any]]:
    """A function from the arguments of a call to the values of all parameters; TypeError if they do not fit."""
    required = len(names) - len(defaults)
    signature = Signature(
        [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default)
            for name, default in zip(names, (Parameter.empty,) * required + defaults, strict=True)
        ]
    )

    def values_of(args: tuple[Any, ...], kwds: dict[str, Any]) -> list[Any]:
        if not kwds and required <= len(args) <= len(names):  # without a signature, for speed
            return [*args, *defaults[len(args) - required :]]
        bound = signature.bind(*args, **kwds)
        bound.apply_defaults()
        return list(bound.arguments.values())

    return values_of


def located(name: str, method: str, at_standard: Callable[..., Any], shapes: tuple[str, ...]) -> Callable[..., Any]:
    """The method with a location and, for a continuous distribution, a scale."""
    of_scipy = getattr(getattr(stats, name), method)
    is_discrete = not hasattr(getattr(stats, name), "pdf")
    argument = "q" if method in QUANTILES else "k" if is_discrete else "x"
    values_of = reader((argument, *shapes, *(("loc",) if is_discrete else ("loc", "scale"))), (0, 1)[: 2 - is_discrete])

    def function(*args: Any, **kwds: Any) -> Any:
        values = list(map(operand, values_of(args, kwds)))
        if not any(map(has_number, values)):
            return carried_out(of_scipy, *args, **kwds)
        values = [value if is_scalar(value) or is_staged(value) else np.asarray(value) for value in values]
        require_real(f"{name}.{method}", *values)
        if is_discrete:
            x, *given, loc = values
            return at_standard(x - loc, *given)
        x, *given, loc, given_scale = values
        valid: Any = True if is_one(given_scale) else given_scale > 0
        all_valid = valid if type(valid) is bool else bool(np.all(valid))
        scale = given_scale if all_valid else np.where(valid, given_scale, 1.0)
        if method in QUANTILES:
            y = at_standard(x, *given) * scale + loc
        else:
            x = x if is_zero(loc) else x - loc
            y = at_standard(x if is_one(scale) else x / scale, *given)
        if method == "pdf":
            y = y / scale
        elif method == "logpdf" and not is_one(scale):
            outside, log_scale = y == -np.inf, np.log(scale)
            y = y - (np.where(outside, 0.0, log_scale) if np.any(outside) else log_scale)
        return y if all_valid else y * np.where(valid, 1.0, given_scale * np.nan)

    return function


def is_scalar(x: Any) -> bool:
    return isinstance(x, Number) or type(x) is float or type(x) is int


def is_zero(x: Any) -> bool:
    return type(x) is int and x == 0


def is_one(x: Any) -> bool:
    return type(x) is int and x == 1


def moment_methods(name: str, moments: Moments, shapes: tuple[str, ...]) -> Moments:
    """The mean, the variance and the standard deviation, as far as `mean(*shapes)` and `var(*shapes)` are given."""
    sources = {"mean": "mean", "var": "var", "std": "var"}
    return {method: moment(name, method, moments[of], shapes) for method, of in sources.items() if of in moments}


def moment(name: str, method: str, of: Callable[..., Any], shapes: tuple[str, ...]) -> Callable[..., Any]:
    """The mean, the variance or the standard deviation, by the mean or the variance at location 0 and scale 1.

    SciPy says where it is infinite, and where parameters are not allowed.
    """
    of_scipy = getattr(getattr(stats, name), method)
    is_discrete = not hasattr(getattr(stats, name), "pdf")
    values_of = reader((*shapes, "loc") if is_discrete else (*shapes, "loc", "scale"), (0, 1)[: 2 - is_discrete])

    def function(*args: Any, **kwds: Any) -> Any:
        values = list(map(operand, values_of(args, kwds)))
        if not any(map(has_number, values)):
            return carried_out(of_scipy, *args, **kwds)
        require_real(f"{name}.{method}", *(value if hasattr(value, "dtype") else np.asarray(value) for value in values))
        known = carried_out(of_scipy, *map(plain, values))
        *given, loc, scale = [*values, 1.0] if is_discrete else values
        found = of(*given)
        if method == "mean":
            y = loc + scale * found
        else:
            with np.errstate(invalid="ignore"):  # for parameters that are not allowed
                y = scale * scale * found if method == "var" else scale * np.sqrt(found)
        y = np.where(np.isinf(known), known, y * np.where(np.isnan(known), np.nan, 1.0))
        return y[()]

    return function
