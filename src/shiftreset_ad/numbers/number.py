"""What every number is: a value one level below, and the tag of the derivative that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import LinearMap, Structured
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.stand_ins import StagedValue, Wrapped, is_staged

SEQUENCES = (list, tuple)


class Number:
    """A float or an array that is being differentiated: a `primal` one level below, and the `tag` of its level."""

    __slots__ = ()

    primal: Primal
    tag: Tag
    operations: ClassVar[dict[Callable[..., Any], Callable[..., Any]]]
    absorbs: ClassVar[bool] = False  # whether older numbers can be written to it as it is

    @property
    def inside(self) -> Primal:
        """What the number holds, one level below."""
        return self.primal

    @staticmethod
    def linearized(tag: Tag, answer: Primal, active: list[tuple[Any, LinearMap]]) -> Any:
        """The number for the `answer` of an operation that has this linear map for each `active` operand."""
        raise NotImplementedError

    @staticmethod
    def frozen(constant: Primal, tag: Tag) -> Primal:
        """A constant operand, an array or a list of some, as it is to be kept for a later use of the linear maps."""
        return constant

    def lifted(self, constant: Primal) -> Any:
        """A constant float or array as a number of the same derivative, with derivative zero."""
        raise NotImplementedError

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Carry out a structured operation whose newest operand is this number."""
        raise NotImplementedError

    def constant(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function whose answer has no derivative; the newest number among the arguments is this one."""
        raise NotImplementedError

    def taken(self, index: Any) -> Any:
        """A copy of the part `index`."""
        raise NotImplementedError

    def is_selected(self) -> bool:
        """Whether the array is a whole memory, or has the very elements of a part of one."""
        return True

    def show(self) -> None:
        """Note that the program has the plain array of this number, and so sees what becomes of its memory."""

    def write(self, index: Any, item: Any) -> None:
        """Have the value and the derivative of `item`, a number that is not newer or a constant, in the part `index`.

        The memory of the array is written to, and so all views of it. No position may be in `index` twice.
        """
        raise NotImplementedError


def plain_value(x: Any) -> Primal:
    """The plain value of a number at any level of nesting; anything else is returned as it is."""
    while isinstance(x, Number):
        x = x.primal
    return x


def is_double(x: Any) -> bool:
    """Whether `x` is a scalar in double precision, or a number whose value is one."""
    kind = type(x)
    if kind is float or kind is np.float64:
        return True
    if not isinstance(x, Number):
        return False
    try:
        return is_double(x.primal)
    except TypeError:  # it has no single value
        return False


def levels_of(x: Any) -> Iterator[Number]:
    """`x` and what is inside of it, as long as these are numbers."""
    while isinstance(x, Number):
        yield x
        x = x.inside


def tags_of(x: Any) -> set[Any]:
    """The tags of all levels of a number; none of anything else. What is staged counts as one more, the oldest."""
    tags: set[Any] = set()
    while isinstance(x, Number):
        tags.add(x.tag)
        x = x.inside
    if is_staged(x):
        tags.add(StagedValue)
    return tags


def lacks(x: Any, tags: set[Any]) -> bool:
    """Whether numbers that have all of these tags cannot be written to `x`, as it lacks a level."""
    missing = tags - tags_of(x)
    if missing:
        absorbing = [number.tag.serial for number in levels_of(x) if number.absorbs]
        return not absorbing or any(tag is not StagedValue and tag.serial > absorbing[0] for tag in missing)
    return False


def innermost(x: Any) -> Primal:
    """What a number holds at its oldest level: a float or an array, of a stack the array of its rows."""
    while isinstance(x, Number):
        x = x.inside
    return x


def in_memory(x: Any) -> Any:
    """What a number holds at its oldest level, as it lies in memory: only its type and layout may be looked at."""
    while isinstance(x, Number):
        x = x.inside
    return x.inside if issubclass(type(x), Wrapped) else x


def is_view(y: Any, x: Any) -> bool:
    """Whether the array that `y` is or holds lies in the memory of the one that `x` is or holds, as a view does."""
    if type(y) is not np.ndarray and type(y := in_memory(y)) is not np.ndarray:
        return False
    base = y.base
    if base is None:
        return False
    if type(x) is not np.ndarray:
        x = in_memory(x)
    return base is x or (type(x) is np.ndarray and base is x.base)


def put(array: Any, index: Any, item: Any) -> None:
    """Write to a part of an array or number, of which the caller knows that it may be written to."""
    if isinstance(array, Number):
        array.write(index, item)
    else:
        array[index] = item


def copied_part(array: Any, index: Any) -> Any:
    """A part of an array or number, and no view of it."""
    part = array.taken(index) if isinstance(array, Number) else array[index]
    if type(part) is np.ndarray:
        return part.copy() if part.base is not None else part
    return np.copy(part) if is_staged(part) else part


def with_levels_of(array: Any, *xs: Any) -> Any:
    """An array, which is used up, as a number of all the levels that these have, so that they can be written to it."""
    for x in xs:
        if not isinstance(x, (Number, StagedValue)):
            continue
        oldest = innermost(x)
        if is_staged(oldest) and type(innermost(array)) is np.ndarray:
            array = oldest.adopt(array) if type(array) is np.ndarray else _sum(array, oldest.adopt(zeros_alike(array)))
        known, levels = tags_of(array), list(levels_of(x))
        if not lacks(array, {number.tag for number in levels}):
            continue
        lifted = _zeros_like_one(array) if known else array
        for number in reversed(levels):
            lifted = number.lifted(lifted)
        array = _sum(array, lifted) if known else lifted
    return array


def _sum(x: Any, y: Any) -> Any:
    """The sum of two arrays, an array without dimensions, too, of which NumPy makes a scalar."""
    return x + y if shape_of(x) else np.copy(x + y)


def _zeros_like_one(x: Any) -> Any:
    """A plain array of zeros that lies in memory as the array of `x` does, or as one of its rows where it has many."""
    plain, shape = innermost(x), shape_of(x)
    if type(plain) is not np.ndarray:
        return np.zeros(shape, dtype_of(x))
    return np.zeros_like(plain[(0,) * (plain.ndim - len(shape))], dtype_of(x), subok=False)


def zeros_alike(x: Any) -> Any:
    """A plain array of zeros that lies in memory as the array of `x` does, so that what is a view there is one here."""
    return np.zeros_like(innermost(x), dtype_of(x), subok=False)


def is_open(x: Any) -> bool:
    """Whether some level of the number `x` is still being differentiated."""
    return any(number.tag.is_open for number in levels_of(x))


def has_number(argument: Any) -> bool:
    """Whether there is a number in an argument: itself, or in a list or tuple, nested or not."""
    return isinstance(argument, Number) or (isinstance(argument, SEQUENCES) and any(map(has_number, argument)))


def numbers_in(argument: Any) -> list[Number]:
    """The numbers in an argument."""
    if isinstance(argument, Number):
        return [argument]
    return [number for part in argument for number in numbers_in(part)] if isinstance(argument, SEQUENCES) else []


def map_numbers(function: Callable[[Any], Any], arg: Any) -> Any:
    """An argument with `function` applied to every number in it, in nested lists and tuples too, which become lists."""
    if isinstance(arg, Number):
        return function(arg)
    return [map_numbers(function, part) for part in arg] if has_number(arg) else arg


def newest(numbers: list[Number]) -> Number:
    """The number that an operation on these belongs to."""
    first = numbers[0]
    for number in numbers:
        if number.tag.serial > first.tag.serial:
            first = number
    return first


def one_level_below(arg: Any, tag: Tag) -> Any:
    """An argument as it is for the rule: numbers with this tag replaced by their primals."""
    return map_numbers(lambda x: x.primal if x.tag is tag else x, arg)


# A float that is one of a kind: `adjoint + c` works from the start, and `adjoint is ZERO` tells "never touched", which
# matters where zero times an infinite partial would give a NaN for a result that nobody used.
ZERO: float = float("0")
