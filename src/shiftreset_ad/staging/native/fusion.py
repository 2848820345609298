"""Elementwise steps on arrays of one shape share a loop, as long as they follow one another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    Code,
    NoNativeFormError,
    Value,
    described,
    double,
    form_of,
    is_table,
    literal,
    refuse,
)
from shiftreset_ad.staging.native.loops import Round, operand
from shiftreset_ad.staging.native.operations import AS_IT_IS, OPERATIONS, Emit
from shiftreset_ad.staging.native.sharing import Alone, Param, call_loop
from shiftreset_ad.staging.steps.functions import method
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

# What NumPy does for the power of an array by a number.
POWERS: dict[float, Any] = {1.0: np.positive, 2.0: np.square, 0.5: np.sqrt, -1.0: np.reciprocal}
FILLED = {np.zeros_like: 0.0, np.ones_like: 1.0}
FILLS: dict[float, Emit] = {x: partial(lambda x, *_: double(x), x) for x in FILLED.values()}
CONVERSIONS = (astype, method("astype"))


class Member(NamedTuple):
    """A step in a loop: its arguments, its code, and the answer that was recorded."""

    place: int
    args: tuple[Any, ...]
    emit: Emit
    answer: ndarray[Any, Any]


class Fusion:
    """The elementwise steps that wait for their loop, and the `places` of their answers."""

    __slots__ = ("members", "places")

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.places: set[int] = set()

    def add(self, member: Member) -> None:
        """Let a step wait."""
        self.members.append(member)
        self.places.add(member.place)

    def fits(self, answer: ndarray[Any, Any]) -> bool:
        """Whether a step with this answer may join the loop."""
        return not self.members or self.members[0].answer.shape == answer.shape

    def write(self, code: Code, address: Callable[[Any], str], stored: dict[int, str], is_long: bool = False) -> None:
        """Write the loop. `address` gives the address of an array, and `stored` that of each answer needed later.

        In code that `is_long`, what may be loops of their own is apart.
        """
        members, self.members, self.places = self.members, [], set()
        for part in apart(members, code) if is_long else [members]:
            _Loop(part, code, address, stored).write()


class _Loop:
    """Steps that share a loop. What they are is a key, by which loops that are alike find their function."""

    def __init__(
        self, members: list[Member], code: Code, address: Callable[[Any], str], stored: dict[int, str]
    ) -> None:
        self._members = members
        self._code = code
        self._address = address
        self._numbers: dict[int, tuple[int, Value]] = {}  # from outside, by their places, with their order
        self._operands: dict[Any, tuple[int, str, ndarray[Any, Any]]] = {}  # their order, addresses and examples
        self._answers = {m.place: (stored[m.place], m.answer) for m in members if m.place in stored}
        self._made: dict[int, int] = {}
        keys = []
        for member in members:
            try:
                args = tuple([self._key(arg) for arg in member.args])
            except NoNativeFormError as error:
                error.place = member.place  # which tells of which step
                raise
            self._made[member.place] = len(self._made)
            keys.append((member.emit, args, member.answer.dtype.char, member.place in stored))
        arrays = [*[x for _, _, x in self._operands.values()], *[x for _, x in self._answers.values()]]
        layouts = tuple([(x.shape, x.strides, x.dtype.char) for x in arrays])
        self._is_known = not any(None in args for _, args, _, _ in keys)
        self._loop = members[0].answer.shape, tuple(keys), layouts

    def _key(self, x: Any) -> Any:
        """What an argument is in the loop; None if it is nothing that can be compared."""
        key, value = (self._code.place(x), x.inside) if type(x) is Staged else (id(x), x)
        if key in self._made:
            return "made", self._made[key]
        if isinstance(value, ndarray) and value.shape:
            if key not in self._operands:
                if form_of(value) != ARRAY:
                    refuse(f"it computes with {described(value)}")
                self._operands[key] = len(self._operands), self._address(x), value
            return "array", self._operands[key][0]
        if type(x) is Staged:
            if key not in self._numbers:
                self._numbers[key] = len(self._numbers), self._code.value(x)
            number, text = self._numbers[key]
            return "number", number, text.form, self._code.types(x)
        return None if form_of(x) is None else (type(x), literal(x).text)

    def write(self) -> None:
        """Write the call of the loop's function."""
        params = [Param(ARRAY, address) for _, address, _ in self._operands.values()]
        params += [Param(ARRAY, address, is_new=True) for address, _ in self._answers.values()]
        params += [Param(number.form, number.text) for _, number in self._numbers.values()]
        first = len(self._operands) + len(self._answers)
        numbers = {key: Value(f"%p{first + i}", x.form) for key, (i, x) in self._numbers.items()}
        call_loop(self._code, self._loop if self._is_known else None, params, numbers, self._write_to)

    def _write_to(self, alone: Alone) -> None:
        """Write the loop to the function of its own."""
        operands = {key: operand(f"%p{i}", x) for key, (i, _, x) in self._operands.items()}
        first, stored = len(operands), enumerate(self._answers.items())
        answers = {place: operand(f"%p{first + i}", x) for i, (place, (_, x)) in stored}
        turn = Round(alone, self._members[0].answer.shape, operands, answers)
        for member in self._members:
            element = member.answer.flat[0]
            with refused_for(member.place):
                text = member.emit(turn, member.args, element)
            turn.known[member.place] = Value(text, f"{form_of(element)}")
            if member.place in answers:
                turn.store(member.place, turn.known[member.place])
        turn.write()


