"""The derived constructs of Wang et al. 2019, Fig. 3: conditionals, sequences, recursion, loops, trees.

Lists, and numbers in unary, are of the examples in the supplement.
"""

from __future__ import annotations

from shiftreset_ad.formulations.language.names import UNUSED, Names
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Snd,
    Term,
    Var,
)

UNIT = Const(())
TRUE, FALSE = Inl(UNIT), Inr(UNIT)


def if_then_else(condition: Term, then: Term, otherwise: Term) -> Term:
    """if b then t else e, where true is `inl ()`."""
    return Case(condition, UNUSED, then, UNUSED, otherwise)


def sequence(*terms: Term) -> Term:
    """e; e; ...: its value is the value of the last term."""
    *first, last = terms
    for term in reversed(first):
        last = Let(UNUSED, term, last)
    return last


def add_to(cell: Term, increment: Term) -> Term:
    """cell += increment"""
    return Assign(cell, Deref(cell) + increment)


def let_pair(first: str, second: str, pair: Term, body: Term) -> Term:
    """let (first, second) = pair in body"""
    both = Names(pair, body, Var(first), Var(second)).fresh("pair")
    return Let(both, pair, Let(first, Fst(Var(both)), Let(second, Snd(Var(both)), body)))


def letrec(name: str, parameter: str, function: Term, body: Term) -> Term:
    """let rec name = fun parameter -> function in body: a function that takes itself as an argument.

    >>> from shiftreset_ad.formulations.language import evaluate, parse
    >>> function = parse("if n < 1.0 then 1.0 else x * f (n - 1.0)")
    >>> evaluate(letrec("f", "n", function, parse("f 3.0")), {"x": 2.0})
    np.float64(8.0)
    """
    itself = Names(function, body, Var(name), Var(parameter)).fresh(name)
    unrolled = App(Var(itself), Var(itself))
    inside = function if parameter == name else Let(name, unrolled, function)
    return Let(itself, Lam(itself, Lam(parameter, inside)), Let(name, unrolled, body))


def repeat(times: int, function: Term, start: Term) -> Term:
    """function (function (... start)): a loop of `times` rounds, which is a tail-recursive function.

    The counter is a number in unary, `inr (inr (inl ()))` for two, as in the supplement's examples. So the term is as
    deep as the number of rounds: write a loop of thousands of rounds by `letrec`, with a real number as its counter.
    """
    names = Names(function, start)
    loop, state, rest, step = (names.fresh(name) for name in ("loop", "state", "rest", "step"))
    body = Case(
        Fst(Var(state)),
        UNUSED,
        Snd(Var(state)),
        rest,
        App(Var(loop), Pair(Var(rest), App(Var(step), Snd(Var(state))))),
    )
    return Let(step, function, letrec(loop, state, body, App(Var(loop), Pair(unary(times), start))))


def unary(n: int) -> Term:
    """The natural number n as a sum of sums."""
    term: Term = Inl(UNIT)
    for _ in range(n):
        term = Inr(term)
    return term


def list_of(*elements: Term) -> Term:
    """A list: `inl ()` if it is empty, and `inr (head, tail)`."""
    tail: Term = Inl(UNIT)
    for head in reversed(elements):
        tail = Inr(Pair(head, tail))
    return tail


def leaf(value: Term) -> Term:
    """A tree that is a leaf."""
    return Inl(value)


def branch(left: Term, right: Term) -> Term:
    """A tree with two subtrees."""
    return Inr(Pair(left, right))
