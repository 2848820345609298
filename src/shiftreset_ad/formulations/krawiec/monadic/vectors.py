"""Vectors, by build and index, in two designs of the paper (Krawiec et al. 2022, section 8.3).

    index : Vector A * Z -> A            build : Z * (Z -> A) -> Vector A

    1. D{Vector A} = Vector D{A}                       a vector of dual numbers
       D{index}    = pure (fun (v, i) -> pure (index (v, i)))
       D{build}    = pure (fun (n, f) -> sequence (build (n, f)))
       sequence    : Vector (M A) -> M (Vector A)      runs the computations, first to last

    2. D{Vector R} = Vector R * Vector Delta           a vector of numbers, and one of Delta terms
       D{index}    = pure (fun ((v, u), i) -> pure (index (v, i), index (u, i)))
       D{build}    = pure (fun (n, f) -> do { w <- sequence (build (n, f)); pure (firsts of w, seconds of w) })

`build` and `index` are free names in a program. By 8.1 their translations are linked to it, so the translation of terms
knows nothing of vectors: each design is an environment. The second design is for vectors of numbers. The third design,
in `primitive_vectors`, has vectors as primitive data. The room `arrays` has a fourth one, which is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shiftreset_ad.formulations.krawiec.monadic.monad import DELTA
from shiftreset_ad.formulations.krawiec.monadic.translation import of_type
from shiftreset_ad.formulations.language import call
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.types import INTEGER, REAL, Type, function, product


class Vector:
    """A value of the type Vector A."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[Any]) -> None:
        self.elements = tuple(elements)

    def __repr__(self) -> str:
        return f"Vector({list(self.elements)})"


def vector(of: Type) -> Type:
    """Vector A"""
    return Type("Vector", (of,))


TYPES: dict[str, Type] = {
    "index": function(product(vector(Type("'a")), INTEGER), Type("'a")),
    "build": function(product(INTEGER, function(INTEGER, Type("'a"))), vector(Type("'a"))),
}


def index(arguments: Any) -> Any:
    """index (v, i): the element i, from 0; IndexError if there is none."""
    v, i = arguments
    if not 0 <= i.value < len(v.elements):
        raise IndexError(f"index: the vector has {len(v.elements)} elements; got the index {i.value}")
    return v.elements[i.value]


def build(arguments: Any) -> Vector:
    """build (n, f): the vector of f 0, ..., f (n - 1)."""
    n, f = arguments
    return Vector([call(f, Integer(i), lambda y: y) for i in range(n.value)])


def sequence(computations: Vector) -> Callable[[Any], Any]:
    """The computation that runs those of a vector, first to last, and returns the vector of their values."""

    def computation(state: Any) -> Any:
        values = []
        for m in computations.elements:
            value, state = call(m, state, lambda answer: answer)
            values.append(value)
        return Vector(values), state

    return computation


def _pure(value: Any) -> Callable[[Any], Any]:
    return lambda state: (value, state)


def _build_both(arguments: Any) -> Callable[[Any], Any]:
    def computation(state: Any) -> Any:
        duals, state = sequence(build(arguments))(state)
        return (Vector([x for x, _ in duals.elements]), Vector([u for _, u in duals.elements])), state

    return computation


def _index_both(arguments: Any) -> Callable[[Any], Any]:
    (v, u), i = arguments
    return _pure((index((v, i)), index((u, i))))


SOURCE: dict[str, Any] = {"index": index, "build": build}  # the environment of a program that is not translated
VECTOR_OF_DUALS: dict[str, Any] = {
    "index": lambda arguments: _pure(index(arguments)),
    "build": lambda arguments: sequence(build(arguments)),
}
DUAL_OF_VECTORS: dict[str, Any] = {"index": _index_both, "build": _build_both}


def with_dual_of_vectors(t: Type) -> Type:
    """D{A} in the second design.

    >>> print(of_type(vector(REAL)), "and", with_dual_of_vectors(vector(REAL)))
    Vector (R * Delta) and Vector R * Vector Delta
    """
    if t == vector(REAL):
        return product(t, vector(DELTA))
    if t.kind == "->":
        return function(with_dual_of_vectors(t.parts[0]), Type("M", (with_dual_of_vectors(t.parts[1]),)))
    return of_type(t) if t == REAL else Type(t.kind, tuple(map(with_dual_of_vectors, t.parts)))
