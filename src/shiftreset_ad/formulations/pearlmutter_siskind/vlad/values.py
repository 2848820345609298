"""Values: [], reals, tagged values, primitives and closures; zero, plus, J and its inverse on each of them.

value v        zero v                            J v
[]             []                                J [], tagged
real r         0.0                               J r, tagged
tagged v       zero v, tagged                    tagged twice
primitive t    []                                its transform, a closure
closure        the list of zero (s x) for        the transform of e, with J (s x) for x'
<s, e>         the x in B e, tagged as e is
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shiftreset_ad.formulations.pearlmutter_siskind.vlad.expressions import Call, Lambda, Tag, Variable, base_free, free
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.transform import transform


@dataclass(frozen=True)
class Empty:
    """[]"""

    def __repr__(self) -> str:
        return "[]"


EMPTY = Empty()


@dataclass(frozen=True)
class Tagged:
    """A value with a reverse tag."""

    value: Any

    def __repr__(self) -> str:
        return f"{self.value!r}'"


@dataclass(frozen=True, eq=False)
class Primitive:
    """A function that is no closure; `transform` makes its reverse transform."""

    name: str
    function: Callable[[Any], Any]
    transform: Callable[[], Closure]

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Closure:
    """<s, e>: the values of the free variables of a lambda expression, and this expression."""

    environment: Mapping[Variable, Any]
    e: Lambda

    def __repr__(self) -> str:
        return f"<{self.e}>"


# Pairs are closures of one lambda expression, fun x3 -> x3 x1 x2.

FIRST, SECOND = Variable("first"), Variable("second")
_SELECT, _PART, _BOTH = Variable("select"), Variable("part"), Variable("both")
PAIR = Lambda(_SELECT, [(_PART, Call(_SELECT, FIRST)), (_BOTH, Call(_PART, SECOND))], _BOTH)


def is_real(v: Any) -> bool:
    """Whether a value is a real."""
    return isinstance(v, (float, np.floating))


def pair(v: Any, w: Any) -> Closure:
    """(v, w)"""
    return Closure({FIRST: v, SECOND: w}, PAIR)


def parts(value: Any) -> tuple[Any, Any]:
    """The parts of a pair."""
    if not isinstance(value, Closure) or value.e is not PAIR:
        raise TypeError(f"expected a pair; got {value}")
    return value.environment[FIRST], value.environment[SECOND]


def tagged_list(values: Sequence[Any], level: int) -> Any:
    """[v1, ..., vl], transformed as often as `level` says; so are the elements.

    >>> tagged_list([], 2)
    []''
    """
    found: Any = EMPTY
    for value in reversed([repeated(J_inverse, level, value) for value in values]):
        found = pair(value, found)
    return repeated(J, level, found)


def repeated(function: Callable[[Any], Any], times: int, value: Any) -> Any:
    """function (function (... value))"""
    for _ in range(times):
        value = function(value)
    return value


def conforms(v: Any, w: Any) -> bool:
    """Whether two values differ in their reals only."""
    match v, w:
        case Tagged(a), Tagged(b):
            return conforms(a, b)
        case Closure(a, e), Closure(b, f):
            return e is f and a.keys() == b.keys() and all(conforms(a[x], b[x]) for x in a)
    return v is w or (is_real(v) and is_real(w))


def matches(v: Any, sensitivity: Any) -> bool:
    """Whether this can be the sensitivity of a value.

    >>> matches(pair(1.0, 2.0), tagged_list([3.0, 4.0], 0)), matches(pair(1.0, 2.0), pair(3.0, 4.0))
    (True, False)
    """
    return conforms(zero(v), sensitivity)


def zero(v: Any) -> Any:
    """The zero that matches a value."""
    match v:
        case Empty() | Primitive():
            return EMPTY
        case Tagged(value):
            return Tagged(zero(value))
        case Closure(environment, e):
            return tagged_list([zero(environment[x]) for x in base_free(e)], e.parameter.level)
    return 0.0


def plus(v: Any, w: Any) -> Any:
    """The sum of values that conform."""
    match v, w:
        case Tagged(a), Tagged(b):
            return Tagged(plus(a, b))
        case Closure(a, e), Closure(b, f) if e is f:
            return Closure({x: plus(a[x], b[x]) for x in a}, e)
    if is_real(v) and is_real(w):
        return v + w
    if v is w:
        return v
    raise TypeError(f"plus: {v} and {w} do not conform")


def J(v: Any) -> Any:  # noqa: N802 (its name in the paper)
    """The reverse value of a value.

    >>> J(J(3.0))
    3.0''
    """
    match v:
        case Primitive():
            return v.transform()
        case Closure(environment, e):
            image = transform(e)
            values = {x.tagged(Tag.REVERSE): J(value) for x, value in environment.items()}
            return Closure(values | {x: TopLevel.value_of(x) for x in free(image) - values.keys()}, image)
    return Tagged(v)


def J_inverse(v: Any) -> Any:  # noqa: N802
    """The value of which this is the reverse value."""
    match v:
        case Tagged(value):
            return value
        case Closure(_, Lambda(origin=Primitive() as primitive)):
            return primitive
        case Closure(environment, Lambda(origin=Lambda() as origin)):
            return Closure({x: J_inverse(environment[x.tagged(Tag.REVERSE)]) for x in free(origin)}, origin)
    raise TypeError(f"J_inverse: {v} is no reverse value")


class TopLevel:
    """The environment in which programs and transforms have their free variables; `basis` fills it in."""

    value_of: ClassVar[Callable[[Variable], Any]]
