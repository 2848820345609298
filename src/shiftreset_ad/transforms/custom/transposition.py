"""The transpose of a linear function that is given as code.

The derivative of a linear function is the same at every place: it is the function itself. The way back through it is
the transpose. The function is recorded at no particular place: its arguments have a shape, and no value. So it is an
error if the code branches on a value, or if it is not linear, as its derivative would depend on the place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from shiftreset_ad.boundary.arguments import all_of
from shiftreset_ad.modes.reverse.recording import Recording
from shiftreset_ad.numbers.dispatch import name_of
from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.numbers.installing import install_operators
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.number import Number, map_numbers, newest, tags_of
from shiftreset_ad.numbers.operands import as_operand
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import Elementwise, Structured
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.rules.building import SEQUENCES
from shiftreset_ad.rules.numpy.shapes import OF_THE_SHAPE
from shiftreset_ad.transforms.custom.rules import copied
from shiftreset_ad.transforms.directions import Linear


def transpose(operator: str, linear: Linear, like: list[Any], purpose: str) -> Linear:
    """The transpose of `linear`, which takes a direction for each of the numbers `like`.

    `linear` runs once, here. The transpose may be called any number of times. In its cotangents, and in the answers of
    `linear`, None stands for zero. `purpose` says what the transpose is for; every error has it as a note.
    """
    tag = Tag.around(x.tag.level for x in like if isinstance(x, Number))
    anywhere = [UnknownDirection(np.zeros(shape_of(x), dtype_of(x))[()], tag) for x in like]

    def answered(*directions: Any) -> list[Any]:
        return [0.0 if answer is None else answer for answer in linear(list(map(copied, directions)))]

    def require_linear(holds: bool) -> None:
        if not holds:
            raise TypeError(f"{operator} is not linear. {purpose}")

    recording = explaining(purpose, Recording, operator, answered, all_of(operator, anywhere))
    require_linear(all(map(is_zero, recording.answers)))

    def transposed(cotangents: list[Any]) -> list[Any]:
        answers: list[Any] = explaining(purpose, recording.pull, cotangents)
        require_linear(not any(depends_on(answer, tag) for answer in answers))
        return answers

    return transposed


def explaining(purpose: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call `function`, and add a note to its errors that says what for."""
    try:
        return function(*args)
    except Exception as error:
        error.add_note(purpose)
        raise


def is_zero(answer: Any) -> bool:
    """Whether an answer may be zero where the directions are zero. NaN, which is zero times infinity, says nothing."""
    found = stand_in(answer)
    return not np.any((found != 0) & (found == found))


def depends_on(x: Any, tag: Tag) -> bool:
    """Whether some level of `x` has this tag."""
    return tag in tags_of(x)


def stand_in(x: Any) -> Any:
    """The plain value of a number, or zeros if it has none: nothing is differentiated here."""
    while isinstance(x, Number):
        x = x.zeros if type(x) is UnknownDirection else x.primal
    return x


class UnknownDirection(ArrayNumber):
    """A direction without a value. Linear code makes zeros of its `zeros`, and they have the right shape and dtype."""

    __slots__ = ("tag", "zeros")
    absorbs = True

    def __init__(self, zeros: Any, tag: Tag) -> None:
        self.zeros = zeros
        self.tag = tag

    shape = property(lambda self: shape_of(self.zeros), doc="Of the direction.")
    dtype = property(lambda self: dtype_of(self.zeros), doc="Of the direction.")

    @property
    def primal(self) -> NoValue:
        """The stand-in for the value."""
        return NoValue(shape_of(self.zeros), dtype_of(self.zeros))

    @property
    def inside(self) -> Any:
        return self.zeros

    def taken(self, index: Any) -> Any:
        return self[index]

    def write(self, index: Any, item: Any) -> None:
        """Nothing changes: what is written is zero."""

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any = None) -> Any:
        given = [map_numbers(stand_in, arg) for arg in args]
        named = {name: map_numbers(stand_in, arg) for name, arg in kwargs.items()}
        if rule.linear:  # by the rule, which makes a view where NumPy makes one
            answer, _ = quietly(rule.differentiate, *given, **named)
        else:
            answer = quietly(rule.function, *given, **named)
        if isinstance(answer, SEQUENCES):
            return type(answer)([UnknownDirection(part, self.tag) for part in answer])
        return UnknownDirection(answer, self.tag)

    def lifted(self, constant: Any) -> UnknownDirection:
        return UnknownDirection(constant, self.tag)


class NoValue:
    """The stand-in for a value: it has a shape and a dtype, and every other question is an error."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    def __len__(self) -> int:
        return len(np.empty(self.shape, self.dtype))

    def __iter__(self) -> Iterator[NoValue]:
        return (NoValue(self.shape[1:], self.dtype) for _ in range(len(self)))

    def __repr__(self) -> str:
        return f"a direction of shape {self.shape}"

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function not in OF_THE_SHAPE:
            self.refuse(name_of(function))
        return function(*map(of_its_shape, args), **{name: of_its_shape(x) for name, x in kwargs.items()})

    def __array_ufunc__(self, ufunc: np.ufunc, *args: Any, **kwargs: Any) -> NoReturn:
        self.refuse(name_of(ufunc))

    def refuse(self, *what: Any) -> NoReturn:
        """Raise TypeError."""
        asked = f" by {what[0]}" if what and isinstance(what[0], str) else ""
        raise TypeError(
            f"the value of a tangent or cotangent was asked for{asked}, and it has none here: a derivative is linear "
            "in it, and must hold for all its values. Multiply by it and add, and do not branch on it"
        )

    size = property(lambda self: math.prod(self.shape), doc="As of an array.")
    __bool__ = __float__ = __int__ = __complex__ = __array__ = __hash__ = __getitem__ = __format__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = refuse
    __floordiv__ = __rfloordiv__ = __round__ = __trunc__ = __floor__ = __ceil__ = refuse


def of_its_shape(x: Any) -> Any:
    """An array with the shape and the dtype of a value that is not there; anything else as it is."""
    return np.empty(x.shape, x.dtype) if type(x) is NoValue else x


def quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `function` without NumPy's warnings: zero times infinity is nobody's mistake here."""
    answers: list[Any] = []
    without_warnings(lambda: answers.append(function(*args, **kwargs)))
    return answers[0]


def make_operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The elementwise operation, on zeros."""

    def operate(*operands: Any) -> Any:
        last = newest([x for x in operands if type(x) is UnknownDirection])
        given = [x if type(x) is UnknownDirection else as_operand(x, last, function) for x in operands]
        if any(x is NotImplemented for x in given):
            return NotImplemented
        return UnknownDirection(quietly(function, *map(stand_in, given)), last.tag)

    return operate


install_operators(UnknownDirection, make_operation)
