"""Polytypic functions: a family of closed terms, one for each first-order type (Krawiec et al. 2022, Fig. 1 and 16).

    scale_A  : R * dA -> dA          each real times a number, the paper's operator of a times in a circle
    plus_A   : dA * dA -> dA         corresponding reals are added
    dot_A    : dA * dA -> R          their products are added
    primal_A : D{A} -> A             the first part of each dual number, in forward mode
    delta_A  : D{A} -> dA            its second part
    zip_A    : A * dA -> D{A}        each real beside its change
    one_hot_A i : dA                 the i-th real is 1, and the others are 0; for products

A change dA of a value of type A has the type A. Two values that a function takes must have the same shape, as vectors
must have the same length: where one is `inl` and the other one is `inr`, evaluation is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

import numpy as np

from shiftreset_ad.formulations.language.sources import WRONG_SIDE
from shiftreset_ad.formulations.language.terms import (
    Case,
    Const,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.language.types import REAL, Type

OnReal = Callable[..., Term]


def scale(t: Type) -> Term:
    """
    >>> from shiftreset_ad.formulations.language.types import INTEGER, product
    >>> print(scale(product(REAL, INTEGER)))
    fun p -> let x = snd p in (fst p * fst x, snd x)
    """
    return Lam("p", Let("x", Snd(Var("p")), mapped(t, [Var("x")], lambda x: Fst(Var("p")) * x)))


def plus(t: Type) -> Term:
    """
    >>> from shiftreset_ad.formulations.language.types import product
    >>> print(plus(product(REAL, REAL)))
    fun p -> let x = fst p in let y = snd p in (fst x + fst y, snd x + snd y)
    """
    return _of_two(t, lambda x, y: x + y)


def dot(t: Type) -> Term:
    """
    >>> from shiftreset_ad.formulations.language.types import product
    >>> print(dot(product(REAL, REAL)))
    fun p -> let x = fst p in let y = snd p in fst x * fst y + snd x * snd y
    """
    return Lam("p", Let("x", Fst(Var("p")), Let("y", Snd(Var("p")), _dot(t, Var("x"), Var("y"), count()))))


def primal(t: Type) -> Term:
    """The values in a structure of dual numbers."""
    return Lam("x", mapped(t, [Var("x")], Fst))


def delta(t: Type) -> Term:
    """The changes in a structure of dual numbers."""
    return Lam("x", mapped(t, [Var("x")], Snd))


def zip_(t: Type) -> Term:
    """
    >>> from shiftreset_ad.formulations.language.types import product
    >>> print(zip_(product(REAL, REAL)))
    fun p -> let x = fst p in let y = snd p in ((fst x, fst y), (snd x, snd y))
    """
    return _of_two(t, Pair)


def one_hot(t: Type, i: int) -> Term:
    """
    >>> from shiftreset_ad.formulations.language.types import product
    >>> print(one_hot(product(REAL, product(REAL, REAL)), 2))
    (0.0, (0.0, 1.0))
    """
    places = count()

    def at(t: Type) -> Term:
        return Pair(at(t.parts[0]), at(t.parts[1])) if t.kind == "*" else Const(float(next(places) == i))

    return at(t)


def reals(t: Type) -> int:
    """How many real numbers a value has: a number for products of real numbers.

    >>> from shiftreset_ad.formulations.language.types import product
    >>> reals(product(REAL, product(REAL, REAL)))
    3
    """
    if t.kind != "*" and t != REAL:
        raise TypeError(f"one_hot: expected a product of real numbers; got the type {t}")
    return sum(map(reals, t.parts)) if t.kind == "*" else 1


def _of_two(t: Type, on_real: OnReal) -> Term:
    return Lam("p", Let("x", Fst(Var("p")), Let("y", Snd(Var("p")), mapped(t, [Var("x"), Var("y")], on_real))))


def mapped(t: Type, values: Sequence[Term], on_real: OnReal) -> Term:
    """The structure of the values, which have one shape, with `on_real` of their reals in the place of each real."""
    return _mapped(t, tuple(values), on_real, count())


def _mapped(t: Type, values: tuple[Term, ...], on_real: OnReal, names: Iterator[int]) -> Term:
    if t == REAL:
        return on_real(*values)
    if t.kind == "*":
        parts = tuple(map(Fst, values)), tuple(map(Snd, values))
        return Pair(*(_mapped(part, of, on_real, names) for part, of in zip(t.parts, parts, strict=True)))
    if t.kind == "+":
        return _case(
            values,
            names,
            lambda *xs: Inl(_mapped(t.parts[0], xs, on_real, names)),
            lambda *xs: Inr(_mapped(t.parts[1], xs, on_real, names)),
        )
    return _discrete(t, values[0])


def _dot(t: Type, x: Term, y: Term, names: Iterator[int]) -> Term:
    if t == REAL:
        return Primitive(np.multiply, (x, y))
    if t.kind == "*":
        parts = _dot(t.parts[0], Fst(x), Fst(y), names), _dot(t.parts[1], Snd(x), Snd(y), names)
        return Primitive(np.add, parts)
    if t.kind == "+":
        left, right = t.parts
        return _case((x, y), names, lambda x, y: _dot(left, x, y, names), lambda x, y: _dot(right, x, y, names))
    _discrete(t, x)
    return Const(0.0)


def _discrete(t: Type, value: Term) -> Term:
    if not t.is_discrete:
        raise TypeError(f"polytypic functions are for first-order types; got {t}")
    return value


def _case(values: tuple[Term, ...], names: Iterator[int], if_left: OnReal, if_right: OnReal) -> Term:
    """One branch if all values are `inl`, the other one if all are `inr`."""
    new = [f"{'xy'[i]}{next(names)}" for i in range(len(values))]
    inside = tuple(map(Var, new))
    left, right = if_left(*inside), if_right(*inside)
    for i, (value, name) in reversed(list(enumerate(zip(values, new, strict=True)))):
        if i == 0:
            return Case(value, name, left, name, right)
        left, right = Case(value, name, left, name, WRONG_SIDE), Case(value, name, WRONG_SIDE, name, right)
    return left
