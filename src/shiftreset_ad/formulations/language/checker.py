"""The type of a term, by unification (Krawiec et al. 2022, Fig. 1: the simply typed lambda calculus).

Each variable of a program has one type, as the paper's language has no polymorphism. The constants of a context may be
polymorphic. Recursion is self-application in the core language (Wang et al. 2019, Fig. 3), whose types are infinite:
with `recursive`, a type may be a part of itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftreset_ad.formulations.language.discrete import DISCRETE, Integer
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of, for_each
from shiftreset_ad.formulations.language.several import Several
from shiftreset_ad.formulations.language.sources import WRONG_SIDE, is_real, literal
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
)
from shiftreset_ad.formulations.language.types import (
    BOOLEAN,
    INTEGER,
    REAL,
    STRING,
    UNIT,
    Type,
)
from shiftreset_ad.formulations.language.values import Left, Right
from shiftreset_ad.formulations.overloading import COMPARISONS


class Unknown:
    """A type that is found later; then `found` is the type."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: Any = None


def infer(
    term: Term, context: Mapping[str, Type] | None = None, expected: Type | None = None, recursive: bool = False
) -> Type:
    """The type of a term whose free variables have the types of the context.

    What nothing decides, such as the right side of `inl x`, is as in the `expected` type, or the unit. Raises TypeError
    for an ill-typed term, for a term of another type than expected, for shift and reset, and for a type that is a part
    of itself in the answer; NameError for a free variable.

    >>> from shiftreset_ad.formulations.language import parse
    >>> print(infer(parse("fun x -> fun f -> f (x * x, inl x)")))
    R -> (R * (R + 1) -> 1) -> 1
    """
    found = answer_of(Checker(context or {}, recursive).of(term, {}))
    if expected is not None and not unified(found, expected, recursive):
        raise TypeError(f"infer: {term!s:.60} has the type {outline(found)}; expected {expected}")
    return resolved(found)


class Checker:
    """The typing rules: the context has the types of constants, the environment those of a program's variables."""

    def __init__(self, context: Mapping[str, Type], recursive: bool) -> None:
        self._context, self._recursive = context, recursive

    def of(self, term: Term, env: Mapping[str, Any]) -> Recursion[Any]:
        """The type of a term; unknown parts may be found later."""
        match term:
            case Var(name):
                return self._variable(name, env)
            case Const(value):
                return (yield self._constant(value))
            case Primitive(operation, operands):
                *of_operands, answer = signature(operation, len(operands))
                for operand, expected in zip(operands, of_operands, strict=True):
                    yield self._check(operand, expected, env)
                return answer
            case Lam(name, body):
                argument = Unknown()
                return Type("->", (argument, (yield self.of(body, {**env, name: argument}))))
            case App(f, x):
                argument, result = (yield self.of(x, env)), Unknown()
                yield self._check(f, Type("->", (argument, result)), env)
                return result
            case Let(name, value, body):
                bound = yield self.of(value, env)
                return (yield self.of(body, {**env, name: bound}))
            case Pair(first, second):
                return Type("*", tuple((yield for_each(lambda part: self.of(part, env), (first, second)))))
            case Fst() if term == WRONG_SIDE:
                return Unknown()  # an error has every type
            case Fst(pair) | Snd(pair):
                parts = Unknown(), Unknown()
                yield self._check(pair, Type("*", parts), env)
                return parts[isinstance(term, Snd)]
            case Inl(value):
                return Type("+", ((yield self.of(value, env)), Unknown()))
            case Inr(value):
                return Type("+", (Unknown(), (yield self.of(value, env))))
            case Case(scrutinee, left_name, left, right_name, right):
                sides = Unknown(), Unknown()
                yield self._check(scrutinee, Type("+", sides), env)
                result = yield self.of(left, {**env, left_name: sides[0]})
                yield self._check(right, result, {**env, right_name: sides[1]})
                return result
            case Ref(value):
                return Type("ref", ((yield self.of(value, env)),))
            case Deref(cell):
                content = Unknown()
                yield self._check(cell, Type("ref", (content,)), env)
                return content
            case Assign(cell, value):
                yield self._check(cell, Type("ref", ((yield self.of(value, env)),)), env)
                return UNIT
            case Shift() | Reset():
                raise TypeError("infer: shift and reset have no types here; they are of the target language only")
        raise TypeError(f"infer: {term!r} is not a term of the core language")

    def _variable(self, name: str, env: Mapping[str, Any]) -> Any:
        if name in env:
            return env[name]
        if name in self._context:
            return instance(self._context[name], {})
        raise NameError(f"infer: the variable {name} is free in the term, and not in its context")

    def _constant(self, value: Any) -> Recursion[Any]:
        if is_real(value):
            return REAL
        if isinstance(value, Integer):
            return INTEGER
        if isinstance(value, str):
            return STRING
        if isinstance(value, (Left, Right)) or (isinstance(value, tuple) and len(value) == 2):
            return (yield self.of(literal(value, lambda r: r), {}))
        if isinstance(value, tuple) and value == ():
            return UNIT
        raise TypeError(f"infer: {value!r} is no constant of the typed language")

    def _check(self, term: Term, expected: Any, env: Mapping[str, Any]) -> Recursion[None]:
        found = yield self.of(term, env)
        if not unified(found, expected, self._recursive):
            raise TypeError(f"infer: {term!s:.60} has the type {outline(found)}; expected {outline(expected)}")


