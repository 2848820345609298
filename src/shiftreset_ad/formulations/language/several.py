"""A primitive from R^n to R^m: terms for its results, and for their derivatives (Krawiec et al. 2022, Fig. 14).

The table of the library has functions of one result. With several results, a part of the work may be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from shiftreset_ad.formulations.language.interpreter import evaluate
from shiftreset_ad.formulations.language.names import renamed
from shiftreset_ad.formulations.language.terms import Fst, Pair, Primitive, Snd, Term, Var
from shiftreset_ad.formulations.language.types import REAL, Type, product


class Several:
    """A function of real numbers with several results, in nested pairs: (y1, (y2, y3)).

    `partials[j][i]` is the derivative of the result j by the parameter i. The free variables of `results` and of
    `partials` are the parameters.

    >>> from shiftreset_ad.formulations.language import parse
    >>> polar = Several("polar", "rt", map(parse, ("r * cos t", "r * sin t")), [
    ...     map(parse, ("cos t", "-(r * sin t)")), map(parse, ("sin t", "r * cos t"))])
    >>> polar(2.0, 0.0)
    (np.float64(2.0), np.float64(0.0))
    """

    def __init__(self, name: str, parameters: Sequence[str], results: Any, partials: Sequence[Any]) -> None:
        self.__name__ = name
        self.parameters = tuple(parameters)
        self.results: tuple[Term, ...] = tuple(results)
        self.partials: tuple[tuple[Term, ...], ...] = tuple(map(tuple, partials))

    def __call__(self, *xs: Any) -> Any:
        environment = dict(zip(self.parameters, xs, strict=True))
        return nested([evaluate(result, environment) for result in self.results], lambda first, rest: (first, rest))

    def of(self, *xs: Var) -> Primitive:
        """The term that applies the primitive."""
        return Primitive(self, xs)

    def partials_at(self, *xs: Var) -> list[list[Term]]:
        """The partial derivatives as terms of the variables `xs`."""
        names = {parameter: x.name for parameter, x in zip(self.parameters, xs, strict=True)}
        return [[renamed(partial, names) for partial in row] for row in self.partials]

    @property
    def signature(self) -> tuple[Type, ...]:
        """The types of the operands, and of the answer."""
        return *(REAL for _ in self.parameters), nested([REAL for _ in self.results], product)

    def parts(self, y: Term) -> list[Term]:
        """The terms for the results, if `y` is all of them."""
        parts = []
        for _ in self.results[1:]:
            parts.append(Fst(y))
            y = Snd(y)
        return [*parts, y]


def nested(items: Sequence[Any], pair: Callable[[Any, Any], Any] = Pair) -> Any:
    """(a, (b, c)) for three items."""
    return reduce(lambda rest, item: pair(item, rest), reversed(items))
