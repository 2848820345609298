"""The standard CPS transformation of Wang et al. 2019, supplement, by a translator that captures its own continuation.

The translator uses shift and reset. The rules are in the docstring of the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from shiftreset_ad.control import Prompt, reset, shift
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
    Names,
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
from shiftreset_ad.formulations.language.wavy import EFFECTS, evaluates, wavy_lam, wavy_let

Meta: TypeAlias = Callable[[Term], Term]  # a continuation of the translator, captured


def cps_by_shift_reset(term: Term) -> Term:
    """The term in continuation-passing style, without shift and reset; the translator itself uses shift and reset.

    Raises TypeError if it is not a term, NameError if it has free variables.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(cps_by_shift_reset(parse("fun f -> fun x -> 1.0 + f (f x)")))
    fun f -> fun k -> k (fun x -> fun k1 -> f x (fun a -> f a (fun a1 -> k1 (1.0 + a1))))
    """
    program = source("cps_by_shift_reset", term, with_control=True)
    translator = DirectTranslator(Names(program))
    return translator.program(program)


class DirectTranslator:
    """The rules of the CPS transformation using shift/reset."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._outermost = Prompt()

    def program(self, term: Term) -> Term:
        """<[term]>‾, the outermost call."""
        code: Term = reset(lambda: self.delimited(lambda: self.translated(term)), self._outermost)
        return code

    def delimited(self, build: Callable[[], Term]) -> Term:
        """<build()>‾. The outermost reset runs it, so resets do not nest on Python's stack."""
        code: Term = shift(lambda k: k(reset(build)), self._outermost)
        return code

    def captured(self, build: Callable[[Meta], Term]) -> Term:
        """shift‾ k in‾ build(k)"""
        value: Term = shift(build)
        return value

    def translated(self, term: Term) -> Term:
        """[term], for a rule that captures its continuation."""
        return answer_of(self.rule(term))

    def rule(self, term: Term) -> Recursion[Term]:
        """[term]; `yield` is the recursive call."""
        captured, delimited, translated = self.captured, self.delimited, self.translated
        match term:
            case Const() | Var():
                return term
            case Primitive(function, operands):
                return Primitive(function, tuple((yield self.operands(*operands))))
            case Lam(y, e):
                k1 = Var(self._names.fresh("k"))
                return Lam(y, Lam(k1.name, delimited(lambda: App(k1, translated(e)))))
            case App(e1, e2):
                return captured(lambda k: App(App(*answer_of(self.operands(e1, e2))), self.reified(k)))
            case Let(y, e1, e2):
                return captured(lambda k: Let(y, translated(e1), delimited(lambda: k(translated(e2)))))
            case Fst(e) | Snd(e) | Ref(e) | Deref(e) | Inl(e) | Inr(e):
                return type(term)((yield self.rule(e)))
            case Assign(e1, e2) | Pair(e1, e2):
                return type(term)(*(yield self.operands(e1, e2)))
            case Case():
                return captured(lambda k: self.choose(term, k))
            case Shift(k, e):
                return captured(lambda k1: Let(k, self.function(k1), delimited(lambda: translated(e))))
            case Reset(e):
                return delimited(lambda: translated(e))
        raise TypeError(f"cps_by_shift_reset: there is no rule for {term}")

    def operands(self, *terms: Term) -> Recursion[list[Term]]:
        """[e1], [e2], ...; a term gets a name if the evaluation of a later one might change its value."""
        values: list[Term] = []
        for term in terms:
            if values and evaluates(values[-1], *EFFECTS):
                values[-1] = self.named(values[-1])
            values += [(yield self.rule(term))]
        return values

    def named(self, value: Term) -> Term:
        """let y = value in ... y ..., around the rest of the program"""
        y = self._names.fresh("y")
        return self.captured(lambda k: Let(y, value, k(Var(y))))

    def reified(self, k: Meta) -> Term:
        """λ~a. k @‾ a"""
        a = self._names.fresh("a")
        return wavy_lam(a, k(Var(a)))

    def function(self, k1: Meta) -> Term:
        """λv. λk2. k2 (k1 @‾ v)"""
        v, k2 = self._names.fresh("v"), self._names.fresh("k")
        return Lam(v, Lam(k2, App(Var(k2), k1(Var(v)))))

    def choose(self, case: Case, k: Meta) -> Term:
        """let~ k1 = λ~a. k @‾ a in case [e] of y1 -> <k1 @~ [e1]>‾ | y2 -> <k1 @~ [e2]>‾"""
        k1, let_k1 = wavy_let(self._names, "k", self.reified(k))
        scrutinee = self.translated(case.scrutinee)
        left = self.delimited(lambda: App(k1, self.translated(case.left)))
        right = self.delimited(lambda: App(k1, self.translated(case.right)))
        return let_k1(Case(scrutinee, case.left_name, left, case.right_name, right))
