"""The monad of the translation, and the constants of its target language (Krawiec et al. 2022, Fig. 11, second half).

    type M a        = DeltaState -> (a, DeltaState)
    type DeltaState = (DeltaId, DeltaBinds)             the next name, and the bindings so far, last first
    return x        = \\s -> (x, s)
    m >>= n         = \\s -> case m s of (r, s') -> n r s'
    deltaLet u      = \\(uid, bs) -> (uid, (uid + 1, (uid, u) : bs))
    runDelta uid m  = (res, foldl wrap delta bs)   where ((res, delta), (_, bs)) = m (uid, [])
                                                         wrap body (uid, rhs)    = Let uid rhs body

`pure` and `bind` are terms of the core language; `do { x <- m; n }` is `bind m (fun x -> n)`. A list of bindings is
`()`, or a pair of the last binding and the list of the other ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shiftreset_ad.formulations.krawiec.monadic.delta import (
    Add,
    Delta,
    DeltaId,
    DeltaMap,
    Let,
    Scale,
    Var,
    Zero,
    empty_map,
    evaluated,
    lookup_or_zero,
)
from shiftreset_ad.formulations.language import call, parse, run
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import INTEGER, REAL, Type, function, product


def delta_let(u: Delta) -> Callable[[Any], Any]:
    """deltaLet u: the computation that gives `u` a new name."""

    def computation(state: Any) -> Any:
        uid, bindings = state
        return uid, (Integer(uid.value + 1), ((uid, u), bindings))

    return computation


def bindings_of(computation: Any, uid: DeltaId) -> tuple[Any, Any]:
    """The result of a computation that begins with the name `uid`, and its bindings."""
    result, (_, bindings) = call(computation, (uid, ()), lambda answer: answer)
    return result, bindings


def each(bindings: Any) -> Iterator[tuple[DeltaId, Delta]]:
    """The bindings of a list, last first."""
    while bindings:
        binding, bindings = bindings
        yield binding


def run_delta(uid: DeltaId, computation: Any) -> tuple[Any, Delta]:
    """runDelta: the number that a computation returns, and its Delta term inside of all bindings.

    Raises TypeError if the computation does not return a dual number.
    """
    result, bindings = bindings_of(computation, uid)
    match result:
        case (y, Zero() | Var() as delta):
            body: Delta = delta
            for name, bound in each(bindings):
                body = Let(name, bound, body)
            return y, body
    raise TypeError(f"grad: the term has to denote a function to a number; the result is {result!r:.80}")


def look_up_leaf(um: DeltaMap, u: Delta) -> Any:
    """The entry of a `Var`; zero for `Zero`, which is in an argument that is held constant."""
    return lookup_or_zero(u.uid, um) if isinstance(u, Var) else 0.0


CONSTANTS: dict[str, Any] = {
    "pure": run(parse("fun x -> fun s -> (x, s)")),
    "bind": run(parse("fun m -> fun n -> fun s -> let (r, s') = m s in n r s'")),
    "deltaLet": delta_let,
    "Zero": Zero(),
    "Scale": lambda r: lambda u: Scale(r, u),
    "Add": lambda u: lambda v: Add(u, v),
    "Var": Var,
    "runDelta": lambda uid: lambda m: run_delta(uid, m),
    "eval": lambda x: lambda u: lambda um: evaluated(x, u, dict(um)),  # a copy, as `evaluated` changes its map
    "emptyMap": empty_map(),
    "lookUp": lambda um: lambda u: look_up_leaf(um, u),
}

DELTA, DELTA_MAP = Type("Delta"), Type("DeltaMap")
A, B = Type("'a"), Type("'b")


def computation(of: Type) -> Type:
    """M A"""
    return Type("M", (of,))


TYPES: dict[str, Type] = {
    "pure": function(A, computation(A)),
    "bind": function(computation(A), function(A, computation(B)), computation(B)),
    "deltaLet": function(DELTA, computation(INTEGER)),
    "Zero": DELTA,
    "Scale": function(REAL, DELTA, DELTA),
    "Add": function(DELTA, DELTA, DELTA),
    "Var": function(INTEGER, DELTA),
    "runDelta": function(INTEGER, computation(product(REAL, DELTA)), product(REAL, DELTA)),
    "eval": function(REAL, DELTA, DELTA_MAP, DELTA_MAP),
    "emptyMap": DELTA_MAP,
    "lookUp": function(DELTA_MAP, DELTA, REAL),
}
