"""The CPS transformation of Wang et al. 2019, supplement, by a translator that is itself in continuation-passing style.

Reverse mode in CPS (Fig. 11) has the same rules, except for constants and arithmetic; `wang.cps` and `wang.source_cps`
have the rules in their docstrings. `κ` is a continuation of the translator, `k` a continuation of the target program.
The translator's calls wait on a list (`recursion`), so they do not nest on Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from shiftreset_ad.formulations.language.names import Names
from shiftreset_ad.formulations.language.recursion import Recursion
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
    Primitive,
    Ref,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.language.wavy import EFFECTS, evaluates, immediately, wavy_lam, wavy_let

Static: TypeAlias = Callable[[Term], Recursion[Term]]  # a continuation of the translator, written out


class CpsTranslator:
    """The rules of the standard transformation; a transformation that extends it has another `rule`."""

    effects: ClassVar[tuple[type[Term], ...]] = EFFECTS  # a term with one of these gets a name before later terms

    def __init__(self, names: Names) -> None:
        self._names = names

    def translate(self, term: Term, kappa: Static) -> Recursion[Term]:
        """[term] κ, a call that does not nest on Python's stack."""
        code: Term = yield self.rule(term, kappa)
        return code

    def rule(self, term: Term, kappa: Static) -> Recursion[Term]:
        """The right-hand side of the rule for [term] κ."""
        match term:
            case Const() | Var():
                return kappa(term)
            case Primitive(function, operands):
                return self.in_order(operands, lambda p: kappa(Primitive(function, tuple(p))))
            case Lam(y, e):
                return self.function(y, e, kappa)
            case App(e1, e2):
                return self.in_order((e1, e2), lambda mn: self.call(mn[0], mn[1], kappa))
            case Let(y, e1, e2):
                return self.translate(e1, lambda y1: self.bind(y, y1, e2, kappa))
            case Fst(e) | Snd(e) | Ref(e) | Deref(e) | Inl(e) | Inr(e):
                return self.translate(e, after(type(term), kappa))
            case Assign(e1, e2) | Pair(e1, e2):
                return self.in_order((e1, e2), lambda y: kappa(type(term)(y[0], y[1])))
            case Case():
                return self.choose(term, kappa)
            case Shift(k, e):
                return self.shifted(k, e, kappa)
            case Reset(e):
                return self.delimited(e, kappa)
        raise TypeError(f"cps: there is no rule for {term}")

    def function(self, y: str, e: Term, kappa: Static) -> Recursion[Term]:
        """κ (λy. λk. [e] (λ‾m. k @~ m))"""
        k = self._names.fresh("k")
        body = yield self.translate(e, dynamic(Var(k)))
        code: Term = yield kappa(Lam(y, Lam(k, body)))
        return code

    def call(self, m: Term, n: Term, kappa: Static) -> Recursion[Term]:
        """(m n) (λ~a. κ a)"""
        return App(App(m, n), (yield self.reified(kappa)))

    def bind(self, y: str, y1: Term, e2: Term, kappa: Static) -> Recursion[Term]:
        """let y = y1 in [e2] κ"""
        return Let(y, y1, (yield self.translate(e2, kappa)))

    def choose(self, case: Case, kappa: Static) -> Recursion[Term]:
        """let~ k = λ~a. κ a in [e] (λ‾v. case v of y1 -> [e1] (λ‾m. k @~ m) | y2 -> [e2] (λ‾n. k @~ n))"""
        k, let_k = wavy_let(self._names, "k", (yield self.reified(kappa)))

        def branches(v: Term) -> Recursion[Term]:
            left = yield self.translate(case.left, dynamic(k))
            right = yield self.translate(case.right, dynamic(k))
            return Case(v, case.left_name, left, case.right_name, right)

        return let_k((yield self.translate(case.scrutinee, branches)))

    def shifted(self, k: str, e: Term, kappa: Static) -> Recursion[Term]:
        """let k = λa. λk1. k1 (κ a) in [e] (λ‾m. m)"""
        a, k1 = self._names.fresh("a"), self._names.fresh("k")
        function = Lam(a, Lam(k1, App(Var(k1), (yield kappa(Var(a))))))
        return Let(k, function, (yield self.translate(e, immediately)))

    def delimited(self, e: Term, kappa: Static) -> Recursion[Term]:
        """κ ([e] (λ‾m. m))"""
        inside = yield self.translate(e, immediately)
        code: Term = yield kappa(inside)
        return code

    def reified(self, kappa: Static) -> Recursion[Term]:
        """λ~a. κ a"""
        a = self._names.fresh("a")
        return wavy_lam(a, (yield kappa(Var(a))))

    def in_order(
        self, terms: Sequence[Term], kappa: Callable[[Sequence[Term]], Recursion[Term]], done: Sequence[Term] = ()
    ) -> Recursion[Term]:
        """[e1] (λ‾p1. [e2] (λ‾p2. κ p1 p2)); p1 gets a name if the evaluation of p2 might change its value."""
        if not terms:
            return kappa(done)
        first, *others = terms

        def others_after(p: Term) -> Recursion[Term]:
            if not others or not evaluates(p, *self.effects):
                code: Term = yield self.in_order(others, kappa, (*done, p))
                return code
            y = self._names.fresh("y")
            return Let(y, p, (yield self.in_order(others, kappa, (*done, Var(y)))))

        return self.translate(first, others_after)


def after(construct: Callable[[Term], Term], kappa: Static) -> Static:
    """λ‾y. κ (construct y)"""

    def constructed(y: Term) -> Recursion[Term]:
        code: Term = yield kappa(construct(y))
        return code

    return constructed


def dynamic(k: Term) -> Static:
    """λ‾m. k @~ m, the static continuation that calls `k`, a continuation of the target program."""
    return lambda m: immediately(App(k, m))
