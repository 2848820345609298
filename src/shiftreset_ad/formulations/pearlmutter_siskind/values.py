"""The values of the language, and the four operations that work on values of every kind.

    kind            value          zero, the sensitivity             J
    real            r              0.0                               r
    unit            ()             ()                                ()
    pair            (v, w)         (zero v, zero w)                  (J v, J w)
    sum             inl v          inl (zero v)                      inl (J v)
    closure         <e, v1..vn>    (zero v1, (... (zero vn, ())))    <the transform of e, J v1..J vn>
    primitive       p              ()                                its transformed primitive, a closure

So the sensitivity of a function is a list of the sensitivities of the values in its environment. It has the structure
of `zero`, and holds no function, so `J` leaves it as it is. `plus` adds two sensitivities. `J_inverse` undoes `J`: the
code of a transformed closure remembers its `origin`. (In the paper zero is a bold 0, plus is a plus sign in a circle,
and J has an arrow to the left over it.)

All four operations are iterative, as the backpropagators of a recursion hold one another, as deep as the recursion.
They keep the sharing of parts, and a closure or a pair remembers their answers. For with

    x1 = (1.0, 1.0);  x2 = (x1, x1);  ...  xn = (x(n-1), x(n-1))

a program builds 2**n numbers in n steps, and each operation must take n steps, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shiftreset_ad.formulations.language.values import Cell, Left, Right
from shiftreset_ad.formulations.pearlmutter_siskind.folding import fold
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Procedure
from shiftreset_ad.formulations.structures import NUMBERS


@dataclass(eq=False, slots=True)
class Closure:
    """A function with its environment: `values` in the order of the free variables of its code."""

    procedure: Procedure
    values: tuple[Any, ...] = ()
    known: dict[Any, Any] = field(default_factory=dict)  # the answers of operations to this closure

    def __repr__(self) -> str:
        return self.procedure.name or f"<fun {self.procedure.parameter}>"


@dataclass(eq=False)
class Basic:
    """A function of the language that is not a lambda term: `J`, `J_inverse`, `zero` or `plus`."""

    name: str
    function: Callable[[Any], Any]
    transformed: Callable[[], Closure]
    forward_transformed: Callable[[], Closure] | None = None

    @cached_property
    def image(self) -> Closure:
        """The transformed primitive, itself code of the language."""
        closure = self.transformed()
        closure.known["J_inverse"] = self
        return closure

    @cached_property
    def forward(self) -> Closure:
        """The primitive on bundles, itself code of the language."""
        if self.forward_transformed is None:
            raise TypeError(f"J_forward: {self.name} has no forward transform")
        closure = self.forward_transformed()
        closure.known["primal"] = self
        closure.known["tangent"] = ()
        return closure

    def __call__(self, argument: Any) -> Any:
        return self.function(argument)

    def __repr__(self) -> str:
        return self.name


class Couple(tuple[Any, ...]):
    """A pair of a program, which remembers the answers of operations to it; a pair from outside is any tuple of two."""

    @property
    def known(self) -> dict[Any, Any]:
        """The answers, which are its attributes: no pair needs room for them before an operation asks."""
        return vars(self)


class Zero(tuple[Any, ...]):
    """A pair or a list that is known to have zeros only: no operation needs to look into it.

    Functions may be in the environments of functions. Then their zeros share parts, and are large when taken apart.
    """

    __slots__ = ()


ZERO = 0.0  # the zero sensitivity of a real


def zero(value: Any) -> Any:
    """The sensitivity of a value if nothing depends on it.

    >>> zero((3.0, (4.0, ())))
    (0.0, (0.0, ()))
    """
    return _remembered("zero", _zero, value)


def _zero(value: Any, zeros: list[Any]) -> Any:
    match value:
        case () | Basic():
            return ()
        case tuple():
            return Zero(zeros)
        case Left() | Right():
            return type(value)(*zeros)
        case Closure():
            sensitivity: Any = ()
            for head in reversed(zeros):
                sensitivity = Zero((head, sensitivity))
            return sensitivity
    return ZERO


def J(value: Any) -> Any:  # noqa: N802 (its name in the paper)
    """The value that stands for this value in a transformed program."""
    return _remembered("J", _image, value)


def _image(value: Any, images: list[Any]) -> Any:
    match value:
        case Closure(procedure):
            image = Closure(procedure.image, tuple(images))
        case Basic():
            return value.image
        case _:
            image = with_parts(value, images)
    if isinstance(value, REMEMBERING):  # not a pair from outside, as it would forget
        image.known["J_inverse"] = value
    return image


def J_inverse(value: Any) -> Any:  # noqa: N802
    """The value that `J` has transformed: J_inverse (J v) is v.

    Raises TypeError for a function that is not an image of `J`.
    """
    return _remembered("J_inverse", _preimage, value)


def _preimage(value: Any, preimages: list[Any]) -> Any:
    match value:
        case Closure(Procedure(origin=Procedure() as origin)):
            preimage = Closure(origin, tuple(preimages))
        case Closure() | Basic():
            raise TypeError(f"J_inverse: {value} is not a function that J has transformed")
        case _:
            preimage = with_parts(value, preimages)
    if isinstance(value, REMEMBERING):
        preimage.known["J"] = value
    return preimage


def plus(a: Any, b: Any) -> Any:
    """The sum of two sensitivities.

    Raises TypeError if their structures differ.

    >>> plus((1.0, ()), (2.0, ()))
    (np.float64(3.0), ())
    """
    return fold((a, b), _summands, _sum, _identities)


def _identities(both: tuple[Any, Any]) -> tuple[int, int]:
    return id(both[0]), id(both[1])


def _summands(both: tuple[Any, Any]) -> list[tuple[Any, Any]]:
    a, b = both
    if _is_zero(a) or _is_zero(b) or (isinstance(a, Couple) and id(b) in a.known):
        return []
    if isinstance(a, STRUCTURED) or isinstance(b, STRUCTURED):
        if type(a) is not type(b) or isinstance(a, (Closure, Basic)) or len(parts_of(a)) != len(parts_of(b)):
            raise TypeError(f"plus: {a!r} and {b!r} are not sensitivities of the same value")
        return list(zip(parts_of(a), parts_of(b), strict=True))
    return []


def _sum(both: tuple[Any, Any], sums: list[Any]) -> Any:
    a, b = both
    if _is_zero(a) or _is_zero(b):
        return b if _is_zero(a) else a
    if not isinstance(a, STRUCTURED):
        return np.add(a, b)
    if not isinstance(a, Couple):
        return with_parts(a, sums)
    if id(b) not in a.known:
        a.known[id(b)] = with_parts(a, sums), b  # b is kept, as another value could get its id
    return a.known[id(b)][0]


def _is_zero(sensitivity: Any) -> bool:
    """Whether a sensitivity is known to be zero: `zero` has made it."""
    return sensitivity is ZERO or type(sensitivity) is Zero


def derivative(x: Any, x_sens: Any) -> Any:
    """The sensitivity of an argument, with None in the place of everything that is not a real number."""
    return fold((x, x_sens), _corresponding, _part_of_derivative, _identities)


def _corresponding(both: tuple[Any, Any]) -> Iterator[tuple[Any, Any]]:
    return zip(parts_of(both[0]), parts_of(both[1]), strict=True)


def _part_of_derivative(both: tuple[Any, Any], parts: list[Any]) -> Any:
    x, x_sens = both
    if isinstance(x, STRUCTURED):
        return tuple(parts) if isinstance(x, tuple) else type(x)(*parts)
    return x_sens if isinstance(x, NUMBERS) else None


def require_number(x: Any) -> None:
    """Raise TypeError if an argument has no number in it to differentiate by."""
    if not fold(x, parts_of, lambda part, found: isinstance(part, NUMBERS) or any(found)):
        raise TypeError(f"grad: the argument {x!r:.60} has no floating-point number in it; write 3.0 for 3")


# Traversals


STRUCTURED = (tuple, Left, Right, Closure, Basic)
REMEMBERING = (Closure, Couple)


def parts_of(value: Any) -> tuple[Any, ...]:
    """The values that a value consists of."""
    match value:
        case tuple(()) | tuple((_, _)):
            return value
        case Left(part) | Right(part):
            return (part,)
        case Closure():
            return value.values
        case Basic():
            return ()
        case Cell():
            raise TypeError("the transform of Pearlmutter and Siskind is for programs without references")
    if callable(value) or isinstance(value, (tuple, list, dict)):
        raise TypeError(
            f"{value!r} is no value of this language, which has numbers, (), pairs, sums, "
            "and the functions that its own interpreter has made"
        )
    return ()


def with_parts(value: Any, parts: list[Any]) -> Any:
    """A pair or a sum with these parts; the value itself if they are its own."""
    if isinstance(value, tuple) and parts:
        return value if isinstance(value, Couple) and _same(value, parts) else Couple(parts)
    return type(value)(*parts) if parts and not _same((value.value,), parts) else value


def _same(parts: tuple[Any, ...], others: list[Any]) -> bool:
    return all(part is other for part, other in zip(parts, others, strict=True))


def _remembered(operation: str, combine: Callable[[Any, list[Any]], Any], value: Any) -> Any:
    """Fold a value, but look into no zeros, which stay as they are."""

    def parts(value: Any) -> tuple[Any, ...]:
        return () if type(value) is Zero else parts_of(value)

    def answer(value: Any, answers: list[Any]) -> Any:
        return value if type(value) is Zero else combine(value, answers)

    return remembered(operation, answer, value, parts)


def remembered(
    operation: str,
    combine: Callable[[Any, list[Any]], Any],
    value: Any,
    parts_of: Callable[[Any], tuple[Any, ...]],
) -> Any:
    """Fold a value, but ask each closure and pair only once."""

    def parts(value: Any) -> tuple[Any, ...]:
        return () if isinstance(value, REMEMBERING) and operation in value.known else parts_of(value)

    def answer(value: Any, answers: list[Any]) -> Any:
        if not isinstance(value, REMEMBERING):
            return combine(value, answers)
        if operation not in value.known:
            value.known[operation] = combine(value, answers)
        return value.known[operation]

    return fold(value, parts, answer)
