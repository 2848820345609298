"""The standard metacircular transformation of Wang et al. 2019, appendix: each construct is translated to itself."""

from __future__ import annotations

from shiftreset_ad.formulations.language import (
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
    Primitive,
    Recursion,
    Ref,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
    answer_of,
)
from shiftreset_ad.formulations.language.sources import source


def metacircular(term: Term) -> Term:
    """The same term. Raises TypeError for what is no term, NameError for free variables.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(metacircular(parse("fun x -> reset (x * (shift k in k (k 2.0)))")))
    fun x -> reset (x * (shift k in k (k 2.0)))
    """
    return answer_of(_metacircular(source("metacircular", term, with_control=True)))


def _metacircular(term: Term) -> Recursion[Term]:
    again = _metacircular
    match term:
        case Const() | Var():
            return term
        case Primitive(function, operands):
            values: list[Term] = []
            for operand in operands:
                values += [(yield again(operand))]
            return Primitive(function, tuple(values))
        case Lam(y, e):
            return Lam(y, (yield again(e)))
        case App(e1, e2):
            return App((yield again(e1)), (yield again(e2)))
        case Let(y, e1, e2):
            return Let(y, (yield again(e1)), (yield again(e2)))
        case Fst(e) | Snd(e) | Ref(e) | Deref(e) | Inl(e) | Inr(e) | Reset(e):
            return type(term)((yield again(e)))
        case Assign(e1, e2) | Pair(e1, e2):
            return type(term)((yield again(e1)), (yield again(e2)))
        case Case(e, y1, e1, y2, e2):
            return Case((yield again(e)), y1, (yield again(e1)), y2, (yield again(e2)))
        case Shift(k, e):
            return Shift(k, (yield again(e)))
    raise TypeError(f"metacircular: there is no rule for {term}")
