"""Builders of target terms: the variable sugaring of Wang et al. 2019, and their wavy underline.

A wavy construct is normalised while it is built, by

    λ~ y. e @ y           ->  e
    let~ y = y1 in e      ->  e[y <- y1]

So a tail call is translated to a tail call (section "Standard CPS transformation using shift/reset"). A wavy
application applies a continuation, so `e` is a variable. For another term `e`, the first rule would put off its
evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from shiftreset_ad.formulations.language.names import Names
from shiftreset_ad.formulations.language.recursion import Recursion
from shiftreset_ad.formulations.language.symbols import partial_terms
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Const,
    Deref,
    Fst,
    Lam,
    Let,
    Ref,
    Snd,
    Term,
    Var,
    children,
)

# Constructs for which it matters when, and how often, they are evaluated.
MEMORY = Deref, Assign
EFFECTS = *MEMORY, Ref, App


class Hat(NamedTuple):
    """The variable ŷ = (y, y'): a real number and its derivative.

    >>> y = Hat.fresh(Names(), "y")
    >>> print(y.let(Var("e"), y.primal * y.prime))
    let y_hat = e in let y = fst y_hat in let y' = snd y_hat in y * y'
    """

    whole: Var
    primal: Var
    prime: Var

    @classmethod
    def fresh(cls, names: Names, like: str) -> Hat:
        """New variables."""
        y = names.fresh(like)
        return cls(Var(names.fresh(f"{y}_hat")), Var(y), Var(f"{y}'"))  # new: no fresh name ends in a prime

    def let(self, value: Term, body: Term) -> Term:
        """let ŷ = value in body"""
        parts = Let(self.primal.name, Fst(self.whole), Let(self.prime.name, Snd(self.whole), body))
        return Let(self.whole.name, value, parts)


def let_all(hats: Sequence[Hat], values: Sequence[Term], body: Term) -> Term:
    """let ŷ1 = value1 in let ŷ2 = value2 in ... body"""
    for hat, value in reversed(list(zip(hats, values, strict=True))):
        body = hat.let(value, body)
    return body


def slopes(
    function: Callable[..., Any], y: Term, operands: Sequence[Term], hats: Sequence[Hat]
) -> Iterator[tuple[Hat, Term]]:
    """The operands by which y = function(operands) has a derivative, each with the term for this derivative.

    There is no derivative by an operand that is written as a constant: `power x 2.0` has none by 2.0 at a negative x.

    >>> import numpy as np
    >>> hats = [Hat.fresh(Names(), name) for name in "ab"]
    >>> [print(a.prime, slope) for a, slope in slopes(np.multiply, Var("y"), (Var("u"), Var("v")), hats)]
    a' b
    b' a
    [None, None]
    """
    xs = [x if isinstance(x, Const) else hat.primal for x, hat in zip(operands, hats, strict=True)]
    for x, hat, slope in zip(xs, hats, partial_terms(function, y, *xs), strict=True):
        if not isinstance(x, Const) and slope != Const(0.0):
            yield hat, slope


def times(derivative: Term, slope: Term) -> Term:
    """derivative * slope; if the slope is 1, as for +, the derivative itself."""
    return derivative if slope == Const(1.0) else derivative * slope


def wavy_lam(y: str, body: Term) -> Term:
    """λ~ y. body

    >>> print(wavy_lam("y", App(Var("k"), Var("y"))))
    k
    """
    match body:
        case App(Var(function), Var(argument)) if argument == y != function:
            return Var(function)
    return Lam(y, body)


def wavy_let(names: Names, like: str, value: Term) -> tuple[Term, Callable[[Term], Term]]:
    """let~ y = value: the term for y in the body, and a function that puts the binding around the body.

    So no substitution in the body is needed. It would take quadratic time if bindings nest.

    >>> k, let_k = wavy_let(Names(), "k", Var("k1"))
    >>> print(let_k(App(k, Var("x"))))
    k1 x
    """
    if isinstance(value, Var):
        return value, lambda body: body
    y = names.fresh(like)
    return Var(y), lambda body: Let(y, value, body)


def immediately(term: Term) -> Recursion[Term]:
    """A recursive call that has its answer already."""
    return term
    yield


def evaluates(term: Term, *constructs: type[Term]) -> bool:
    """Whether the evaluation of a term evaluates one of the constructs; the body of a function is not evaluated.

    A translator that puts the code of a second operand around the code of the first must know this: `!r` must be read,
    and named, before a call that may write to r.
    """
    waiting = [term]
    while waiting:
        term = waiting.pop()
        if isinstance(term, constructs):
            return True
        if not isinstance(term, Lam):
            waiting.extend(children(term))
    return False
