"""Static fusion: a straight-line function leaves one binding, whatever its size (Krawiec et al. 2022, 8.7, Fig. 15).

    D'{e} = pure (fun ((x1, u1), (x2, u2), ...) ->
              do { u <- deltaLet (Add (Scale d1 u1) (Scale d2 u2) ...); pure (y, Var u) })

Fig. 15 runs D{e} and `eval` inside of the translated function. D{e} makes Delta terms, and `eval` consumes them, so
both can run when the program is translated. Here they do: D{e} runs on symbols (`Numbered`), `eval` works on the Delta
term that comes out, and the numbers in its map are terms, the partial derivatives d1, d2, ... of the whole function.
Each operation on symbols has a name, so the term is as large as the operations; a name that is used once is replaced by
its term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.formulations.krawiec.monadic.delta import Var as DeltaVar
from shiftreset_ad.formulations.krawiec.monadic.delta import empty_map, evaluated, lookup_or_zero
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, run_delta
from shiftreset_ad.formulations.krawiec.monadic.translation import scale, translate
from shiftreset_ad.formulations.language import (
    Const,
    Fst,
    Lam,
    Let,
    Names,
    Pair,
    Primitive,
    Recursion,
    Snd,
    Term,
    Var,
    answer_of,
    children,
    for_each,
    parse,
    run,
    with_parts,
)
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.polytypic import reals
from shiftreset_ad.formulations.language.types import Type
from shiftreset_ad.formulations.overloading import Overloaded


class Numbered(Overloaded, measures=True):
    """A number of which only the term is known; each operation adds a binding of a new name to a list."""

    __slots__ = ("bindings", "names", "term")

    def __init__(self, term: Term, names: Names, bindings: list[tuple[str, Term]]) -> None:
        self.term, self.names, self.bindings = term, names, bindings

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """The symbol with a name for the answer; 1 * x and x * 1 are x."""
        if function is np.multiply and any(_is_one(x) for x in operands):
            return operands[_is_one(operands[0])]
        name = self.names.fresh("t")
        self.bindings.append((name, Primitive(function, tuple(map(_term, operands)))))
        return Numbered(Var(name), self.names, self.bindings)

    _operate = operate  # comparisons are symbols as well, which have no truth value

    def __bool__(self) -> NoReturn:
        raise TypeError("fused: a comparison decides between branches, and its operands are not known yet")


def fused(e: Term, t: Type) -> Term:
    """D'{e}, for a straight-line closed term e of the type t: R^a -> R. It has the type of D{e}, and takes its place.

    Raises TypeError for a function that compares numbers: which branch it takes is not known before it runs.

    >>> from shiftreset_ad.formulations.language.types import REAL, function
    >>> print(fused(parse("fun x -> x * sin x"), function(REAL, REAL)))
    pure (fun p ->
       let x = fst p in
       let u = snd p in
       let t = sin x in bind (deltaLet (Scale (t + x * cos x) u)) (fun v -> pure (x * t, Var v)))
    """
    names, bindings = Names(used=CONSTANTS), list[tuple[str, Term]]()
    p, v = names.fresh("p"), names.fresh("v")
    a = reals(t.parts[0])
    xs, us = ([Var(names.fresh(stem)) for _ in range(a)] for stem in "xu")
    duals = [(Numbered(x, names, bindings), DeltaVar(Integer(i + 1))) for i, x in enumerate(xs)]
    applied = parse("bind computation (fun f -> f x)")
    s0 = _in_structure(t.parts[0], iter(duals), lambda first, second: (first, second))
    computation = run(applied, {**CONSTANTS, "computation": run(translate(e), CONSTANTS), "x": s0})
    y, delta = run_delta(Integer(a + 1), computation)
    final_map = evaluated(1.0, delta, empty_map())
    slopes = [_term(lookup_or_zero(Integer(i + 1), final_map)) for i in range(a)]
    total = reduce(lambda left, right: Var("Add")(left)(right), map(scale, slopes, us))
    answer = Var("pure")(Pair(_term(y), Var("Var")(Var(v))))
    body = _bound(bindings, Var("bind")(Var("deltaLet")(total))(Lam(v, answer)))
    for place, x, u in reversed(list(zip(_places(t.parts[0], Var(p)), xs, us, strict=True))):
        body = Let(x.name, Fst(place), Let(u.name, Snd(place), body))
    return Var("pure")(Lam(p, body))


def _bound(bindings: list[tuple[str, Term]], body: Term) -> Term:
    """The body with the bindings that it uses, each name that is used once replaced by its term."""
    for name, term in reversed(bindings):
        uses = Counter(_variables(body))[name]
        if uses == 1:
            body = answer_of(_replaced(body, name, term))
        elif uses:
            body = Let(name, term, body)
    return body


def _variables(term: Term) -> Iterator[str]:
    waiting = [term]
    while waiting:
        term = waiting.pop()
        if isinstance(term, Var):
            yield term.name
        waiting.extend(children(term))


def _replaced(body: Term, name: str, term: Term) -> Recursion[Term]:
    """The body with a term for a name; all names are different."""
    if isinstance(body, Var):
        return term if body.name == name else body
    return with_parts(body, (yield for_each(lambda part: _replaced(part, name, term), children(body))))


def _in_structure(t: Type, leaves: Iterator[Any], pair: Callable[[Any, Any], Any]) -> Any:
    if t.kind == "*":
        first = _in_structure(t.parts[0], leaves, pair)
        return pair(first, _in_structure(t.parts[1], leaves, pair))
    return next(leaves)


def _places(t: Type, place: Term) -> list[Term]:
    """The reals of a product, as terms."""
    if t.kind == "*":
        return _places(t.parts[0], Fst(place)) + _places(t.parts[1], Snd(place))
    return [place]


def _term(x: Any) -> Term:
    return x.term if isinstance(x, Numbered) else Const(x)


def _is_one(x: Any) -> bool:
    return isinstance(x, (float, np.floating)) and x == 1.0
