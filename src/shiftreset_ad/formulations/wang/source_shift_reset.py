"""Reverse mode as a source transformation, with shift and reset in the target language: Wang et al. 2019, Fig. 9.

A term for a real number becomes a term for a pair: the number, and a reference to its adjoint.

    Transform(f)   = λx. let x̂ = (x, ref 0) in                 where x̂ is (x, x')
                         reset (let ẑ = [f] x̂ in z' := 1.0);
                         !x'
    [c]            = c  if c is no real number,  (c, ref 0)  if it is one
    [y]            = y
    [e1 * e2]      = let ŷ1 = [e1] in                          1. the operands
                     let ŷ2 = [e2] in
                     shift k in                                2. leave the program
                       let ŷ = (y1 * y2, ref 0) in             3. the forward step
                       k ŷ;                                    4. the rest of the forward pass, and the way back from it
                       y1' += !y' * y2;                        5. accumulate
                       y2' += !y' * y1
    [e1 + e2]      = the same with  y1' += !y'; y2' += !y'
    [λy. e]        = λy. [e]
    [e1 e2]        = [e1] [e2]       and so on for every other construct, references included

Both rules are instances of one rule, with the partial derivatives of the table as terms. A comparison looks at the
primals, and a constant operand has no share.

What it shows: if the language has shift and reset, reverse mode is as local a change as forward mode (Fig. 4); this is
Fig. 8 as a transformation. What it cannot do: the output has shift and reset, which the source language lacks, so it
cannot be transformed again as it is. It can if `wang.cps.direct` has removed them.
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
    Reset,
    Shift,
    Term,
    Var,
    add_to,
    answer_of,
    children,
    for_each,
    run,
    sequence,
    with_parts,
)
from shiftreset_ad.formulations.language.sources import checked, literal, there_and_back, with_adjoint
from shiftreset_ad.formulations.language.wavy import Hat, let_all, slopes, times

ZERO, ONE = Const(0.0), Const(1.0)


def reverse(term: Term, names: Names) -> Recursion[Term]:
    """The rules of Fig. 9; `yield` is the recursive call."""
    match term:
        case Const(value):
            return literal(value, with_adjoint)
        case Shift() | Reset():
            raise TypeError(f"source_shift_reset: Fig. 9 has no rule for {term}")
    parts: list[Term] = yield for_each(lambda part: reverse(part, names), children(term))
    if not isinstance(term, Primitive):
        return with_parts(term, parts)
    if term.is_comparison:
        return Primitive(term.function, tuple(map(Fst, parts)))
    ys = [Hat.fresh(names, "y") for _ in parts]
    return let_all(ys, parts, operation(term.function, term.operands, ys, names))  # 1


def operation(function: Callable[..., Any], operands: Sequence[Term], ys: Sequence[Hat], names: Names) -> Term:
    """An operation on these variables, which captures the rest of the program."""
    y, k = Hat.fresh(names, "y"), names.fresh("k")
    accumulation = [
        add_to(y1.prime, times(Deref(y.prime), slope))  # 5
        for y1, slope in slopes(function, y.primal, operands, ys)
    ]
    rest = sequence(App(Var(k), y.whole), *accumulation)  # 4
    answer = Primitive(function, tuple(y1.primal for y1 in ys))
    return Shift(k, y.let(Pair(answer, Ref(ZERO)), rest))  # 2, 3


def transform(term: Term, like: Any = 1.0) -> Term:
    """The term for the gradient of a function, a term `fun x -> ...` with shift and reset.

    The argument has the structure of the example `like`: a real number, as in the paper, or pairs and sums of them;
    the gradient has that structure too. Raises TypeError if `term` is not a term, or has shift or reset; NameError
    if it has free variables. Wang et al. 2019, Fig. 9.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(transform(parse("fun x -> -x")))
    fun x1 ->
      let x2_hat = (x1, ref 0.0) in
      let x2 = fst x2_hat in
      let x2' = snd x2_hat in
      reset (let z_hat =
               (fun x ->
                  let y_hat = x in
                  let y = fst y_hat in
                  let y' = snd y_hat in
                  shift k in
                    let y1_hat = (-y, ref 0.0) in
                    let y1 = fst y1_hat in let y1' = snd y1_hat in k y1_hat; y' := !y' + !y1' * -1.0)
                 x2_hat
             in
             let z = fst z_hat in let z' = snd z_hat in z' := 1.0);
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
        z = Hat.fresh(names, "z")
        translated = answer_of(reverse(program, names))
        return Reset(z.let(check(name, App(translated, dual)), Assign(z.prime, ONE)))

    return there_and_back(name, term, like, code)
