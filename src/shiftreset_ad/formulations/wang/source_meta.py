"""Reverse mode as a source transformation, with shift and reset in the meta-language: Wang et al. 2019, Fig. 10.

The output is in continuation-passing style, and has no shift and reset. The translator, a Python program, uses the
library's own shift and reset while it builds the term. An overline marks what happens in the translator, angle brackets
are its reset, and the rest is the term that it builds.

    Transform(f)    = λx. let x̂ = (x, ref 0) in               where x̂ is (x, x')
                          ([f] x̂) (λ~z. let ẑ = z in z' := 1.0);
                          !x'
    [c]             = c  if c is no real number,  (c, ref 0)  if it is one
    [y]             = y
    [e1 * e2]       = shift‾ k in‾                            1. leave the translator
                          let ŷ1 = [e1] in let ŷ2 = [e2] in   2. the operands
                          let ŷ = (y1 * y2, ref 0) in         3. the forward step
                          k @‾ ŷ;                             4. the rest of the translation goes here
                          y1' += !y' * y2;                    5. accumulate
                          y2' += !y' * y1
    [e1 + e2]       = the same with  y1' += !y'; y2' += !y'
    [λy. e]         = λy. λk. <k @~ [e]>‾
    [e1 e2]         = shift‾ k in‾ ([e1] [e2]) (λ~a. k @‾ a)
    [let y = e1 in e2] = shift‾ k in‾ let y = [e1] in <k @‾ [e2]>‾
    [case e of y1 -> e1 | y2 -> e2]
                    = shift‾ k in‾ let~ k1 = λ~a. k @‾ a in
                          case [e] of y1 -> <k1 @~ [e1]>‾ | y2 -> <k1 @~ [e2]>‾
    [fst e]         = fst [e]       and so on for snd, ref, !, :=, pairs, inl, inr

The wavy constructs are in `language.wavy`. Both rules of arithmetic are instances of one, with the partial derivatives
of the table as terms. A comparison looks at the primals, and a constant operand has no share. A continuation of the
library can be called only once, so the translator calls each `k` once: for two uses, the rule for `case` has `k1`, a
function of the target language.

One thing is not in the figure. `[!r + f x]` puts the code of the call around `!r`. So `!r` would be read after the
call, and would see what f writes. Therefore a first operand that reads or writes memory gets a name, by let, before the
code of the second (`operands`): an insertion of let by shift and reset.

What it shows: shift and reset at translation time do the work of continuation-passing style, and the rules stay in
direct style. The target is the source language, so the output can be transformed again, to any order. What it cannot
do: programs with shift and reset have no transformation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

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
    Snd,
    Term,
    Var,
    add_to,
    answer_of,
    run,
    sequence,
)
from shiftreset_ad.formulations.language.sources import checked, literal, there_and_back, with_adjoint
from shiftreset_ad.formulations.language.wavy import MEMORY, Hat, evaluates, let_all, slopes, times, wavy_lam, wavy_let

ZERO, ONE = Const(0.0), Const(1.0)


Static: TypeAlias = Callable[[Term], Term]  # a continuation of the translator


class Translator:
    """The rules of Fig. 10."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._outermost = Prompt()

    def program(self, build: Callable[[Static], Term]) -> Term:
        """<build(the translation)>‾, the outermost call."""
        code: Term = reset(lambda: self.delimited(lambda: build(self.translated)), self._outermost)
        return code

    def delimited(self, build: Callable[[], Term]) -> Term:
        """<build()>‾

        It is `reset(build)`, and the outermost reset runs it. So resets do not nest on Python's stack, however deep the
        program is.
        """
        code: Term = shift(lambda k: k(reset(build)), self._outermost)
        return code

    def captured(self, build: Callable[[Static], Term]) -> Term:
        """shift‾ k in‾ build(k)"""
        value: Term = shift(build)
        return value

    def translated(self, term: Term) -> Term:
        """[term], for a rule that captures its continuation."""
        return answer_of(self.reverse(term))

    def reverse(self, term: Term) -> Recursion[Term]:
        """[term]: it returns the term for the value, and adds code around this term by shift.

        `yield` is the recursive call.
        """
        translated, delimited, captured = self.translated, self.delimited, self.captured
        match term:
            case Const(value):
                return literal(value, with_adjoint)
            case Var():
                return term
            case Primitive(function, operands) if term.is_comparison:
                return Primitive(function, tuple(map(Fst, (yield self.operands(*operands)))))
            case Primitive(function, operands):
                return captured(lambda k: self.operation(function, operands, k))  # 1
            case Lam(y, e):
                k1 = Var(self._names.fresh("k"))
                return Lam(y, Lam(k1.name, delimited(lambda: App(k1, translated(e)))))
            case App(e1, e2):
                return captured(lambda k: self.call(e1, e2, k))
            case Let(y, e1, e2):
                return captured(lambda k: Let(y, translated(e1), delimited(lambda: k(translated(e2)))))
            case Case():
                return captured(lambda k: self.choose(term, k))
            case Fst(e) | Snd(e) | Ref(e) | Deref(e) | Inl(e) | Inr(e):
                return type(term)((yield self.reverse(e)))
            case Assign(e1, e2) | Pair(e1, e2):
                return type(term)(*(yield self.operands(e1, e2)))
        raise TypeError(f"source_meta: Fig. 10 has no rule for {term}")

    def operation(self, function: Callable[..., Any], operands: tuple[Term, ...], k: Static) -> Term:
        """An operation, around the rest of the program."""
        values = answer_of(self.operands(*operands))  # 2
        ys, y = [Hat.fresh(self._names, "y") for _ in operands], Hat.fresh(self._names, "y")
        accumulation = [
            add_to(y1.prime, times(Deref(y.prime), slope))  # 5
            for y1, slope in slopes(function, y.primal, operands, ys)
        ]
        rest = sequence(k(y.whole), *accumulation)  # 4
        answer = Primitive(function, tuple(y1.primal for y1 in ys))
        return let_all(ys, values, y.let(Pair(answer, Ref(ZERO)), rest))  # 3

    def call(self, e1: Term, e2: Term, k: Static) -> Term:
        """([e1] [e2]) (λ~a. k @‾ a)"""
        m, n = answer_of(self.operands(e1, e2))
        a = self._names.fresh("a")
        return App(App(m, n), wavy_lam(a, k(Var(a))))

    def choose(self, case: Case, k: Static) -> Term:
        """let~ k1 = λ~a. k @‾ a in case [e] of y1 -> <k1 @~ [e1]>‾ | y2 -> <k1 @~ [e2]>‾"""
        a = self._names.fresh("a")
        k1, let_k1 = wavy_let(self._names, "k", wavy_lam(a, k(Var(a))))
        scrutinee = self.translated(case.scrutinee)
        left = self.delimited(lambda: App(k1, self.translated(case.left)))
        right = self.delimited(lambda: App(k1, self.translated(case.right)))
        return let_k1(Case(scrutinee, case.left_name, left, case.right_name, right))

    def operands(self, *terms: Term) -> Recursion[list[Term]]:
        """[e1], [e2], ...; a term gets a name if the evaluation of a later one might change its value."""
        values: list[Term] = []
        for term in terms:
            if values and evaluates(values[-1], *MEMORY):
                values[-1] = self.named(values[-1])
            values += [(yield self.reverse(term))]
        return values

    def named(self, value: Term) -> Term:
        """let y = value in ... y ..., around the rest of the program"""
        y = self._names.fresh("y")
        return self.captured(lambda k: Let(y, value, k(Var(y))))


