"""What every number is: a value one level below, and the tag of the derivative that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import JointMap, LinearMap, Structured
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import FLOAT64, dtype_of, shape_of
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.stand_ins import StagedValue, Wrapped, is_staged

# The types of plain values that nobody can write to
SCALARS = frozenset(
    (
        *(int, float, complex, bool, str, slice, type(None), type(Ellipsis), np.float64, np.int64, np.bool_),
        *(type(np.dtype(kind)) for kind in "fdFD"),
    )
)
DOUBLES = frozenset((float, np.float64))
STACKS: set[type] = set()  # the type of many tangents at once
TANGENTS_OF_SCALARS: set[type] = {float, np.float64}  # that nobody can write to; and a stack of floats


class Number:
    """A float or an array that is being differentiated: its `primal`, one level below, and the `tag` of its level."""

    __slots__ = ()

    primal: Primal
    tag: Tag
    operations: ClassVar[dict[Callable[..., Any], Callable[..., Any]]]
    absorbs: ClassVar[bool] = False  # whether older numbers can be written to it without a new level
    has_one_value: ClassVar[bool] = True  # a stack has many
    takes_maps: ClassVar[bool] = False  # `linearized` alone carries out an operation, even one of a level below

    @property
    def inside(self) -> Primal:
        """What the number holds, one level below."""
        return self.primal

    @staticmethod
    def linearized(tag: Tag, answer: Primal, active: list[tuple[Any, LinearMap]]) -> Any:
        """The number for the `answer` of an operation, given each `active` operand with its linear map."""
        raise NotImplementedError

    def carried(self, answer: Primal, linear_map: LinearMap) -> Any:
        """`linearized`, where this number is the only active operand."""
        return self.linearized(self.tag, answer, [(self, linear_map)])

    @classmethod
    def jointly_linearized(
        cls, tag: Tag, answer: Primal, active: Sequence[Any], joint: JointMap, operands: Sequence[int]
    ) -> Any:
        """`linearized`, with one map for all `active` operands, which are these of the rule's `operands`."""
        return cls.linearized(tag, answer, [(x, joint(i)) for x, i in zip(active, operands, strict=True)])

    def mapped(self, function: Callable[[Any], Any]) -> Any:
        """`function(self)`, for a linear function without numbers in it."""
        return function(self)

    @staticmethod
    def frozen(constant: Primal, tag: Tag) -> Primal:
        """A constant operand, an array or a list of arrays, as the linear maps can use it later."""
        return constant

    def lifted(self, constant: Primal) -> Any:
        """A constant float or array as a number of the same derivative, with derivative zero."""
        raise NotImplementedError

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any = None) -> Any:
        """Carry out a structured operation whose newest operand is this number."""
        raise NotImplementedError

    def constant(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function whose answer has no derivative. This number is the newest among the arguments."""
        raise NotImplementedError

    def taken(self, index: Any) -> Any:
        """A copy of the part `index`."""
        raise NotImplementedError

    def is_selected(self) -> bool:
        """Whether the array is a whole memory, or has the very elements of a part of one."""
        return True

    def show(self) -> None:
        """Note that the program has the plain array of this number, and sees every change of its memory."""

    def write(self, index: Any, item: Any) -> None:
        """Write the value and the derivative of `item`, a constant or a number that is not newer, to the part `index`.

        All views of the array see the change. No position may be in `index` twice.
        """
        raise NotImplementedError


def plain_value(x: Any) -> Primal:
    """The plain value of a number at any level of nesting; anything else is returned as it is."""
    while issubclass(type(x), Number):
        x = x.primal
    return x


def single_value(x: Any) -> Any:
    """The plain value of a number, or the stack that it holds, as a stack has many values."""
    while issubclass(type(x), Number) and x.has_one_value:
        x = x.primal
    return x


def is_double(x: Any) -> bool:
    """Whether `x` is a scalar in double precision, or a number whose value is one."""
    kind = type(x)
    if kind in DOUBLES:
        return True
    if not issubclass(kind, Number):
        return False
    return bool(x.has_one_value) and is_double(x.primal)


def is_stack_of_doubles(x: Any) -> bool:
    """Whether `x` is a stack of scalars in double precision."""
    if not issubclass(type(x), Number) or x.has_one_value:
        return False
    rows = x.inside
    return type(rows) is np.ndarray and rows.ndim == 1 and rows.dtype is FLOAT64


def rows_of(x: Any) -> Any:
    """The plain array of the rows of a stack; None for anything else."""
    if not issubclass(type(x), Number) or x.has_one_value:
        return None
    rows = x.inside
    return rows if type(rows) is np.ndarray else None


def levels_of(x: Any) -> Iterator[Number]:
    """`x` and the numbers inside it, from the newest level to the oldest."""
    while issubclass(type(x), Number):
        yield x
        x = x.inside


def tags_of(x: Any) -> set[Any]:
    """The tags of all levels of a number; none for anything else. A staged value counts as the oldest level."""
    tags: set[Any] = set()
    while issubclass(type(x), Number):  # to ask a staged value for its class takes time
        tags.add(x.tag)
        x = x.inside
    if issubclass(type(x), StagedValue):
        tags.add(StagedValue)
    return tags


def lacks(x: Any, tags: set[Any]) -> bool:
    """Whether `x` lacks a level, so that a number with all of these tags cannot be written to it."""
    missing = tags - tags_of(x)
    if missing:
        absorbing = [number.tag.serial for number in levels_of(x) if number.absorbs]
        return not absorbing or any(tag is not StagedValue and tag.serial > absorbing[0] for tag in missing)
    return False


def innermost(x: Any) -> Primal:
    """What a number holds at its oldest level: a float or an array. A stack holds the array of its rows."""
    while issubclass(type(x), Number):  # to ask a staged value for its class takes time
        x = x.inside
    return x


def in_memory(x: Any) -> Any:
    """What a number holds at its oldest level, as it lies in memory. Only its type and layout may be looked at."""
    while issubclass(type(x), Number):
        x = x.inside
    return x.inside if issubclass(type(x), Wrapped) else x


def is_view(y: Any, x: Any) -> bool:
    """Whether the array of `y` lies in the memory of the array of `x`, as a view does. Both may be plain arrays."""
    if type(y) is not ndarray:
        y = y.inside if issubclass(type(y), Number) else y  # the usual case, without a call
        if type(y) is not ndarray and type(y := in_memory(y)) is not ndarray:
            return False
    base = y.base
    if base is None:
        return False
    if type(x) is not ndarray:
        x = x.inside if issubclass(type(x), Number) else x
        if type(x) is not ndarray and type(x := in_memory(x)) is not ndarray:
            return base is x
    return base is x or base is x.base


def put(array: Any, index: Any, item: Any) -> None:
    """Write to a part of an array or number. The caller knows that the array may be written to."""
    if isinstance(array, Number):
        array.write(index, item)
    else:
        array[index] = item


def copied_part(array: Any, index: Any) -> Any:
    """A copy of a part of an array or number."""
    part = array.taken(index) if isinstance(array, Number) else array[index]
    if type(part) is np.ndarray:
        return part.copy() if part.base is not None else part
    return np.copy(part) if is_staged(part) and type(part.inside) is np.ndarray else part


def with_levels_of(array: Any, *xs: Any) -> Any:
    """The array as a number of all levels of `xs`, so that these can be written to it. The array itself is used up."""
    for x in xs:
        if not isinstance(x, (Number, StagedValue)):
            continue
        oldest = innermost(x)
        if is_staged(oldest) and type(innermost(array)) is np.ndarray:
            if type(array) is np.ndarray:
                array = oldest.adopt(array)
            elif type(array) in STACKS and type(array.inside) is np.ndarray:
                array = array.like(oldest.adopt(array.inside))
            else:
                array = _sum(array, oldest.adopt(zeros_alike(array)))
        known, levels = tags_of(array), list(levels_of(x))
        if not lacks(array, {number.tag for number in levels}):
            continue
        lifted = _zeros_like_one(array) if known else array
        for number in reversed(levels):
            lifted = number.lifted(lifted)
        array = _sum(array, lifted) if known else lifted
    return array


def _sum(x: Any, y: Any) -> Any:
    """The sum of two arrays, always an array: NumPy makes a scalar of a sum without dimensions."""
    return x + y if shape_of(x) else np.copy(x + y)


def _zeros_like_one(x: Any) -> Any:
    """A plain array of zeros that lies in memory as the array of `x` does; for a stack, as one of its rows does."""
    plain, shape = innermost(x), shape_of(x)
    if type(plain) is not np.ndarray:
        return np.zeros(shape, dtype_of(x))
    return np.zeros_like(plain[(0,) * (plain.ndim - len(shape))], dtype_of(x), subok=False)


def zeros_alike(x: Any) -> Any:
    """A plain array of zeros that lies in memory as the array of `x` does, so that both have the same views."""
    return np.zeros_like(innermost(x), dtype_of(x), subok=False)


def is_open(x: Any) -> bool:
    """Whether some level of the number `x` is still being differentiated."""
    return any(number.tag.is_open for number in levels_of(x))


def has_number(argument: Any) -> bool:
    """Whether there is a number in an argument: itself, or in a list or tuple, nested or not."""
    kind = type(argument)  # to ask a number, or a staged value, for its class takes time
    if not issubclass(kind, SEQUENCES):
        return issubclass(kind, Number)
    for part in argument:
        kind = type(part)
        if issubclass(kind, Number) or (issubclass(kind, SEQUENCES) and has_number(part)):
            return True
    return False


def numbers_in(argument: Any) -> list[Number]:
    """The numbers in an argument."""
    kind = type(argument)
    if issubclass(kind, Number):
        return [argument]
    return [number for element in argument for number in numbers_in(element)] if issubclass(kind, SEQUENCES) else []


def map_numbers(function: Callable[[Any], Any], arg: Any) -> Any:
    """An argument with `function` applied to every number in it. Nested lists and tuples become lists."""
    if isinstance(arg, Number):
        return function(arg)
    return [map_numbers(function, element) for element in arg] if has_number(arg) else arg


def newest(numbers: list[Number]) -> Number:
    """The number with the newest tag: an operation on these numbers belongs to it."""
    first = numbers[0]
    for number in numbers:
        if number.tag.serial > first.tag.serial:
            first = number
    return first


def one_level_below(arg: Any, tag: Tag) -> Any:
    """An argument as the rule gets it: numbers with this tag replaced by their primals."""
    return map_numbers(lambda x: x.primal if x.tag is tag else x, arg)


# One particular float: `adjoint + c` works from the start, and `adjoint is ZERO` means "never touched". The difference
# matters where nobody used a result: zero times an infinite partial would be NaN.
ZERO: float = float("0")