def signature(operation: Any, operands: int) -> tuple[Type, ...]:
    """The types of the operands of a primitive, and of its answer."""
    if isinstance(operation, Several):
        return operation.signature
    if operation in DISCRETE:
        return DISCRETE[operation]
    return (REAL,) * operands + (BOOLEAN if operation in COMPARISONS else REAL,)


def instance(t: Any, unknowns: dict[str, Unknown]) -> Any:
    """The type with something unknown for each of its variables."""
    if not isinstance(t, Type):
        return t
    if t.kind.startswith("'"):
        return unknowns.setdefault(t.kind, Unknown())
    return Type(t.kind, tuple(instance(part, unknowns) for part in t.parts))


def followed(t: Any) -> Any:
    """What is found out about a type, as far as its kind."""
    while isinstance(t, Unknown) and t.found is not None:
        t = t.found
    return t


def unified(a: Any, b: Any, recursive: bool = False) -> bool:
    """Whether two types can be the same; what this needs of their unknown parts is found then.

    >>> inside = Unknown()
    >>> unified(Type("*", (inside, REAL)), Type("*", (INTEGER, REAL))), str(resolved(inside))
    (True, 'Z')
    """
    waiting, seen = [(a, b)], set()
    while waiting:
        a, b = map(followed, waiting.pop())
        if a is b:
            continue
        if isinstance(b, Unknown):
            a, b = b, a
        if isinstance(a, Unknown):
            if not recursive and a in unknowns_in(b):
                return False
            a.found = b
        elif a.kind != b.kind:
            return False
        elif (id(a), id(b)) not in seen:  # a recursive type comes by here again
            seen.add((id(a), id(b)))
            waiting += zip(a.parts, b.parts, strict=True)
    return True


def unknowns_in(t: Any) -> set[Unknown]:
    """The unknown parts of a type that is no part of itself."""
    t = followed(t)
    return {t} if isinstance(t, Unknown) else set().union(*map(unknowns_in, t.parts))


def resolved(t: Any, around: tuple[Any, ...] = ()) -> Type:
    """The type with all that is found in it, and the unit for the rest; TypeError if it is a part of itself."""
    t = followed(t)
    if isinstance(t, Unknown):
        return UNIT
    if any(t is other for other in around):
        raise TypeError("infer: the type of the term is a part of itself")
    return Type(t.kind, tuple(resolved(part, (*around, t)) for part in t.parts))


def outline(t: Any) -> str:
    """A type in an error, which may be a part of itself."""
    try:
        return str(resolved(t))
    except TypeError:
        return f"a recursive type with {followed(t).kind!r}"
