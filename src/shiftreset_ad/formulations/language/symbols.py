"""Partial derivatives as terms: the table computes with symbols, and each symbol is a term.

A source transformation needs the derivative of sin as the *term* cos x. The table of the library has it as a Python
function; applied to symbols, that function writes the term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.formulations.language.derived import FALSE, TRUE, if_then_else
from shiftreset_ad.formulations.language.terms import Const, Primitive, Term
from shiftreset_ad.formulations.overloading import Overloaded, partials


class Symbol(Overloaded):
    """A number of which only the term is known."""

    __slots__ = ("term",)
    shape = (None,)  # not known; if it is not (), the table does not use Python's `if`

    def __init__(self, term: Term) -> None:
        self.term = term

    def operate(self, function: Callable[..., Any], *operands: Any) -> Symbol:
        """The symbol for the term that applies `function`."""
        if function is np.bitwise_and:
            condition, other = map(_term, operands)
            return Symbol(if_then_else(condition, other, FALSE))
        return Symbol(Primitive(function, tuple(map(_term, operands))))

    _operate = operate  # comparisons are terms as well

    def __and__(self, that: Any) -> Symbol:
        return self.operate(np.bitwise_and, self, that)

    def __bool__(self) -> NoReturn:
        raise TypeError("a symbol has no truth value")

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or len(args) != 3:
            return NotImplemented
        condition, then, otherwise = args
        return Symbol(if_then_else(_term(condition), _number(then), _number(otherwise)))


def partial_terms(function: Callable[..., Any], y: Term, *xs: Term) -> Sequence[Term]:
    """The partial derivatives of y = function(*xs), by the table, as terms in the terms `y` and `xs`.

    Give variables or constants as `y` and `xs`, as each of them may be in the answers several times. Raises
    NotImplementedError if a derivative is not a term: the table lacks the function, or its rule looks at the operands.

    >>> from shiftreset_ad.formulations.language import Var, show
    >>> [show(term) for term in partial_terms(np.sin, Var("y"), Var("x"))]
    ['cos x']
    """
    try:
        return [_term(slope) for slope in partials(function, Symbol(y), *map(_operand, xs))]
    except (TypeError, AttributeError) as error:
        raise NotImplementedError(f"{function.__name__}: its derivative is not a term of the core language") from error


def _operand(x: Term) -> Any:
    """The operand for the table; a constant stays a number, as a constant exponent has a simpler derivative."""
    return np.float64(x.value) if isinstance(x, Const) and isinstance(x.value, float) else Symbol(x)


def _term(x: Any) -> Term:
    if isinstance(x, Symbol):
        return x.term
    if isinstance(x, np.bool):
        return TRUE if x else FALSE
    return Const(x)


def _number(x: Any) -> Term:
    """The term for a number. NumPy's booleans, which are sums in the core language, become 1 and 0."""
    term = _term(x)
    if isinstance(term, Primitive) and term.is_comparison:
        return if_then_else(term, Const(1.0), Const(0.0))
    return term
