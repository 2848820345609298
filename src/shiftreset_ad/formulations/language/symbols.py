"""Partial derivatives as terms: a symbol writes down what the table computes with it.

A source transformation needs the derivative of sin as the *term* cos x. The table of the library has it as a Python
function; applied to symbols, that function writes the term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.derived import if_then_else
from shiftreset_ad.formulations.language.terms import Const, Primitive, Term
from shiftreset_ad.formulations.overloading import Overloaded, partials


class Symbol(Overloaded):
    """A number of which only the term is known."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term

    def operate(self, function: Callable[..., Any], *operands: Any) -> Symbol:
        """The symbol for the term that applies `function`."""
        return Symbol(Primitive(function, tuple(map(_term, operands))))

    _operate = operate  # comparisons are terms as well

    def __eq__(self, that: object) -> Symbol:  # type: ignore[override]
        return self.operate(np.equal, self, that)

    __hash__ = None  # type: ignore[assignment]

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or kwargs:
            return NotImplemented
        condition, then, otherwise = map(_term, args)
        return Symbol(if_then_else(condition, then, otherwise))


def partial_terms(function: Callable[..., Any], y: Term, *xs: Term) -> Sequence[Term]:
    """The partial derivatives of y = function(*xs), by the table, as terms in the terms `y` and `xs`.

    Raises NotImplementedError for a function whose derivative is not a term: one that the table does not have, or that
    looks at its operands.

    >>> from shiftreset_ad.formulations.language import Var, show
    >>> [show(term) for term in partial_terms(np.sin, Var("y"), Var("x"))]
    ['cos x']
    """
    try:
        return [_term(slope) for slope in partials(function, Symbol(y), *map(Symbol, xs))]
    except (TypeError, AttributeError) as error:
        raise NotImplementedError(f"{function.__name__}: its derivative is not a term of the core language") from error


def _term(x: Any) -> Term:
    return x.term if isinstance(x, Symbol) else Const(x)
