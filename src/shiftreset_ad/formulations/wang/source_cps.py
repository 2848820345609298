"""Reverse mode as a source transformation in pure continuation-passing style: Wang et al. 2019, Fig. 11.

The output has no shift and reset, and neither has the translator: it is itself in continuation-passing style. Overlined
is what happens in the translator, here Python, and the rest is the term that it builds. `κ` is the translator's
continuation, `k` one of the target program's. The translator's calls wait on a list (`language.recursion`), so that it
does not nest on Python's stack.

    Transform(f)    = λx. let x̂ = (x, ref 0) in               where x̂ is (x, x')
                          [f] (λ‾m. (m x̂) (λ~z. let ẑ = z in z' := 1.0));
                          !x'
    [c]             = λ‾κ. κ c  if c is no real number,  λ‾κ. κ (c, ref 0)  if it is one
    [y]             = λ‾κ. κ y
    [e1 * e2]       = λ‾κ. [e1] (λ‾p1. [e2] (λ‾p2.            1. the operands
                          let ŷ1 = p1 in let ŷ2 = p2 in
                          let ŷ = (y1 * y2, ref 0) in         2. the forward step
                          κ ŷ;                                3. the rest of the forward pass, and the way back from it
                          y1' += !y' * y2;                    4. accumulate
                          y2' += !y' * y1))
    [e1 + e2]       = the same with  y1' += !y'; y2' += !y'
    [λy. e]         = λ‾κ. κ (λy. λk. [e] (λ‾m. k @~ m))
    [e1 e2]         = λ‾κ. [e1] (λ‾m. [e2] (λ‾n. (m n) (λ~a. κ a)))
    [let y = e1 in e2] = λ‾κ. [e1] (λ‾y1. let y = y1 in [e2] κ)
    [case e of y1 -> e1 | y2 -> e2]
                    = λ‾κ. let~ k = λ~a. κ a in
                          [e] (λ‾v. case v of y1 -> [e1] (λ‾m. k @~ m) | y2 -> [e2] (λ‾n. k @~ n))
    [fst e]         = λ‾κ. [e] (λ‾y. κ (fst y))       and so on for snd, ref, !, :=, pairs, inl, inr

The wavy constructs are in `language.wavy`. Both rules of arithmetic are instances of one, with the partial derivatives
of the table as terms. A comparison looks at the primals, and a constant operand has no share.

One thing is not in the figure. `[!r + f x]` puts the code of the call around `!r`, which would then be read after the
call, and see what f writes. So a first operand that reads or writes memory is named, by let, before the code of the
second (`in_order`). The examples of the paper, which use no memory, come out as they are printed there.

What it shows: shift and reset can be translated away, and what remains is closures and references; the target language
is the source language, so the output can be transformed again, to any order. A `case` names its continuation, so that
the output is linear in the size of the input. What it cannot do: programs with shift and reset have no transformation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

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
from shiftreset_ad.formulations.language.wavy import (
    MEMORY,
    Hat,
    evaluates,
    immediately,
    let_all,
    slopes,
    times,
    wavy_lam,
    wavy_let,
)

ZERO, ONE = Const(0.0), Const(1.0)

Static: TypeAlias = Callable[[Term], Recursion[Term]]  # a continuation of the translator


class Translator:
    """The rules of Fig. 11."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def reverse(self, term: Term, kappa: Static) -> Recursion[Term]:
        """[term] κ, a call that does not nest on Python's stack."""
        code: Term = yield self.rule(term, kappa)
        return code

    def rule(self, term: Term, kappa: Static) -> Recursion[Term]:
        """The right-hand side of the rule for [term] κ."""
        match term:
            case Const(value):
                return kappa(literal(value, with_adjoint))
            case Var():
                return kappa(term)
            case Primitive(function, operands) if term.is_comparison:
                return self.in_order(operands, lambda p: kappa(Primitive(function, tuple(map(Fst, p)))))
            case Primitive(function, operands):
                return self.in_order(operands, lambda p: self.operation(function, operands, p, kappa))
            case Lam(y, e):
                return self.function(y, e, kappa)
            case App(e1, e2):
                return self.in_order((e1, e2), lambda mn: self.call(mn[0], mn[1], kappa))
            case Let(y, e1, e2):
                return self.reverse(e1, lambda y1: self.bind(y, y1, e2, kappa))
            case Case():
                return self.choose(term, kappa)
            case Fst(e) | Snd(e) | Ref(e) | Deref(e) | Inl(e) | Inr(e):
                return self.reverse(e, after(type(term), kappa))
            case Assign(e1, e2) | Pair(e1, e2):
                return self.in_order((e1, e2), lambda y: kappa(type(term)(y[0], y[1])))
        raise TypeError(f"source_cps: Fig. 11 has no rule for {term}")

    def operation(
        self, function: Callable[..., Any], operands: Sequence[Term], values: Sequence[Term], kappa: Static
    ) -> Recursion[Term]:
        """An operation on operands of these values, around the rest of the program."""
        ys, y = [Hat.fresh(self._names, "y") for _ in operands], Hat.fresh(self._names, "y")
        accumulation = [
            add_to(y1.prime, times(Deref(y.prime), slope))  # 4
            for y1, slope in slopes(function, y.primal, operands, ys)
        ]
        rest = sequence((yield kappa(y.whole)), *accumulation)  # 3
        answer = Primitive(function, tuple(y1.primal for y1 in ys))
        return let_all(ys, values, y.let(Pair(answer, Ref(ZERO)), rest))  # 1, 2

    def function(self, y: str, e: Term, kappa: Static) -> Recursion[Term]:
        """κ (λy. λk. [e] (λ‾m. k @~ m))"""
        k = self._names.fresh("k")
        body = yield self.reverse(e, dynamic(Var(k)))
        code: Term = yield kappa(Lam(y, Lam(k, body)))
        return code

    def call(self, m: Term, n: Term, kappa: Static) -> Recursion[Term]:
        """(m n) (λ~a. κ a)"""
        return App(App(m, n), (yield self.reified(kappa)))

    def bind(self, y: str, y1: Term, e2: Term, kappa: Static) -> Recursion[Term]:
        """let y = y1 in [e2] κ"""
        return Let(y, y1, (yield self.reverse(e2, kappa)))

    def choose(self, case: Case, kappa: Static) -> Recursion[Term]:
        """let~ k = λ~a. κ a in [e] (λ‾v. case v of y1 -> [e1] (λ‾m. k @~ m) | y2 -> [e2] (λ‾n. k @~ n))"""
        k, let_k = wavy_let(self._names, "k", (yield self.reified(kappa)))

        def branches(v: Term) -> Recursion[Term]:
            left = yield self.reverse(case.left, dynamic(k))
            right = yield self.reverse(case.right, dynamic(k))
            return Case(v, case.left_name, left, case.right_name, right)

        return let_k((yield self.reverse(case.scrutinee, branches)))

    def reified(self, kappa: Static) -> Recursion[Term]:
        """λ~a. κ a"""
        a = self._names.fresh("a")
        return wavy_lam(a, (yield kappa(Var(a))))

    def in_order(
        self, terms: Sequence[Term], kappa: Callable[[Sequence[Term]], Recursion[Term]], done: Sequence[Term] = ()
    ) -> Recursion[Term]:
        """[e1] (λ‾p1. [e2] (λ‾p2. κ p1 p2)), where p1 gets a name if what is evaluated for p2 might change it."""
        if not terms:
            return kappa(done)
        first, *others = terms

        def others_after(p: Term) -> Recursion[Term]:
            if not others or not evaluates(p, *MEMORY):
                code: Term = yield self.in_order(others, kappa, (*done, p))
                return code
            y = self._names.fresh("y")
            return Let(y, p, (yield self.in_order(others, kappa, (*done, Var(y)))))

        return self.reverse(first, others_after)


def after(construct: Callable[[Term], Term], kappa: Static) -> Static:
    """λ‾y. κ (construct y)"""

    def constructed(y: Term) -> Recursion[Term]:
        code: Term = yield kappa(construct(y))
        return code

    return constructed


def dynamic(k: Term) -> Static:
    """λ‾m. k @~ m, the static continuation that passes on to one of the target program."""
    return lambda m: immediately(App(k, m))


def transform(term: Term, like: Any = 1.0) -> Term:
    """The term for the gradient of a function, itself a term `fun x -> ...` of the source language.

    The argument has the structure of the example `like`: a real number, as in the paper, or pairs and sums of them;
    the gradient has that structure too. Raises TypeError for what is no term or has shift or reset, NameError for free
    variables. Wang et al. 2019, Fig. 11.

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

    It evaluates `transform(f, like=x)`. Raises TypeError for what is no term, has shift or reset, or answers with
    something else than a real number, and for an x without floats; NameError for free variables.

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
        return answer_of(Translator(names).reverse(program, lambda m: immediately(App(App(m, dual), seed))))

    return there_and_back(name, term, like, code)
