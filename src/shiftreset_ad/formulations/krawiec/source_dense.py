"""Reverse mode, number 1, as a translation of terms (Krawiec et al. 2022, section 5.1, Fig. 5 and 6).

    D1[R]       = R * dS                       a real becomes a pair with a value of the type of the whole argument S
    D1[S -> T]  = D1[S] -> D1[T]               and every other type stays as it is
    D1[r]       = (r, 0_S)                                                                                  1.
    D1[+]       = fun ((x, u1), (y, u2)) -> (x + y, plus (u1, u2))                                          2.
    D1[*]       = fun ((x, u1), (y, u2)) -> (x * y, plus (scale (y, u1), scale (x, u2)))

    R1{e}       = fun (s, dt) -> snd (D1[e] (..., (s_i, scale (dt, one_hot i)), ...))      for e : R^a -> R     3.

Here plus and scale are the polytypic functions of S, a plus and a times in a circle in the paper, and are free names in
a translation. All other rules are those of forward mode, of the room `source_duals`: only the tangent is larger. One
run gives the whole gradient, and each operation costs as much as S has numbers. The room `dense` does the same by
overloading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import count
from typing import Any

from shiftreset_ad.formulations.language import (
    App,
    Const,
    Fst,
    Lam,
    Let,
    Names,
    Pair,
    Snd,
    Term,
    Var,
    call,
    distinct,
    free_variables,
    polytypic,
    run,
)
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.paired import paired
from shiftreset_ad.formulations.language.polytypic import mapped, one_hot, reals
from shiftreset_ad.formulations.language.several import nested
from shiftreset_ad.formulations.language.sources import is_real
from shiftreset_ad.formulations.language.types import REAL, Type, product
from shiftreset_ad.formulations.structures import NUMBERS, Structure

OPERATIONS = frozenset({"plus", "scale"})


def of_type(t: Type, s: Type) -> Type:
    """D1{A}, in a program with an argument of the type S.

    >>> print(of_type(product(REAL, Type("Z")), product(REAL, REAL)))
    R * (R * R) * Z
    """
    return product(REAL, s) if t == REAL else Type(t.kind, tuple(of_type(part, s) for part in t.parts))


def translate(term: Term, s: Type) -> Term:
    """D1[e], in which `plus` and `scale` are free. S is a product of real numbers.

    Raises NameError if `plus` or `scale` is free in the program.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(translate(parse("fun x -> sin x"), REAL))
    fun x -> let p = x in let x1 = fst p in let u = snd p in let y = sin x1 in (y, scale (cos x1, u))
    """
    for name in sorted(free_variables(term) & OPERATIONS):
        raise NameError(f"{name} is a free variable of the program, and an operation of the translation; rename it")
    source = distinct(term, avoid=OPERATIONS)
    return paired(source, Names(source, used=OPERATIONS), "u", one_hot(s, -1), _vector_of)  # 1, 2


def _vector_of(shares: Sequence[tuple[Term, Term]]) -> Term:
    """The sum of slopes times vectors."""
    return reduce(lambda a, b: App(Var("plus"), Pair(a, b)), [_scaled(slope, u) for slope, u in shares])


def _scaled(slope: Term, u: Term) -> Term:
    return u if slope == Const(1.0) else App(Var("scale"), Pair(slope, u))


def _linked(term: Term, s: Type) -> Term:
    """The term, with the operations on S."""
    return Let("plus", polytypic.plus(s), Let("scale", polytypic.scale(s), term))


def reverse(e: Term, t: Type | None = None) -> Term:
    """R1{e} : S * R -> dS, for the closed term e : S -> R, where S is a product of real numbers (Fig. 6).

    `t` is its type, if `infer` does not find it. Raises TypeError for other types.

    >>> from shiftreset_ad.formulations.language import parse
    >>> call(run(reverse(parse("fun p -> fst p * snd p"), Type("->", (product(REAL, REAL), REAL)))), ((2.0, 3.0), 10.0),
    ...      lambda answer: answer)
    (np.float64(30.0), np.float64(20.0))
    """
    s, target = (t or infer(e)).parts
    if target != REAL:
        raise TypeError(f"reverse: the term has to denote a function to a real number; got the type {target}")
    reals(s)
    places = count()

    def dual(x: Term) -> Term:
        return Pair(x, App(Var("scale"), Pair(Var("dt"), one_hot(s, next(places)))))  # 3

    duals = mapped(s, [Var("s")], dual)
    body = Snd(App(translate(e, s), duals))
    return _linked(Lam("both", Let("s", Fst(Var("both")), Let("dt", Snd(Var("both")), body))), s)


def grad(f: Term) -> Callable[[Any], Any]:
    """The gradient of the function that a closed term denotes, in the structure of its argument, by one run.

    Raises TypeError if `f` is not a term, and for a result that is not a number.

    >>> from shiftreset_ad.formulations.language import parse
    >>> grad(parse("fun x -> fst x * snd x"))((2.0, 3.0))
    (np.float64(3.0), np.float64(2.0))
    """
    if not isinstance(f, Term):
        raise TypeError(f"grad: this room translates terms, and takes a term for a function; got {f!r}")

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        n = len(inputs.numbers)
        s = nested([REAL] * n, product)
        pairs = [(number, _vector([float(i == j) for j in range(n)])) for i, number in enumerate(inputs.numbers)]
        nothing = _vector([0.0] * n)
        # An integer is a real number, too, and is held constant.
        duals = inputs.with_numbers(pairs, lambda leaf: (leaf, nothing) if is_real(leaf) else leaf)
        dual = call(run(_linked(translate(f, s), s)), duals, lambda y: y)
        if not (isinstance(dual, tuple) and dual and isinstance(dual[0], (int, *NUMBERS))):
            raise TypeError(f"grad: the term has to denote a function to a number; the result is {dual!r}")
        return inputs.derivative(_components(dual[1], n))

    return gradient


def _vector(components: list[Any]) -> Any:
    return nested(components, lambda first, rest: (first, rest))


def _components(vector: Any, n: int) -> list[Any]:
    found = []
    for _ in range(n - 1):
        first, vector = vector
        found.append(first)
    return [*found, vector]
