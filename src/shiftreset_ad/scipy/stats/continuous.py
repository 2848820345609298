"""Continuous distributions: SciPy's values, and their derivatives in the variable and in the parameters.

Each method has a rule at location 0 and scale 1. Ordinary operations add location and scale.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.numbers.number import has_number, plain_value
from shiftreset_ad.rules.broadcasting import FLOAT64, dtype_of
from shiftreset_ad.scipy.stats.distribution import Distribution
from shiftreset_ad.scipy.stats.located import Moments, located, moment_methods, standard

Function = Callable[..., Any]
Support = tuple[Any, Any]  # each end a number, or a function of the parameters of the shape


class Shape(NamedTuple):
    """The derivatives in a parameter of the shape, `(x, *shapes)`: `score` of logpdf, and `slope` of cdf.

    If the parameter moves quantiles by a simple law, `speed` is given in place of `slope`: the derivative of ppf at the
    quantile x. Then `slope` is minus the density times `speed`, which does not cancel or vanish far out. With neither
    of them, distribution functions and quantiles have no derivative in the parameter.
    """

    score: Function
    slope: Function | None = None
    speed: Function | None = None


def within(support: Support, slope: Function, closed: bool = True) -> Function:
    """A partial derivative: `slope` in the support, `closed` or open, 0 outside, and NaN where the value is NaN."""
    low, high = support
    middle = 0.0 if callable(low) or low == -high else low + 0.5

    def of_support(y: Any, x: Any, *shapes: Any) -> Any:
        first, last = (end(*shapes) if callable(end) else end for end in support)
        inside = ((first <= x) & (x <= last) if closed else (first < x) & (x < last)) & np.isfinite(x)
        if type(inside) is np.bool_ and inside and not np.any(np.isnan(y)):  # for speed
            return slope(y, x, *shapes)
        found = np.where(inside, slope(np.where(inside, y, 0.0), np.where(inside, x, middle), *shapes), 0.0)
        return np.where(np.isnan(y), np.nan, found)

    return of_support


def finite(slope: Function) -> Function:
    """A partial derivative of a quantile, `(y, *shapes)`: 0 where the quantile is infinite, and NaN where it is NaN."""

    def of_quantile(y: Any, q: Any, *shapes: Any) -> Any:
        known = np.isfinite(y)
        found = np.where(known, slope(np.where(known, y, 1.0), *shapes), 0.0)
        return np.where(np.isnan(y), np.nan, found)

    return of_quantile


def where_quick(closed_form: Function, by_rule: Function) -> Function:
    """`closed_form` for numbers that are finite doubles, and else `by_rule`: arithmetic takes less time than a rule."""

    def function(x: Any) -> Any:
        plain = plain_value(x)
        is_quick = has_number(x) and dtype_of(plain) == FLOAT64 and np.all(np.isfinite(plain))
        return closed_form(x) if is_quick else by_rule(x)

    return function


def continuous(
    name: str,
    support: Support,
    score: Function,
    moments: Moments,
    at_edge: Function | None = None,
    lower: Function | None = None,
    upper: Function | None = None,
    logpdf_of_finite: Function | None = None,
    **shapes: Shape,
) -> Distribution:
    """A distribution from derivatives: of `logpdf(x, *shapes)` and, in the shape's parameters, of `cdf(x, *shapes)`.

    `score` is the derivative of logpdf in x, and `moments` are `mean(*shapes)` and `var(*shapes)`. `at_edge` is the
    density at the finite edges of the support, made of functions whose derivatives hold there. `lower` and `upper` are
    the derivatives of logcdf and logsf in x, `(y, x, *shapes)`, if the quotient of density and function would not do.
    `logpdf_of_finite` is logpdf itself, for finite doubles.
    """
    names, inside = tuple(shapes), partial(within, support)
    interior = partial(within, support, closed=callable(support[0]))  # at a fixed end, cdf is a constant 0 or 1
    enter: Any = partial(standard, name, parameters=("x", *names))
    of_log = {"x": score, **{key: shape.score for key, shape in shapes.items()}}
    logpdf = enter("logpdf", **{key: inside(lambda y, *at, s=s: s(*at)) for key, s in of_log.items()})
    open_pdf = enter("pdf", **{key: inside(lambda y, *at, s=s: y * s(*at)) for key, s in of_log.items()})

    def pdf(x: Any, *values: Any) -> Any:
        if at_edge is None:
            return open_pdf(x, *values)
        edge = (x == support[0]) | ((x == support[1]) & np.isfinite(x))
        for parameter in values:
            edge = edge & (parameter > 0)
        if not np.any(edge):
            return open_pdf(x, *values)
        there = at_edge(np.where(edge, x, support[0]), *(np.where(edge, parameter, 1.0) for parameter in values))
        return np.where(edge, there, open_pdf(np.where(edge, support[0] + 0.5, x), *values))[()]

    def of_logarithm(hazard: Function | None, sign: float) -> Function:
        return hazard or (lambda y, *at: sign * np.exp(logpdf(*at) - y))

    def entered(method: str, in_x: Function, by_slope: Function) -> Function:
        """A distribution function, by its derivative in x; in a parameter, by `by_slope(y, slope)` with cdf's slope."""

        def in_shape(shape: Shape) -> Function | None:
            slope, speed = shape.slope, shape.speed
            if speed is not None:
                return interior(lambda y, *at: -in_x(y, *at) * speed(*at))
            return None if slope is None else inside(lambda y, *at: by_slope(y, slope(*at)))

        f: Function = enter(method, x=inside(in_x), **{key: in_shape(shape) for key, shape in shapes.items()})
        return f

    def quantile(method: str, sign: float) -> Function:
        """ppf or isf: the inverse of a function whose derivative is `sign` times the density."""

        def in_shape(shape: Shape) -> Function | None:
            slope, speed = shape.slope, shape.speed
            if speed is not None:
                return finite(speed)
            return None if slope is None else finite(lambda y, *at: -slope(y, *at) * np.exp(-logpdf(y, *at)))

        return standard(
            name,
            method,
            ("q", *names),
            q=lambda y, q, *at: sign * np.exp(-logpdf(y, *at)),
            **{key: in_shape(shape) for key, shape in shapes.items()},
        )

    methods = {
        "pdf": pdf,
        "logpdf": where_quick(logpdf_of_finite, logpdf) if logpdf_of_finite else logpdf,
        "cdf": entered("cdf", lambda y, *at: pdf(*at), lambda y, slope: slope),
        "sf": entered("sf", lambda y, *at: -pdf(*at), lambda y, slope: -slope),
        "logcdf": entered("logcdf", of_logarithm(lower, 1.0), lambda y, slope: slope / np.exp(y)),
        "logsf": entered("logsf", of_logarithm(upper, -1.0), lambda y, slope: -slope / np.exp(y)),
        "ppf": quantile("ppf", 1.0),
        "isf": quantile("isf", -1.0),
    }
    return Distribution(
        name,
        {method: located(name, method, f, names) for method, f in methods.items()}
        | moment_methods(name, moments, names),
    )
