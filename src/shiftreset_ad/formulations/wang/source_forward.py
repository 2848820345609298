"""Forward mode as a source transformation: Wang et al. 2019, Fig. 4.

A term for a real number becomes a term for a pair: the number and its tangent. Everything else keeps its shape.

    Transform(f)      = λx. let ŷ = [f] (x, 1) in y'          where ŷ is (y, y')
    [c]               = c  if c is no real number,  (c, 0)  if it is one
    [y]               = y
    [e1 + e2]         = let ŷ1 = [e1] in                      1. the operands
                        let ŷ2 = [e2] in
                        (y1 + y2, y1' + y2')                  2. the answer and its tangent
    [e1 * e2]         = let ŷ1 = [e1] in
                        let ŷ2 = [e2] in
                        (y1 * y2, y1 * y2' + y1' * y2)
    [λy. e]           = λy. [e]
    [e1 e2]           = [e1] [e2]       and so on for every other construct, references included

Both rules are instances of one rule, with the partial derivatives of the table as terms. Our rule has the factors and
the terms of the sum in the order of the operands, `y1' * y2 + y2' * y1`. A comparison looks at the primals, and a
constant operand has no share.

What it shows: forward mode needs no control, and only arithmetic and constants change. The target language is the
source language, so the output can be transformed again, to any order. No perturbation confusion is possible, as
derivatives share only the program. What it cannot do: a gradient takes a pass for each real number in the argument, and
programs with shift and reset have no transformation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from shiftreset_ad.formulations.language import (
    App,
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
    Term,
    Var,
    answer_of,
    children,
    for_each,
    run,
    with_parts,
)
from shiftreset_ad.formulations.language.sources import Argument, checked, literal, source, subterms
from shiftreset_ad.formulations.language.wavy import Hat, let_all, slopes, times

ZERO, ONE = Const(0.0), Const(1.0)


def forward(term: Term, names: Names) -> Recursion[Term]:
    """The rules of Fig. 4; `yield` is the recursive call."""
    match term:
        case Const(value):
            return literal(value, constant)
        case Shift() | Reset():
            raise TypeError(f"source_forward: Fig. 4 has no rule for {term}")
    parts: list[Term] = yield for_each(lambda part: forward(part, names), children(term))
    if not isinstance(term, Primitive):
        return with_parts(term, parts)
    if term.is_comparison:
        return Primitive(term.function, tuple(map(Fst, parts)))
    ys = [Hat.fresh(names, "y") for _ in parts]
    return let_all(ys, parts, dual_answer(term.function, term.operands, ys, names))  # 1


def constant(c: Term) -> Term:
    """(c, 0): a real number that is held constant."""
    return Pair(c, ZERO)


def dual_answer(function: Callable[..., Any], operands: Sequence[Term], ys: Sequence[Hat], names: Names) -> Term:
    """The pair of the answer of an operation on these variables, and its tangent (2). Slopes may use the answer y."""
    y = Var(names.fresh("y"))
    shares = [times(y1.prime, slope) for y1, slope in slopes(function, y, operands, ys)]
    tangent = reduce(add, shares) if shares else ZERO
    answer = Primitive(function, tuple(y1.primal for y1 in ys))
    if y in subterms(tangent):
        return Let(y.name, answer, Pair(y, tangent))
    return Pair(answer, tangent)


def transform(term: Term, like: Any = 1.0) -> Term:
    """The term for the derivative of a function, itself a term `fun x -> ...` of the source language.

    The argument has the structure of the example `like`: a real number, as in the paper, or pairs and sums of them.
    Then the derivative has that structure too, and calls the transformed function once for each real number. Raises
    TypeError if `term` is not a term, or has shift or reset; NameError if it has free variables. Wang et al. 2019,
    Fig. 4.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(transform(parse("fun x -> x")))
    fun x1 -> let y_hat = (fun x -> x) (x1, 1.0) in let y = fst y_hat in let y' = snd y_hat in y'
    """
    return _derivative("transform", term, like)


def grad(f: Term) -> Callable[[Any], Any]:
    """The gradient of a term `fun x -> ...`: a function of x, whose result has the structure of x.

    It evaluates `transform(f, like=x)`. Raises TypeError if `f` is not a term, has shift or reset, or does not
    answer with a real number, and if x has no floats; NameError if `f` has free variables.

    >>> from shiftreset_ad.formulations.language import parse
    >>> grad(parse("fun x -> 2.0 * x + x * x * x"))(3.0)
    np.float64(29.0)
    """

    def gradient(x: Any) -> Any:
        return run(App(_derivative("grad", f, x, checked), Const(x)))

    return gradient


def jvp(f: Term) -> Callable[[Any, Any], Any]:
    """The derivative of a term `fun x -> ...` along a direction: a function of x and x_dot, of the same structure.

    One pass. Errors are as in `grad`, with TypeError for another structure.

    >>> from shiftreset_ad.formulations.language import parse
    >>> jvp(parse("fun x -> fst x * snd x"))((3.0, 2.0), (1.0, 10.0))
    np.float64(32.0)
    """

    def along(x: Any, x_dot: Any) -> Any:
        return run(App(App(_pushforward(f, x, x_dot), Const(x)), Const(x_dot)))

    return along


def _derivative(name: str, term: Term, like: Any, check: Callable[[str, Term], Term] = lambda _, y: y) -> Term:
    program = source(name, term)
    names = Names(program)
    f = answer_of(forward(program, names))
    x = names.fresh("x")
    argument = Argument(name, like, x, names)

    def tangent(function: Term, x_dots: list[Term]) -> Term:
        y = Hat.fresh(names, "y")
        dual = argument.dual(map(Pair, argument.reals, x_dots), constant)
        return y.let(check(name, App(function, dual)), y.prime)

    n = len(argument.reals)
    if n == 1:
        return Lam(x, argument.let(argument.derivative([tangent(f, [ONE])])))
    shared = names.fresh("f")
    units: list[list[Term]] = [[ONE if i == j else ZERO for j in range(n)] for i in range(n)]
    gradient = argument.derivative([tangent(Var(shared), unit) for unit in units])
    return Lam(x, argument.let(Let(shared, f, gradient)))


def _pushforward(term: Term, like: Any, direction: Any) -> Term:
    program = source("jvp", term)
    names = Names(program)
    f = answer_of(forward(program, names))
    x, x_dot, y = names.fresh("x"), names.fresh("x_dot"), Hat.fresh(names, "y")
    argument, tangent = Argument("jvp", like, x, names), Argument("jvp", direction, x_dot, names)
    if argument.outline != tangent.outline:
        raise TypeError(
            f"jvp: the direction must have the structure of {like!r}, with floats for its floats; got {direction!r}"
        )
    dual = argument.dual(map(Pair, argument.reals, tangent.reals), constant)
    return Lam(x, Lam(x_dot, argument.let(tangent.let(y.let(checked("jvp", App(f, dual)), y.prime)))))
