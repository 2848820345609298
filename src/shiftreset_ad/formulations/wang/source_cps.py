"""Reverse mode as a source transformation in pure continuation-passing style: Wang et al. 2019, Fig. 11.

The output has no shift and reset. The translator has none either: it is itself in continuation-passing style. An
overline marks what happens in the translator, here Python; the rest is the term that it builds. `κ` is a continuation
of the translator, `k` a continuation of the target program. `language.continuations` has the rules of the standard CPS
transformation; this module has the others, which the figure has in colour.

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

One thing is not in the figure. `[!r + f x]` puts the code of the call around `!r`. So `!r` would be read after the
call, and would see what f writes. Therefore a first operand that reads or writes memory gets a name, by let, before the
code of the second (`in_order`). The paper's examples use no memory, and the output for them is as printed in the paper.

What it shows: shift and reset can be translated away, and closures and references remain. The target language is the
source language, so the output can be transformed again, to any order. A `case` names its continuation, so the output is
linear in the size of the input. What it cannot do: programs with shift and reset have no transformation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shiftreset_ad.formulations.language import (
    App,
    Assign,
    Const,
    Deref,
    Fst,
    Names,
    Pair,
    Primitive,
    Recursion,
    Ref,
    Term,
    Var,
    add_to,
    answer_of,
    run,
    sequence,
)
from shiftreset_ad.formulations.language.continuations import CpsTranslator, Static
from shiftreset_ad.formulations.language.sources import checked, literal, there_and_back, with_adjoint
from shiftreset_ad.formulations.language.wavy import (
    MEMORY,
    Hat,
    immediately,
    let_all,
    slopes,
    times,
    wavy_lam,
)

ZERO, ONE = Const(0.0), Const(1.0)


class Translator(CpsTranslator):
    """The rules of Fig. 11 that differ from the CPS transformation: for constants and arithmetic."""

    effects = MEMORY

    def rule(self, term: Term, kappa: Static) -> Recursion[Term]:
        """The right-hand side of the rule for [term] κ."""
        match term:
            case Const(value):
                return kappa(literal(value, with_adjoint))
            case Primitive(function, operands) if term.is_comparison:
                return self.in_order(operands, lambda p: kappa(Primitive(function, tuple(map(Fst, p)))))
            case Primitive(function, operands):
                return self.in_order(operands, lambda p: self.operation(function, operands, p, kappa))
        return super().rule(term, kappa)

    def operation(
        self, function: Callable[..., Any], operands: Sequence[Term], values: Sequence[Term], kappa: Static
    ) -> Recursion[Term]:
        """An operation on operands with these values, around the rest of the program."""
        ys, y = [Hat.fresh(self._names, "y") for _ in operands], Hat.fresh(self._names, "y")
        accumulation = [
            add_to(y1.prime, times(Deref(y.prime), slope))  # 4
            for y1, slope in slopes(function, y.primal, operands, ys)
        ]
        rest = sequence((yield kappa(y.whole)), *accumulation)  # 3
        answer = Primitive(function, tuple(y1.primal for y1 in ys))
        return let_all(ys, values, y.let(Pair(answer, Ref(ZERO)), rest))  # 1, 2


def transform(term: Term, like: Any = 1.0) -> Term:
    """The term for the gradient of a function, itself a term `fun x -> ...` of the source language.

    The argument has the structure of the example `like`: a real number, as in the paper, or pairs and sums of them;
    the gradient has that structure too. Raises TypeError if `term` is not a term, or has shift or reset; NameError
    if it has free variables. Wang et al. 2019, Fig. 11.

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
        return answer_of(Translator(names).translate(program, lambda m: immediately(App(App(m, dual), seed))))

    return there_and_back(name, term, like, code)