def transform(term: Term, like: Any = 1.0) -> Term:
    """The term for the gradient of a function, itself a term `fun x -> ...` of the source language.

    The argument has the structure of the example `like`: a real number, as in the paper, or pairs and sums of them;
    the gradient has that structure too. Raises TypeError if `term` is not a term, or has shift or reset; NameError
    if it has free variables. Wang et al. 2019, Fig. 10.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(transform(parse("fun x -> -x")))
    fun x1 ->
      let x2_hat = (x1, ref 0.0) in
      let x2 = fst x2_hat in
      let x2' = snd x2_hat in
      (fun x -> fun k ->
         let y_hat = x in
         let y = fst y_hat in
         let y' = snd y_hat in
         let y1_hat = (-y, ref 0.0) in
         let y1 = fst y1_hat in let y1' = snd y1_hat in k y1_hat; y' := !y' + !y1' * -1.0)
        x2_hat
        (fun z -> let z1_hat = z in let z1 = fst z1_hat in let z1' = snd z1_hat in z1' := 1.0);
      !x2'
    """
    return _gradient("transform", term, like)


def grad(f: Term) -> Callable[[Any], Any]:
    """The gradient of a term `fun x -> ...`: a function of x, whose result has the structure of x.

    It evaluates `transform(f, like=x)`. Raises TypeError if `f` is not a term, has shift or reset, or does not
    answer with a real number, and if x has no floats; NameError if `f` has free variables.

    >>> from shiftreset_ad.formulations.language import parse
    >>> grad(parse("fun x -> 2.0 * x + x * x * x"))(3.0)
    np.float64(29.0)
    """

    def gradient(x: Any) -> Any:
        return run(App(_gradient("grad", f, x, checked), Const(x)))

    return gradient


def _gradient(name: str, term: Term, like: Any, check: Callable[[str, Term], Term] = lambda _, z: z) -> Term:
    def code(program: Term, dual: Term, names: Names) -> Term:
        z, z_hat = names.fresh("z"), Hat.fresh(names, "z")
        seed = wavy_lam(z, z_hat.let(check(name, Var(z)), Assign(z_hat.prime, ONE)))
        return Translator(names).program(lambda translated: App(App(translated(program), dual), seed))

    return there_and_back(name, term, like, code)
