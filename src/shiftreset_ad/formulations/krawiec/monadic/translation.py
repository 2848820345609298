"""The monadic translation, on types and on terms (Krawiec et al. 2022, Fig. 9; Fig. 14 and 8.2 for other primitives).

    D{R}      = R * Delta             D{K}      = K
    D{A * B}  = D{A} * D{B}           D{A + B}  = D{A} + D{B}
    D{A -> B} = D{A} -> M D{B}

    D{x}      = pure x                                              D{r} = pure (r, Zero)
    D{fun x -> e}       = pure (fun x -> D{e})                      D{k} = pure k
    D{let x = e1 in e2} = do { x <- D{e1}; D{e2} }
    D{e1 e2}            = do { f <- D{e1}; x <- D{e2}; f x }
    D{(e1, e2)}         = do { x <- D{e1}; y <- D{e2}; pure (x, y) }
    D{inl e}            = do { x <- D{e}; pure (inl x) }            inr, fst and snd in the same way
    D{case e of ...}    = do { x <- D{e}; case x of ... }           with D{e1} and D{e2} in the branches
    D{+}                = pure (fun ((x, u1), (y, u2)) -> do { u3 <- deltaLet (Add u1 u2); pure (x + y, Var u3) })

A primitive is a function of a tuple, so `e1 + e2` is the application `+ (e1, e2)`. Of a primitive with the partial
derivatives s1, s2, ... the Delta term is `Add (Scale s1 u1) (Scale s2 u2)`, without `Scale` where the slope is 1.
An evaluation that fails, `fst ()`, is left as it is, as it has every type.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, DELTA, computation
from shiftreset_ad.formulations.language import (
    App,
    Case,
    Const,
    Fst,
    Lam,
    Let,
    Names,
    Pair,
    Primitive,
    Recursion,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
    answer_of,
    children,
    distinct,
    partial_terms,
    with_parts,
)
from shiftreset_ad.formulations.language.discrete import DISCRETE
from shiftreset_ad.formulations.language.recursion import for_each
from shiftreset_ad.formulations.language.several import Several, nested
from shiftreset_ad.formulations.language.sources import WRONG_SIDE, is_real, literal
from shiftreset_ad.formulations.language.types import REAL, Type, function, product
from shiftreset_ad.formulations.overloading import COMPARISONS


def of_type(t: Type) -> Type:
    """D{A}

    >>> print(of_type(function(REAL, REAL)))
    R * Delta -> M (R * Delta)
    """
    if t == REAL:
        return product(REAL, DELTA)
    parts = tuple(map(of_type, t.parts))
    return function(parts[0], computation(parts[1])) if t.kind == "->" else Type(t.kind, parts)


def translate(term: Term) -> Term:
    """D{e}: a term for a computation, in which the constants of `monad` are free.

    Raises TypeError for a term with shift or reset.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(translate(parse("fun x -> 2.0 * x")))
    pure (fun x ->
       bind (pure (fun p ->
                let p2 = fst p in
                let x1 = fst p2 in
                let u = snd p2 in
                let p1 = snd p in
                let x2 = fst p1 in
                let u1 = snd p1 in
                let y = x1 * x2 in bind (deltaLet (Add (Scale x2 u) (Scale x1 u1))) (fun v2 -> pure (y, Var v2))))
         (fun v3 ->
            bind (bind (pure (2.0, Zero)) (fun v -> bind (pure x) (fun v1 -> pure (v, v1)))) (fun v4 -> v3 v4)))
    """
    source = distinct(term, avoid=CONSTANTS)
    return answer_of(_Translation(Names(source, used=CONSTANTS)).of(source))


class _Translation:
    """The rules, with a supply of new names."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def of(self, term: Term) -> Recursion[Term]:
        """D{e}"""
        match term:
            case Var():
                return _apply("pure", term)
            case Const(value) if is_real(value):
                return _apply("pure", Pair(term, Var("Zero")))
            case Const(value):
                written_out = literal(value, lambda r: r)
                return _apply("pure", term) if isinstance(written_out, Const) else (yield self.of(written_out))
            case Primitive(np.power, (base, Const() as exponent)):
                return self._applied(self.primitive(np.power, 1, exponent), (yield self.of(base)))
            case Primitive(operation, operands):
                operand = yield self.of(nested(operands))
                return self._applied(self.primitive(operation, len(operands)), operand)
            case Shift() | Reset():
                raise TypeError("translate: a program with shift or reset has no translation into this monad")
            case Fst() if term == WRONG_SIDE:
                return term
        parts = yield for_each(self.of, children(term))
        match term:
            case Lam(name):
                return _apply("pure", Lam(name, *parts))
            case Let(name):
                return _apply("bind", parts[0], Lam(name, parts[1]))
            case App():
                return self._do(parts, App)
            case Case(_, left_name, _, right_name, _):
                scrutinee, left, right = parts
                return self._do([scrutinee], lambda x: Case(x, left_name, left, right_name, right))
        return self._do(parts, lambda *values: _apply("pure", with_parts(term, values)))

    def _applied(self, function: Term, operand: Term) -> Term:
        """do { f <- function; x <- operand; f x }"""
        return self._do([function, operand], App)

    def primitive(self, operation: Callable[..., Any], arity: int, *literals: Term) -> Term:
        """D{op}, for a function of the table, a comparison, or a primitive on discrete values.

        The `literals` are operands that are no parameters: a power with a literal exponent is a function of its base,
        as its derivative by the exponent may not exist.
        """
        if operation in DISCRETE:
            return self._function(arity, lambda *xs: _apply("pure", Primitive(operation, xs)))
        if operation in COMPARISONS:
            return self._function(arity, lambda *xs: _apply("pure", Primitive(operation, tuple(map(Fst, xs)))))
        xs, us = ([Var(self._names.fresh(stem)) for _ in range(arity)] for stem in "xu")
        y = Var(self._names.fresh("y"))
        body = Let(y.name, Primitive(operation, (*xs, *literals)), self._results(operation, y, [*xs, *literals], us))

        def taken_apart(*duals: Term) -> Term:
            inside: Term = body
            for dual, x, u in reversed(list(zip(duals, xs, us, strict=True))):
                p = self._names.fresh("p")
                inside = Let(p, dual, Let(x.name, Fst(Var(p)), Let(u.name, Snd(Var(p)), inside)))
            return inside

        return self._function(arity, taken_apart)

    def _results(self, operation: Callable[..., Any], y: Var, xs: list[Any], us: list[Var]) -> Term:
        """do { u <- deltaLet ...; pure (y, Var u) }, with such a name for each of several results."""
        if isinstance(operation, Several):
            rows, answers = operation.partials_at(*xs), operation.parts(y)
        else:
            rows, answers = [list(partial_terms(operation, y, *xs))], [y]
        # A literal has no u: it has no part in a Delta term.
        deltas = [reduce(lambda a, b: _apply("Add", a, b), map(scale, row, us)) for row in rows]
        named = [_apply("deltaLet", delta) for delta in deltas]
        return self._do(
            named,
            lambda *names: _apply(
                "pure", nested([Pair(a, _apply("Var", u)) for a, u in zip(answers, names, strict=True)])
            ),
        )

    def _function(self, arity: int, body: Callable[..., Term]) -> Term:
        """pure (fun (x, (y, ...)) -> body)"""
        name = self._names.fresh("p")
        p: Term = Var(name)
        operands = []
        for _ in range(arity - 1):
            operands.append(Fst(p))
            p = Snd(p)
        return _apply("pure", Lam(name, body(*operands, p)))

    def _do(self, computations: list[Term], then: Callable[..., Term]) -> Term:
        """do { x <- m; y <- n; ...; then x y ... }"""
        values = [self._names.fresh("v") for _ in computations]
        result = then(*map(Var, values))
        for m, value in reversed(list(zip(computations, values, strict=True))):
            result = _apply("bind", m, Lam(value, result))
        return result


def scale(slope: Term, u: Term) -> Term:
    """Scale slope u"""
    return u if slope == Const(1.0) else _apply("Scale", slope, u)


def _apply(name: str, *arguments: Term) -> Term:
    return reduce(App, arguments, Var(name))  # type: ignore[arg-type]
