"""Reverse mode, number 3, as a monadic translation of terms (Krawiec et al. 2022, section 5.3, Fig. 9 to 11).

The room `sharing` names each result in a state that the numbers share. Here the target is pure: a program becomes a
computation in a state monad, whose state is the next DeltaId and the bindings.

    M a         = State -> a * State                  State = DeltaId * list of (DeltaId * Delta)
    D[R]        = R * Delta                           types
    D[S -> T]   = D[S] -> M D[T]
    D[x]        = return x                                                                     1.
    D[fun x->e] = return (fun x -> D[e])
    D[e1 e2]    = bind D[e1] (fun f -> bind D[e2] (fun x -> f x))
    D[op e ...] = bind D[e] (fun p -> ... bind (deltaLet (add (scale (op' x ...) d) ...))      2.
                                               (fun d -> return (op x ..., d)))
    D[r]        = bind (deltaLet zero) (fun d -> return (r, d))                                3.

and so on: all parts of a construct are computed from left to right, and then the construct is applied to their values
(1). The source has the same order, so references, which the paper does not have, need nothing more.

Delta terms are values of the core language, and the monad is a few functions of the language, so the result is an
ordinary closed term. It runs from the empty state. Then each binding that it has left is visited once, last to first,
with the effect of Fig. 11 (4), where the bindings are `Let` terms. A literal has a name, as in the run of Fig. 12; in
Fig. 9 its Delta term is Zero (room `monadic`). Programs with shift and reset are refused: their control would have to
be in the monad.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

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
    parse,
    partial_terms,
    run,
    with_parts,
)
from shiftreset_ad.formulations.language.recursion import for_each
from shiftreset_ad.formulations.language.sources import is_real, literal
from shiftreset_ad.formulations.language.values import Left, Right
from shiftreset_ad.formulations.structures import NUMBERS, Structure

# The monad, and the Delta terms that the translation makes: a sum of Zero, OneHot i, Scale r d, Add d d and Var id.
DEFINITIONS = {
    "return": parse("fun a -> fun state -> (a, state)"),
    "bind": parse("fun m -> fun k -> fun state -> let (a, after) = m state in k a after"),
    "deltaLet": parse(
        "fun delta -> fun state -> let (id, bindings) = state in "
        "(inr (inr (inr (inr id))), (id + 1.0, inr ((id, delta), bindings)))"
    ),
    "zero": parse("inl ()"),
    "scale": parse("fun r -> fun d -> inr (inr (inl (r, d)))"),
    "add": parse("fun a -> fun b -> inr (inr (inr (inl (a, b))))"),
}
START = (0.0, Left(()))
ZERO = Left(())  # the value of Zero: the Delta term of an integer in the argument


def one_hot(i: int) -> Any:
    """The value of OneHot i: the Delta term of an input."""
    return Right(Left(i))


def transform(term: Term) -> Term:
    """D[e], in the scope of the monad: a closed term for a computation.

    Raises TypeError for a term with shift or reset.

    >>> print(transform(parse("fun x -> sin x")))  # doctest: +NORMALIZE_WHITESPACE
    let return = fun a -> fun state -> (a, state) in
    let bind = fun m -> fun k -> fun state ->
        let pair = m state in let a = fst pair in let after = snd pair in k a after in
    let deltaLet = fun delta -> fun state ->
        let pair = state in let id = fst pair in let bindings = snd pair in
        (inr (inr (inr (inr id))), (id + 1.0, inr ((id, delta), bindings))) in
    let zero = inl () in
    let scale = fun r -> fun d -> inr (inr (inl (r, d))) in
    let add = fun a -> fun b -> inr (inr (inr (inl (a, b)))) in
    return (fun x ->
        bind (return x) (fun v ->
            let x1 = fst v in let d = snd v in
            let y = sin x1 in
            bind (deltaLet (scale (cos x1) d)) (fun d1 ->
                return (y, d1))))
    """
    translation = _Translation(term)
    result = answer_of(translation.of(term))
    for name, definition in reversed(DEFINITIONS.items()):
        result = Let(translation.names[name].name, definition, result)
    return result


class _Translation:
    """The rules, with a supply of new names. `names` has the names of the monad, which the source does not use."""

    def __init__(self, source: Term) -> None:
        self._supply = Names(source)
        self.names = {name: Var(self._supply.fresh(name)) for name in DEFINITIONS}

    def of(self, term: Term) -> Recursion[Term]:
        """D[e]"""
        match term:
            case Var():
                return self._return(term)  # 1
            case Const(value) if is_real(value):
                return self._named(self.names["zero"], lambda d: self._return(Pair(term, d)))  # 3
            case Const(value):
                written_out = literal(value, lambda r: r)
                return self._return(term) if isinstance(written_out, Const) else (yield self.of(written_out))
            case Shift() | Reset():
                raise TypeError("transform: a program with shift or reset has no translation into this monad")
        parts = yield for_each(self.of, children(term))
        match term:
            case Lam(name):
                return self._return(Lam(name, *parts))
            case App():
                return self._bind(parts, App)
            case Let(name):
                computation, body = parts
                return self._apply("bind", computation, Lam(name, body))
            case Case(_, left_name, _, right_name, _):
                computation, left, right = parts
                return self._bind([computation], lambda v: Case(v, left_name, left, right_name, right))
            case Primitive(function) if term.is_comparison:
                return self._bind(parts, lambda *ps: self._return(Primitive(function, tuple(map(Fst, ps)))))
            case Primitive():
                return self._bind(parts, lambda *ps: self._operation(term, ps))
        return self._bind(parts, lambda *values: self._return(with_parts(term, values)))

    def _operation(self, operation: Primitive, operands: tuple[Term, ...]) -> Term:
        """The answer of an operation, with a name for its Delta term, which has no part for a constant operand (2)."""
        primals = [self._supply.fresh("x") for _ in operands]
        deltas = [self._supply.fresh("d") for _ in operands]
        y = self._supply.fresh("y")
        xs = [e if isinstance(e, Const) else Var(x) for e, x in zip(operation.operands, primals, strict=True)]
        slopes = zip(xs, partial_terms(operation.function, Var(y), *xs), deltas, strict=True)
        parts = [self._apply("scale", slope, Var(d)) for x, slope, d in slopes if isinstance(x, Var)]
        delta = reduce(lambda a, b: self._apply("add", a, b), parts) if parts else self.names["zero"]
        body = self._named(delta, lambda d: self._return(Pair(Var(y), d)))
        body = Let(y, Primitive(operation.function, tuple(map(Var, primals))), body)
        for x, d, pair in reversed(list(zip(primals, deltas, operands, strict=True))):
            body = Let(x, Fst(pair), Let(d, Snd(pair), body))
        return body

    def _bind(self, computations: list[Term], then: Callable[..., Term]) -> Term:
        """Run the computations from left to right, and go on with their values."""
        values = [self._supply.fresh("v") for _ in computations]
        result = then(*map(Var, values))
        for computation, value in reversed(list(zip(computations, values, strict=True))):
            result = self._apply("bind", computation, Lam(value, result))
        return result

    def _named(self, delta: Term, then: Callable[[Term], Term]) -> Term:
        """Give a name to a Delta term, and go on with it."""
        d = self._supply.fresh("d")
        return self._apply("bind", self._apply("deltaLet", delta), Lam(d, then(Var(d))))

    def _return(self, value: Term) -> Term:
        return self._apply("return", value)

    def _apply(self, name: str, *arguments: Term) -> Term:
        return reduce(App, arguments, self.names[name])  # type: ignore[arg-type]


PROGRAM = parse("let (f, state) = computation start in f x state")


def grad(f: Term) -> Callable[[Any], Any]:
    """The gradient of the function that a closed term denotes, in the structure of its argument.

    Raises TypeError if `f` is not a term, for shift and reset, and for a result that is not a number.

    >>> grad(parse("fun x -> fst x * snd x"))((2.0, 3.0))
    (3.0, 2.0)
    """
    forward_pass = trace(f)

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        result, bindings = forward_pass(x)
        if not (isinstance(result, tuple) and result and isinstance(result[0], (int, *NUMBERS))):
            raise TypeError(f"grad: the term has to denote a function to a number; the result is {result!r}")
        return inputs.derivative(run_delta(result[1], bindings, 1.0, len(inputs.numbers)))

    return gradient


def trace(f: Term) -> Callable[[Any], tuple[Any, Any]]:
    """The forward pass: the result, and the bindings of its names, last first, as values of the core language.

    >>> trace(parse("fun x -> x"))(3.0)
    ((3.0, Right(value=Left(value=0))), Left(value=()))
    """
    if not isinstance(f, Term):
        raise TypeError(f"grad: this room translates terms, and takes a term for a function; got {f!r}")
    translated = transform(f)

    def forward_pass(x: Any) -> tuple[Any, Any]:
        inputs = Structure(x)
        numbers = [(x, one_hot(i)) for i, x in enumerate(inputs.numbers)]
        argument = inputs.with_numbers(numbers, lambda leaf: (leaf, ZERO) if is_real(leaf) else leaf)
        result, (_, bindings) = run(PROGRAM, {"computation": run(translated), "start": START, "x": argument})
        return result, bindings

    return forward_pass


def run_delta(delta: Any, bindings: Any, y_bar: Any, n: int) -> list[Any]:
    """The way back: y_bar times the gradient by n inputs (4)."""
    x_bar: list[Any] = [0.0] * n
    sensitivities: dict[float, Any] = {}
    eval_delta(y_bar, delta, x_bar, sensitivities)
    while isinstance(bindings, Right):
        (name, delta), bindings = bindings.value
        if name in sensitivities:
            eval_delta(sensitivities.pop(name), delta, x_bar, sensitivities)
    return x_bar


def eval_delta(y_bar: Any, delta: Any, x_bar: list[Any], sensitivities: dict[float, Any]) -> None:
    """Push the sensitivity of a Delta term to the inputs and the names in it."""
    match delta:
        case Right(Left(i)):
            x_bar[i] = x_bar[i] + y_bar
        case Right(Right(Left((r, scaled)))):
            eval_delta(r * y_bar, scaled, x_bar, sensitivities)
        case Right(Right(Right(Left((left, right))))):
            eval_delta(y_bar, left, x_bar, sensitivities)
            eval_delta(y_bar, right, x_bar, sensitivities)
        case Right(Right(Right(Right(name)))):
            sensitivities[name] = sensitivities[name] + y_bar if name in sensitivities else y_bar
