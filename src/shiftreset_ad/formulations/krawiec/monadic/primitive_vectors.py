"""Vectors as new primitive data, beside the real numbers: the third design of Krawiec et al. 2022, section 8.3.

    3. D{Vector R} = Vector R * Delta          one Delta term for the whole vector
       D{dot}      = pure (fun ((v, u1), (w, u2)) ->
                       do { u <- deltaLet (the map x -> (x * w, x * v) of u1 and u2); pure (dot (v, w), Var u) })

The paper names the alternative, and its reason: many languages have operations on whole vectors. The derivative of each
operation is then a primitive, too, and a program has a binding for an operation on vectors, and not one for each
element. The rules are ours. A Delta term for the answer of such an operation is a `Linear` map of Delta terms, with the
sensitivity that it hands to each of them. `eval` needs to know no more of vectors: sensitivities are added and scaled
like numbers.

An index hands a vector of zeros but for one number to its vector, so it costs the length of the vector; the room
`arrays` has maps from indices instead. As in `vectors`, a design is an environment, to which a program is linked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.formulations.krawiec.monadic.delta import Linear, Shares, Var
from shiftreset_ad.formulations.krawiec.monadic.monad import DELTA, delta_let
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type
from shiftreset_ad.formulations.krawiec.monadic.vectors import build, index, sequence, vector
from shiftreset_ad.formulations.language.types import INTEGER, REAL, Type, function, product

REALS = vector(REAL)
TYPES: dict[str, Type] = {
    "index": function(product(REALS, INTEGER), REAL),
    "build": function(product(INTEGER, function(INTEGER, REAL)), REALS),
    "add": function(product(REALS, REALS), REALS),
    "times": function(product(REALS, REALS), REALS),
    "sum": function(REALS, REAL),
    "dot": function(product(REALS, REALS), REAL),
}


def with_primitive_vectors(t: Type) -> Type:
    """D{A} in the third design.

    >>> print(with_primitive_vectors(function(REALS, REAL)))
    Vector R * Delta -> M (R * Delta)
    """
    if t == REALS:
        return product(t, DELTA)
    if t.kind == "->":
        return function(with_primitive_vectors(t.parts[0]), Type("M", (with_primitive_vectors(t.parts[1]),)))
    return of_type(t) if t == REAL else Type(t.kind, tuple(map(with_primitive_vectors, t.parts)))


def _primitive(value: Any, shares: Shares) -> Callable[[Any], Any]:
    """do { u <- deltaLet (the linear map with these shares); pure (value, Var u) }"""

    def computation(state: Any) -> Any:
        uid, state = delta_let(Linear(shares))(state)
        return (value, Var(uid)), state

    return computation


def _index(arguments: Any) -> Callable[[Any], Any]:
    (v, u), i = arguments

    def shares(x: Any) -> Any:
        v_bar = np.zeros(len(v))
        v_bar[i.value] = x
        yield v_bar, u

    if not 0 <= i.value < len(v):
        raise IndexError(f"index: the vector has {len(v)} elements; got the index {i.value}")
    return _primitive(v[i.value], shares)


def _build(arguments: Any) -> Callable[[Any], Any]:
    def computation(state: Any) -> Any:
        duals, state = sequence(build(arguments))(state)
        us = [u for _, u in duals.elements]
        v = np.array([x for x, _ in duals.elements])
        return _primitive(v, lambda v_bar: zip(v_bar, us, strict=True))(state)

    return computation


def _add(arguments: Any) -> Callable[[Any], Any]:
    (v, u1), (w, u2) = _of_one_length("add", arguments)
    return _primitive(v + w, lambda x: [(x, u1), (x, u2)])


def _times(arguments: Any) -> Callable[[Any], Any]:
    (v, u1), (w, u2) = _of_one_length("times", arguments)
    return _primitive(v * w, lambda x: [(x * w, u1), (x * v, u2)])


def _dot(arguments: Any) -> Callable[[Any], Any]:
    (v, u1), (w, u2) = _of_one_length("dot", arguments)
    return _primitive(np.sum(v * w), lambda x: [(x * w, u1), (x * v, u2)])


def _sum(argument: Any) -> Callable[[Any], Any]:
    v, u = argument
    return _primitive(np.sum(v), lambda x: [(x * np.ones(len(v)), u)])


def _of_one_length(name: str, arguments: Any) -> Any:
    (v, _), (w, _) = arguments
    if len(v) != len(w):  # NumPy would repeat a vector of one element
        raise ValueError(f"{name}: the vectors have {len(v)} and {len(w)} elements")
    return arguments


SOURCE: dict[str, Any] = {  # the environment of a program that is not translated; here vectors have any numbers
    "index": index,
    "build": build,
    "add": lambda both: type(both[0])([a + b for a, b in zip(both[0].elements, both[1].elements, strict=True)]),
    "times": lambda both: type(both[0])([a * b for a, b in zip(both[0].elements, both[1].elements, strict=True)]),
    "sum": lambda v: sum(v.elements),
    "dot": lambda both: sum(a * b for a, b in zip(both[0].elements, both[1].elements, strict=True)),
}
PRIMITIVE_VECTORS: dict[str, Any] = {
    "index": _index,
    "build": _build,
    "add": _add,
    "times": _times,
    "sum": _sum,
    "dot": _dot,
}
