"""The reverse derivative of a main expression of any first-order type, as a closed term (Krawiec et al. 2022, Fig. 16).

    R{e} = fun (s, dt) ->
             let (s0, dv)  = initVars_S (s, 0) in
             let dt0       = initZeros_T dt in
             let (_, u)    = runDelta (dv + 1) (D{fun (s, dt) -> dot_T (e s, dt)} (s0, dt0)) in
             let finalMap  = eval 1 u emptyMap in
             lookup_S (finalMap, s0)

The polytypic functions are terms, one for each type. The constants of `monad` are free in R{e}.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS
from shiftreset_ad.formulations.krawiec.monadic.translation import translate
from shiftreset_ad.formulations.language import (
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
    call,
    let_pair,
    run,
)
from shiftreset_ad.formulations.language.checker import infer
from shiftreset_ad.formulations.language.discrete import Integer, plus_z
from shiftreset_ad.formulations.language.polytypic import dot, mapped
from shiftreset_ad.formulations.language.types import REAL, Type


def reverse(e: Term, t: Type | None = None) -> Term:
    """R{e} : S * dT -> dS, for the closed term e : S -> T; `t` is its type, if `infer` does not find it.

    A term may leave its type open, or call itself. Raises TypeError if the types S and T are not first-order.
    """
    source, target = (t or infer(e)).parts
    s, dt = Var("s"), Var("dt")
    scalar = Lam("p", let_pair("s", "dt", Var("p"), dot(target)(Pair(e(s), dt))))
    start = Pair(s, Const(Integer(0)))
    next_id = Primitive(plus_z, (Var("dv"), Const(Integer(1))))
    applied = Var("bind")(translate(scalar))(Lam("f", Var("f")(Pair(Var("s0"), Var("dt0")))))
    way_back = Var("eval")(Const(1.0))(Snd(Var("forward")))(Var("emptyMap"))
    body = Let("finalMap", way_back, look_up(source)(Pair(Var("finalMap"), Var("s0"))))
    body = Let("dt0", init_zeros(target)(dt), Let("forward", Var("runDelta")(next_id)(applied), body))
    return Lam("p", let_pair("s", "dt", Var("p"), let_pair("s0", "dv", init_vars(source)(start), body)))


def vjp(e: Term, t: Type | None = None) -> Callable[[Any, Any], Any]:
    """The function of s and dt that R{e} denotes.

    >>> from shiftreset_ad.formulations.language import parse
    >>> vjp(parse("fun x -> (fst x * snd x, sin (fst x))"))((0.0, 3.0), (10.0, 1.0))
    (np.float64(31.0), 0.0)
    """
    derivative = run(reverse(e, t), CONSTANTS)
    return lambda s, dt: call(derivative, (s, dt), lambda answer: answer)


def init_vars(t: Type) -> Term:
    """initVars_A : A * DeltaId -> D{A} * DeltaId. Each real gets the next name, from left to right.

    >>> print(init_vars(REAL))
    fun p -> let x = fst p in let i = snd p in let i1 = plus_z i Integer(1) in ((x, Var i1), i1)
    """
    names = count(1)

    def at(t: Type, x: Term, i: Term) -> Term:
        """A pair: the dual of x, and the last name, if i was the last name before it."""
        n = next(names)
        if t == REAL:
            following = Primitive(plus_z, (i, Const(Integer(1))))
            return Let(f"i{n}", following, Pair(Pair(x, Var("Var")(Var(f"i{n}"))), Var(f"i{n}")))
        if t.kind == "*":
            second = at(t.parts[1], Snd(x), Snd(Var(f"a{n}")))
            both = Pair(Pair(Fst(Var(f"a{n}")), Fst(Var(f"b{n}"))), Snd(Var(f"b{n}")))
            return Let(f"a{n}", at(t.parts[0], Fst(x), i), Let(f"b{n}", second, both))
        if t.kind == "+":
            a, b = Var(f"a{n}"), Var(f"b{n}")
            left, right = (at(part, Var(f"y{n}"), i) for part in t.parts)
            in_left = Let(a.name, left, Pair(Inl(Fst(a)), Snd(a)))
            in_right = Let(b.name, right, Pair(Inr(Fst(b)), Snd(b)))
            return Case(x, f"y{n}", in_left, f"y{n}", in_right)
        return Pair(x, i)

    return Lam("p", Let("x", Fst(Var("p")), Let("i", Snd(Var("p")), at(t, Var("x"), Var("i")))))


def init_zeros(t: Type) -> Term:
    """initZeros_A : A -> D{A}. Each real is a constant."""
    return Lam("x", mapped(t, [Var("x")], lambda x: Pair(x, Var("Zero"))))


def look_up(t: Type) -> Term:
    """lookup_A : DeltaMap * D{A} -> dA. Each dual number is replaced by the entry of its name."""
    return Lam("p", Let("x", Snd(Var("p")), mapped(t, [Var("x")], lambda x: Var("lookUp")(Fst(Var("p")))(Snd(x)))))
