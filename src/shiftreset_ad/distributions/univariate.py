"""Distributions of one variable: SciPy's values, and their derivatives in the variable and in the parameters.

A method at location 0 and scale 1 has a rule; location and scale come by ordinary operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from shiftreset_ad.distributions.of_scipy import Distribution, operand, require_real, stats
from shiftreset_ad.numbers.dispatch import call
from shiftreset_ad.numbers.number import has_number
from shiftreset_ad.rules.special.table import rule
from shiftreset_ad.rules.stand_ins import carried_out, is_staged


def standard(name: str, method: str, parameters: tuple[str, ...], **partials: Any) -> Callable[..., Any]:
    """A method at location 0 and scale 1, with the partial derivatives `(y, x, *shapes)` as its rule."""
    of_scipy = getattr(getattr(stats, name), method)

    def function(*values: Any) -> Any:
        return call(function, *values) if any(map(has_number, values)) else carried_out(of_scipy, *values)

    function.__module__, function.__name__ = "scipy.stats", f"{name}.{method}"
    rule(f"{name}({', '.join(parameters)})", function, **partials)
    return function


def within(low: float, high: float, slope: Callable[..., Any]) -> Callable[..., Any]:
    """A partial derivative that is `slope` in the support and 0 outside, and NaN where the value is."""
    middle = 0.0 if low == -high else low + 0.5

    def of_support(y: Any, x: Any, *shapes: Any) -> Any:
        inside = (low <= x) & (x <= high) & np.isfinite(x)
        found = np.where(inside, slope(np.where(inside, y, 0.0), np.where(inside, x, middle), *shapes), 0.0)
        return np.where(np.isnan(y), np.nan, found)

    return of_support


def located(name: str, method: str, at_standard: Callable[..., Any], shapes: tuple[str, ...]) -> Callable[..., Any]:
    """The method with a location and, of a continuous distribution, a scale."""
    discrete = method in {"pmf", "logpmf"} or not hasattr(getattr(stats, name), "pdf")
    known = {"loc": 0} if discrete else {"loc": 0, "scale": 1}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature(
        [Parameter(parameter, kind) for parameter in ("k" if discrete else "x", *shapes)]
        + [Parameter(parameter, kind, default=default) for parameter, default in known.items()]
    )

    def function(*args: Any, **kwds: Any) -> Any:
        bound = signature.bind(*args, **kwds)
        bound.apply_defaults()
        values = list(map(operand, bound.arguments.values()))
        if not any(map(has_number, values)):
            return carried_out(getattr(getattr(stats, name), method), *args, **kwds)
        x, *rest = values = [value if has_number(value) or is_staged(value) else np.asarray(value) for value in values]
        require_real(f"{name}.{method}", *values)
        if discrete:
            return at_standard(x - rest[-1], *rest[:-1])
        *given, loc, given_scale = rest
        valid = given_scale > 0
        scale = given_scale if np.all(valid) else np.where(valid, given_scale, 1.0)
        y = at_standard((x - loc) / scale, *given)
        if method == "pdf":
            y = y / scale
        elif method == "logpdf":
            y = y - np.where(y == -np.inf, 0.0, np.log(scale))
        return y if np.all(valid) else y * np.where(valid, 1.0, given_scale * np.nan)

    return function


def continuous(
    name: str,
    support: tuple[float, float],
    score: Callable[..., Any],
    at_edge: Callable[..., Any] | None = None,
    hazards: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    **of_shapes: tuple[Callable[..., Any], Callable[..., Any]],
) -> Distribution:
    """A distribution by the derivatives of `logpdf(x, *shapes)` and, in a parameter of the shape, of `cdf(x, *shapes)`.

    `score` is that of logpdf in x, and `of_shapes` has both for each parameter. `at_edge` is the density at the edges
    of the support, with functions whose derivatives hold there. `hazards` are the derivatives of logcdf and logsf
    `(y, x, *shapes)`, where the quotient of both functions would not do.
    """
    shapes, inside = tuple(of_shapes), partial(within, *support)
    enter: Any = partial(standard, name, parameters=("x", *shapes))
    of_log = {"x": score, **{shape: slope for shape, (slope, _) in of_shapes.items()}}
    logpdf = enter("logpdf", **{key: inside(lambda y, *at, s=s: s(*at)) for key, s in of_log.items()})
    open_pdf = enter("pdf", **{key: inside(lambda y, *at, s=s: y * s(*at)) for key, s in of_log.items()})

    def pdf(x: Any, *values: Any) -> Any:
        edge = (x == support[0]) | (x == support[1])
        for value in values:
            edge = edge & (value > 0)
        if at_edge is None or not np.any(edge):
            return open_pdf(x, *values)
        there = at_edge(np.where(edge, x, support[0]), *(np.where(edge, value, 1.0) for value in values))
        return np.where(edge, there, open_pdf(np.where(edge, support[0] + 0.5, x), *values))[()]

    lower, upper = hazards or (
        lambda y, *at: np.exp(logpdf(*at) - y),
        lambda y, *at: -np.exp(logpdf(*at) - y),
    )

    def entered(method: str, in_x: Callable[..., Any], in_shape: Callable[..., Any]) -> Callable[..., Any]:
        """A method by its derivative in x, and in a parameter by `in_shape(y, slope of cdf)`."""
        of_cdf = {shape: slope for shape, (_, slope) in of_shapes.items()}
        partials = {key: inside(lambda y, *at, s=s: in_shape(y, s(*at))) for key, s in of_cdf.items()}
        f: Callable[..., Any] = enter(method, x=inside(in_x), **partials)
        return f

    methods = {
        "pdf": pdf,
        "logpdf": logpdf,
        "cdf": entered("cdf", lambda y, *at: pdf(*at), lambda y, slope: slope),
        "sf": entered("sf", lambda y, *at: -pdf(*at), lambda y, slope: -slope),
        "logcdf": entered("logcdf", lower, lambda y, slope: slope / np.exp(y)),
        "logsf": entered("logsf", upper, lambda y, slope: -slope / np.exp(y)),
    }
    return Distribution(name, {method: located(name, method, f, shapes) for method, f in methods.items()})


def discrete(name: str, **partials: dict[str, Callable[..., Any]]) -> Distribution:
    """A distribution of counts from 0 on, by the derivatives `(y, k, *shapes)` of each method in the parameters."""
    methods = {}
    for method, slopes in partials.items():
        counted = {key: within(0.0, np.inf, slope) for key, slope in slopes.items()}
        enter: Any = partial(standard, name, method, parameters=("k", *slopes))
        methods[method] = located(name, method, enter(**counted), tuple(slopes))
    return Distribution(name, methods)
