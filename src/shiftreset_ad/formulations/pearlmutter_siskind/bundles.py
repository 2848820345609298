"""A bundle is a value with its tangent, and is what forward mode computes with: each number is a pair with its tangent.

    kind            value          tangent                        bundle
    real            r              t                              (r, t)
    unit            ()             ()                             ()
    pair            (v, w)         (v_dot, w_dot)                 (bundle v v_dot, bundle w w_dot)
    sum             inl v          inl v_dot                      inl (bundle v v_dot)
    closure         <e, v1..vn>    (v1_dot, (... (vn_dot, ())))   <the forward transform of e, the bundles>
    primitive       p              ()                             p on bundles, a closure

So a tangent has the structure of a sensitivity, as `zero` makes it. `primal` and `tangent` take a bundle apart, and
`J_forward v` is the bundle of v with the tangent zero. A bundle of a bundle is ((r, t), (r_dot, t_dot)): a pair of two
numbers is always the bundle that was made last, as no bundle has a number of its own. For values that are no bundles,
`primal` and `tangent` have no meaning: they take (1.0, 2.0) for a bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shiftreset_ad.formulations.language.values import Left, Right
from shiftreset_ad.formulations.pearlmutter_siskind.folding import fold
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Procedure
from shiftreset_ad.formulations.pearlmutter_siskind.values import (
    REMEMBERING,
    STRUCTURED,
    ZERO,
    Basic,
    Closure,
    Couple,
    parts_of,
    remembered,
    with_parts,
)


def J_forward(value: Any) -> Any:  # noqa: N802 (beside J)
    """The bundle of a value with the tangent zero; of a function, the function on bundles.

    >>> J_forward((3.0, ()))
    ((3.0, 0.0), ())
    """
    return remembered("J_forward", _with_zero, value, parts_of)


def _with_zero(value: Any, bundles: list[Any]) -> Any:
    bundle: Any
    match value:
        case Closure(procedure):
            bundle = Closure(procedure.forward, tuple(bundles))
        case Basic():
            return value.forward
        case _:
            bundle = with_parts(value, bundles) if isinstance(value, STRUCTURED) else Couple((value, ZERO))
    if isinstance(value, REMEMBERING):
        bundle.known["primal"] = value
    return bundle


def bundle(value: Any, tangent: Any) -> Any:
    """A value with its tangent.

    Raises TypeError if the tangent has another structure.

    >>> bundle((3.0, 4.0), (1.0, 0.0))
    ((3.0, 1.0), (4.0, 0.0))
    """
    return fold((value, tangent), _parts_of_both, _bundle, lambda both: (id(both[0]), id(both[1])))


def _parts_of_both(both: tuple[Any, Any]) -> list[tuple[Any, Any]]:
    value, tangent = both
    parts = parts_of(value)
    match value:
        case Closure():
            tangents = list(_elements(tangent))
        case Left() | Right():
            tangents = [tangent.value] if type(tangent) is type(value) else []
        case tuple() | Basic():
            tangents = list(tangent) if isinstance(tangent, tuple) else [tangent]
        case _:
            tangents = [tangent] if isinstance(tangent, STRUCTURED) else []
    if len(parts) != len(tangents):
        raise TypeError(f"bundle: {tangent!r:.60} is no tangent of {value!r:.60}")
    return list(zip(parts, tangents, strict=True))


def _elements(tangents: Any) -> Iterator[Any]:
    """The elements of a list (v, (w, ()))."""
    while isinstance(tangents, tuple) and len(tangents) == 2:
        head, tangents = tangents
        yield head


def _bundle(both: tuple[Any, Any], bundles: list[Any]) -> Any:
    value, tangent = both
    match value:
        case Closure(procedure):
            return Closure(procedure.forward, tuple(bundles))
        case Basic():
            return value.forward
    return with_parts(value, bundles) if isinstance(value, STRUCTURED) else Couple((value, tangent))


def primal(value: Any) -> Any:
    """The value of a bundle.

    Raises TypeError for a function that is not on bundles.

    >>> primal(((3.0, 1.0), (4.0, 0.0)))
    (3.0, 4.0)
    """
    return remembered("primal", _primal, value, _parts_of_bundle)


def _primal(value: Any, parts: list[Any]) -> Any:
    match value:
        case Closure(Procedure(primal=Procedure() as procedure)):
            return Closure(procedure, tuple(parts))
        case Closure() | Basic():
            raise TypeError(f"primal: {value} is not a function on bundles, as J_forward makes them")
        case _ if _is_leaf(value):
            return value[0]
    return with_parts(value, parts)


def tangent(value: Any) -> Any:
    """The tangent of a bundle.

    Raises TypeError for a function that is not on bundles.

    >>> tangent(((3.0, 1.0), (4.0, 0.0)))
    (1.0, 0.0)
    """
    return remembered("tangent", _tangent, value, _parts_of_bundle)


def _tangent(value: Any, parts: list[Any]) -> Any:
    match value:
        case Closure(Procedure(primal=Procedure())):
            tangents: Any = ()
            for head in reversed(parts):
                tangents = Couple((head, tangents))
            return tangents
        case Closure() | Basic():
            raise TypeError(f"tangent: {value} is not a function on bundles, as J_forward makes them")
        case _ if _is_leaf(value):
            return value[1]
    return with_parts(value, parts)


def _parts_of_bundle(value: Any) -> tuple[Any, ...]:
    return () if _is_leaf(value) else parts_of(value)


def _is_leaf(value: Any) -> bool:
    """Whether a value is the bundle of a number."""
    return isinstance(value, tuple) and bool(value) and not any(isinstance(part, STRUCTURED) for part in value)
