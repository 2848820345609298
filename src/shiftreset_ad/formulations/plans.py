"""The derivatives F and R by any room, and the two plans for a Jacobian (Krawiec et al. 2022, section 3.2, Fig. 2).

    F{e} : R^a * dR^a -> dR^b        F{e} (s, ds) = J s . ds
    R{e} : R^a * dR^b -> dR^a        R{e} (s, dt) = dt . J s
    Forward Plan: a calls of F{e}, with the unit vectors of R^a; each gives a column
    Reverse Plan: b calls of R{e}, with the unit vectors of R^b; each gives a row

A room differentiates functions with one real result. R{e} is its gradient of s -> dt . e s, as in Fig. 16. F{e} has a
number for each result: the room's derivative along ds, or, in a room without one, the product of ds and the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

from shiftreset_ad.formulations.language import Const, Lam, Pair, Term, Var, evaluate
from shiftreset_ad.formulations.language.polytypic import dot, one_hot, reals
from shiftreset_ad.formulations.language.types import Type
from shiftreset_ad.formulations.rooms import Room

Derivative = Callable[[Any, Any], Any]


def reverse(room: Room, e: Term, t: Type) -> Derivative:
    """R{e}, for the closed term e of the type t: R^a -> R^b.

    >>> from shiftreset_ad.formulations import ROOMS
    >>> from shiftreset_ad.formulations.language import parse
    >>> from shiftreset_ad.formulations.language.types import REAL, function, product
    >>> t = function(REAL, product(REAL, REAL))
    >>> print(*{float(reverse(room, parse("fun x -> (x * x, 3.0 * x)"), t)(2.0, (1.0, 10.0))) for room in ROOMS})
    34.0
    """
    return lambda s, dt: room.grad(_along(e, t, dt))(s)


def forward(room: Room, e: Term, t: Type) -> Derivative:
    """F{e}, for the closed term e of the type t: R^a -> R^b."""

    def along(s: Any, ds: Any) -> Any:
        return _filled(t.parts[1], [_pushed(room, _along(e, t, unit), s, ds) for unit in units(t.parts[1])])

    return along


def forward_plan(room: Room, e: Term, t: Type) -> Callable[[Any], list[list[Any]]]:
    """The Jacobian, row by row, from its columns."""
    pushed = forward(room, e, t)
    return lambda s: [list(row) for row in zip(*(_flat(pushed(s, unit)) for unit in units(t.parts[0])), strict=True)]


def reverse_plan(room: Room, e: Term, t: Type) -> Callable[[Any], list[list[Any]]]:
    """The Jacobian, row by row."""
    pulled = reverse(room, e, t)
    return lambda s: [_flat(pulled(s, unit)) for unit in units(t.parts[1])]


def units(t: Type) -> list[Any]:
    """The unit vectors of R^a; TypeError for another type."""
    return [evaluate(one_hot(t, i)) for i in range(reals(t))]


def _along(e: Term, t: Type, dt: Any) -> Term:
    """The function s -> dt . e s"""
    return Lam("s", dot(t.parts[1])(Pair(e(Var("s")), Const(dt))))


def _pushed(room: Room, f: Term, s: Any, ds: Any) -> Any:
    if room.jvp is not None:
        return room.jvp(f)(s, ds)
    return sum(slope * d for slope, d in zip(_flat(room.grad(f)(s)), _flat(ds), strict=True))


def _flat(value: Any) -> list[Any]:
    return optree.tree_leaves(value)


def _filled(t: Type, numbers: list[Any]) -> Any:
    """The numbers in the structure of a product of reals."""
    return optree.tree_unflatten(optree.tree_structure(units(t)[0]), numbers)
