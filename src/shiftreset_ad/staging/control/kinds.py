"""The kind of a value that a loop carries: which numbers it consists of, down to the staged values.

In a first round a value may be a constant, and in the next one a number. So a loop finds the kind that holds for all
rounds: the `join` of the kinds that the value has before a round and after it. A value of a lesser kind is lifted.

A number has parts, one level below. Forward mode, stacks and series need nothing else: a loop that carries such a
number carries its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias, cast

import numpy as np

from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.modes.index_sets.number import IndexSets
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.modes.series.expansion import Expansion
from shiftreset_ad.modes.series.number import Series
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.carried_zeros import carried
from shiftreset_ad.staging.steps.values import Staged
from shiftreset_ad.transforms.custom.transposition import UnknownDirection


@dataclass(frozen=True)
class Kind:
    """The kind of a value: the class and the tag of a number, and the kinds of its parts; nothing for a plain value.

    The kind of a stack also has the number of `rows`.
    """

    number: type[Number] | None = None
    tag: Tag | None = None
    parts: tuple[Kind, ...] = ()
    rows: int = 0

    @property
    def width(self) -> int:
        """How many plain values a value of this kind consists of."""
        return sum(part.width for part in self.parts) if self.parts else 1


PLAIN = Kind()
Kinds: TypeAlias = "list[Kind | None]"  # None is the kind of an adjoint that nothing has been added to


def parts_of(x: Any) -> list[Any]:
    """The parts of a number, one level below; the first one has the value."""
    if type(x) is NumR:
        return [x.primal]
    if type(x) is NumF:
        return [x.primal, x.tangent]
    if isinstance(x, Stack):
        return [x.rows]
    if type(x) is IndexSets:
        return [x.which]
    if type(x) is UnknownDirection:
        return [x.zeros]
    order = cast(Expansion, x.tag).order
    x.reach(order)
    left_out = order + 1 - len(x.coefficients)
    return [*x.coefficients, *[zeros(x.primal) for _ in range(left_out)]]


def kind_of(x: Any) -> Kind:
    """The kind of a value."""
    if not isinstance(x, Number):
        return PLAIN
    parts = tuple(map(kind_of, parts_of(x)))
    return Kind(Stack, x.tag, parts, shape_of(x.rows)[0]) if isinstance(x, Stack) else Kind(type(x), x.tag, parts)


def join(a: Kind, b: Kind) -> Kind:
    """The least kind that values of both kinds can be lifted to."""
    if a == b:
        return a
    newest = max((a, b), key=lambda kind: kind.tag.serial if kind.tag is not None else 0)
    pairs = zip(_as_parts(a, newest), _as_parts(b, newest), strict=True)
    return Kind(newest.number, newest.tag, tuple([join(p, q) for p, q in pairs]), newest.rows)


def kind_of_adjoint(x: Any) -> Kind | None:
    """The kind of a value; None if nothing has been added to it."""
    return None if x is ZERO else kind_of(x)


def joined(a: Kind | None, b: Kind | None) -> Kind | None:
    """The least kind that adjoints of both kinds can be lifted to."""
    return join(a, b) if a is not None and b is not None else a if b is None else b


def newest_in(kinds: Iterable[Kind | None]) -> int:
    """The serial number of the newest tag in these kinds; 0 if there is none."""
    found = [(kind.tag.serial if kind.tag is not None else 0, newest_in(kind.parts)) for kind in kinds if kind]
    return max(map(max, found), default=0)


def _as_parts(kind: Kind, of: Kind) -> tuple[Kind, ...]:
    """The kinds of the parts that a value of this kind has when it is lifted to a number like `of`."""
    return kind.parts if kind.tag is of.tag else (kind, *[PLAIN] * (len(of.parts) - 1))


def parts_as(x: Any, kind: Kind) -> list[Any]:
    """The parts of a value, lifted to a number of this kind if it is a constant for the tag."""
    if isinstance(x, Number) and x.tag is kind.tag:
        return parts_of(x)
    if kind.number is Stack:
        rows = np.copy(np.broadcast_to(x, (kind.rows, *shape_of(x))), order="C")
        return [rows if dtype_of(rows).kind in "fc" else rows.astype(np.float64)]  # an integer may become a float
    carried.any = True
    return [x, *[zeros(x) for _ in kind.parts[1:]]]


def with_parts(kind: Kind, parts: list[Any]) -> Any:
    """The number of this kind that has these parts."""
    if kind.number is NumR:
        return NumR(parts[0], ZERO, kind.tag)  # type: ignore[arg-type]
    if kind.number is Series:
        return Series(list(parts), kind.tag)  # type: ignore[arg-type]
    return kind.number(*parts, kind.tag)  # type: ignore[misc,call-arg]


def apart(xs: list[Any], kinds: list[Kind], tag: Tag) -> list[Any]:
    """The values with the parts of each number of a tag in its place."""
    return [part for x, kind in zip(xs, kinds, strict=True) for part in (parts_as(x, kind) if kind.tag is tag else [x])]


def together(parts: list[Any], kinds: list[Kind], tag: Tag) -> list[Any]:
    """The values of these kinds, of which the numbers of a tag come in parts."""
    ends = list(accumulate(len(kind.parts) if kind.tag is tag else 1 for kind in kinds))
    pieces = [parts[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [with_parts(kind, piece) if kind.tag is tag else piece[0] for kind, piece in zip(kinds, pieces, strict=True)]


def zeros(like: Any) -> Any:
    """Plain zeros in the shape and precision of a value."""
    shape, dtype = shape_of(like), dtype_of(like)
    if shape:
        return np.zeros(shape, dtype)
    return 0.0 if dtype == np.float64 else dtype.type(0)


def values_inside(x: Any) -> Iterator[Any]:
    """The values that a number consists of; of anything else, the thing itself."""
    if isinstance(x, Number):
        for part in parts_of(x):
            yield from values_inside(part)
    else:
        yield x


def staged_inside(x: Any) -> Iterator[Staged]:
    """The staged values that a number consists of."""
    return (value for value in values_inside(x) if type(value) is Staged)