def apart(members: list[Member], code: Code) -> list[list[Member]]:
    """The parts of a loop of which none takes what another one makes. Each can be a loop of its own.

    Nodes of a tree that wait for one another share no value. In one loop, each number of nodes would be a loop that no
    other is like, with as many arrays. What such parts gain by one loop is that they share the reads of their operands.
    """
    of: dict[int, list[int]] = {}  # the part that has a place, as the numbers of its members
    for i, member in enumerate(members):
        part = [i]
        for x in member.args:
            other = of.get(code.place(x), part) if type(x) is Staged else part
            if other is not part:
                part, other = (other, part) if len(other) > len(part) else (part, other)
                part += other
                of.update((members[number].place, part) for number in other)
        of[member.place] = part
    return [[members[number] for number in sorted(part)] for part in {id(part): part for part in of.values()}.values()]


@contextmanager
def refused_for(place: int) -> Iterator[None]:
    """Have the reason why there is no native form tell of which step."""
    try:
        yield
    except NoNativeFormError as error:
        if error.place is None:
            error.place = place
        raise


def elementwise(step: Step, args: tuple[Any, ...], answer: Any) -> Member | None:
    """The step as a part of a loop; None if it is not one that goes element by element in LLVM's language."""
    function = step.function
    if form_of(answer) != ARRAY or answer.dtype == np.int64:  # integers of an array wrap without a warning
        return None
    if function in FILLED and answer.dtype == np.float64 and not is_staged([args[1:], *step.kwargs.values()]):
        return Member(step.place, (), FILLS[FILLED[function]], answer)
    if step.kwargs:
        return None
    args = tuple([x if type(x) is Staged else _in_doubles(x) for x in args])
    if function in CONVERSIONS and answer.dtype == np.float64 and len(args) == 2:
        return Member(step.place, args[:1], AS_IT_IS, answer)
    is_power = function is operator.pow and not is_table(unstaged(args[0]))
    if is_power and type(args[1]) in (int, float) and args[1] in POWERS:
        return Member(step.place, args[:1], OPERATIONS[POWERS[args[1]]], answer)
    if function is operator.pow or function not in OPERATIONS:
        return None
    return Member(step.place, args, OPERATIONS[function], answer)


def _in_doubles(x: Any) -> Any:
    """A constant array of other numbers as one of doubles, to which NumPy converts it."""
    is_other = isinstance(x, ndarray) and x.dtype.kind in "iuf" and x.dtype != np.float64
    return x.astype(np.float64) if is_other else x
