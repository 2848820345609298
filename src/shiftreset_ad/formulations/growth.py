"""Programs of growing size, to count the costs of derivatives: closed terms, each with a point."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.formulations.language import Const, Fst, Lam, Let, Snd, Term, Var, parse


class Program(NamedTuple):
    """A term `fun x -> e`, and a point at which to differentiate it."""

    term: Term
    x: Any


def straight_line(n: int) -> Program:
    """n operations, one after the other; each result is used once.

    >>> print(straight_line(2).term)
    fun x -> let y = x in let y = y * x in let y = sin y in y
    """
    x, y = Var("x"), Var("y")
    body: Term = y
    for i in reversed(range(n)):
        body = Let("y", np.sin(y) if i % 2 else y * x, body)
    return Program(Lam("x", Let("y", x, body)), 0.7)


def sharing(n: int) -> Program:
    """n squares, each of the result before: each result is used twice, and there are 2**n ways through the program.

    >>> print(sharing(2).term)
    fun x -> let x = x * x in let x = x * x in x
    """
    x = Var("x")
    body: Term = x
    for _ in range(n):
        body = Let("x", x * x, body)
    return Program(Lam("x", body), 1.0)


def loop(n: int) -> Program:
    """A loop of n rounds, each of which uses the state twice."""
    rounds = "fun x -> let rec f s = if fst s < 0.5 then snd s else f (fst s - 1.0, sin (snd s) * snd s + x) in"
    return Program(parse(f"{rounds} f ({n}.0, x)"), 0.3)


def many_inputs(n: int) -> Program:
    """A polynomial of n inputs, the leaves of a balanced tree of pairs.

    >>> print(many_inputs(2).term)
    fun x -> let y = 1.0 in let y = y * fst x + fst x in let y = y * snd x + snd x in y
    """

    def inputs(first: int, after: int, place: Term) -> tuple[list[Term], Any]:
        if after - first == 1:
            return [place], 0.3 + 0.5 * first / n
        middle = (first + after) // 2
        left, a = inputs(first, middle, Fst(place))
        right, b = inputs(middle, after, Snd(place))
        return left + right, (a, b)

    places, x = inputs(0, n, Var("x"))
    y = Var("y")
    body: Term = y
    for place in reversed(places):
        body = Let("y", y * place + place, body)
    return Program(Lam("x", Let("y", Const(1.0), body)), x)
