"""Delta terms with `Let`, and their evaluation in a map (Krawiec et al. 2022, Fig. 11, first half).

    eval x Zero             um = um
    eval x (Scale y u)      um = eval (x * y) u um
    eval x (Add u1 u2)      um = eval x u2 (eval x u1 um)
    eval x (Var uid)        um = addDelta uid x um
    eval x (Let uid u1 u2)  um = let um2 = eval x u2 um in
                                 case lookup uid um2 of Nothing -> um2
                                                        Just x  -> eval x u1 (delete uid um2)

Other differentiable data bring terms of their own (8.3): a `Linear` map says what it hands to each of its operands.

A map is used once, as the linear arrow in the type of `eval` says, so the map is a mutable dict (5.3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from shiftreset_ad.formulations.language import Recursion, answer_of
from shiftreset_ad.formulations.language.discrete import Integer

DeltaId: TypeAlias = Integer
DeltaMap: TypeAlias = dict[DeltaId, Any]


@dataclass(frozen=True, slots=True)
class Zero:
    """The vector of zeros."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A real number times a vector."""

    by: Any
    delta: Delta


@dataclass(frozen=True, slots=True)
class Add:
    """The sum of two vectors."""

    left: Delta
    right: Delta


@dataclass(frozen=True, slots=True)
class Var:
    """The vector that has this name."""

    uid: DeltaId


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """`body`, with a name for a vector in it."""

    uid: DeltaId
    bound: Delta
    body: Delta


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A linear map of vectors: `shares(x)` has each operand with its share of the sensitivity x."""

    shares: Shares


Delta: TypeAlias = Zero | Scale | Add | Var | Let | Linear
Shares: TypeAlias = Callable[[Any], Iterable[tuple[Any, Delta]]]


def evaluated(x: Any, u: Delta, um: DeltaMap) -> DeltaMap:
    """eval x u um: the map, with x times what `u` says added to the entries of its free names.

    >>> y = Let(Integer(2), Scale(3.0, Var(Integer(1))), Add(Var(Integer(2)), Var(Integer(2))))
    >>> evaluated(1.0, y, empty_map())
    {Integer(1): 6.0}
    """
    return answer_of(_eval(x, u, um))


def _eval(x: Any, u: Delta, um: DeltaMap) -> Recursion[DeltaMap]:
    match u:
        case Scale(y, scaled):
            um = yield _eval(x * y, scaled, um)
        case Add(left, right):
            um = yield _eval(x, left, um)
            um = yield _eval(x, right, um)
        case Var(uid):
            um = add_delta(uid, x, um)
        case Let(uid, bound, body):
            um = yield _eval(x, body, um)
            found = lookup(uid, um)
            if found is not None:
                um = yield _eval(found, bound, delete(uid, um))
        case Linear(shares):
            for share, operand in shares(x):
                um = yield _eval(share, operand, um)
    return um


# The functions on maps.


def empty_map() -> DeltaMap:
    """emptyMap"""
    return {}


def lookup(uid: DeltaId, um: DeltaMap) -> Any:
    """The entry of a name; None is the paper's Nothing."""
    return um.get(uid)


def lookup_or_zero(uid: DeltaId, um: DeltaMap) -> Any:
    """The entry of a name; 0.0 if there is no entry."""
    return um.get(uid, 0.0)


def delete(uid: DeltaId, um: DeltaMap) -> DeltaMap:
    """The map without an entry."""
    del um[uid]
    return um


def add_delta(uid: DeltaId, x: Any, um: DeltaMap) -> DeltaMap:
    """The map with x added to the entry of a name; x is the entry if there is none."""
    um[uid] = um[uid] + x if uid in um else x
    return um
