"""Rules of a distribution function, of its complement and of its inverses, made from the function's derivatives.

`SLOPES = {"a": ..., "x": ...}` has the derivative in each parameter, as a function of all parameters, in the order of
the function's parameters. None means that there is no derivative, because the parameter is a count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.rules.special.table import rule

Slopes: TypeAlias = Mapping[str, Callable[..., Any] | None]


def cumulative(name: str, slopes: Slopes, sign: float = 1.0) -> None:
    """Enter the rule of the function with these derivatives, or with a `sign` of -1 the rule of its complement."""

    def partial_in(slope: Callable[..., Any]) -> Callable[..., Any]:
        return lambda y, *operands: sign * slope(*operands)

    given = {parameter: slope for parameter, slope in slopes.items() if slope is not None}
    rule(f"{name}({', '.join(slopes)})", **{parameter: partial_in(slope) for parameter, slope in given.items()})


def inverse(
    signature: str, slopes: Slopes, sign: float = 1.0, of_count: bool = False, **known: Callable[..., Any]
) -> None:
    """Enter the rule of the inverse in one parameter; the `signature` has the function's value y in place of it.

    `known` has partial derivatives `(answer, *operands)` that are simpler than by the rule for implicit functions. An
    inverse `of_count` is 0 for all values below the function's value at 0, and constant there.
    """
    parameters = signature.removesuffix(")").partition("(")[2].split(", ")
    (unknown,) = set(slopes) - set(parameters)
    of_unknown = slopes[unknown]
    assert of_unknown is not None

    def at(answer: Any, operands: tuple[Any, ...]) -> list[Any]:
        values = {unknown: answer, **dict(zip(parameters, operands, strict=True))}
        return [values[parameter] for parameter in slopes]

    def partial_in(slope: Callable[..., Any]) -> Callable[..., Any]:
        return lambda answer, *operands: -slope(*at(answer, operands)) / of_unknown(*at(answer, operands))

    partials = {
        parameter: partial_in(slope) for parameter in parameters if (slope := slopes.get(parameter)) is not None
    }
    partials["y"] = lambda answer, *operands: sign / of_unknown(*at(answer, operands))
    partials |= known
    rule(signature, **({name: _above_zero(partial) for name, partial in partials.items()} if of_count else partials))


def _above_zero(partial: Callable[..., Any]) -> Callable[..., Any]:
    return lambda answer, *operands: np.where(answer > 0.0, partial(answer, *operands), 0.0)
