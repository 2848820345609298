"""Elementwise steps on arrays of one shape share a loop, as long as they follow one another."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    refuse,
)
from shiftreset_ad.staging.native.loops import Operand, Round, operand
from shiftreset_ad.staging.native.operations import AS_IT_IS, OPERATIONS, Emit
from shiftreset_ad.staging.steps.functions import method
from shiftreset_ad.staging.steps.trace import Step
from shiftreset_ad.staging.steps.values import Staged, is_staged, unstaged

# What NumPy does for the power of an array by a number.
POWERS: dict[float, Any] = {1.0: np.positive, 2.0: np.square, 0.5: np.sqrt, -1.0: np.reciprocal}
FILLED = {np.zeros_like: 0.0, np.ones_like: 1.0}
CONVERSIONS = (astype, method("astype"))


class Member(NamedTuple):
    """A step in a loop: its arguments, its code, and the answer that was recorded."""

    place: int
    args: tuple[Any, ...]
    emit: Emit
    answer: ndarray[Any, Any]


class Fusion:
    """The elementwise steps that wait for their loop."""

    __slots__ = ("members",)

    def __init__(self) -> None:
        self.members: list[Member] = []

    def fits(self, answer: ndarray[Any, Any]) -> bool:
        """Whether a step with this answer may join the loop."""
        return not self.members or self.members[0].answer.shape == answer.shape

    def has(self, place: int) -> bool:
        """Whether the array at a place is made in the loop."""
        return any(member.place == place for member in self.members)

    def write(self, code: Code, address: Callable[[Any], str], stored: dict[int, str]) -> None:
        """Write the loop. `address` gives the address of an array, and `stored` that of each answer needed later."""
        members, self.members = self.members, []
        made = {member.place for member in members}
        operands: dict[Any, Operand] = {}
        for member in members:
            with _refused_for(member):
                for arg in member.args:
                    key, value = (code.place(arg), arg.inside) if type(arg) is Staged else (id(arg), arg)
                    if isinstance(value, ndarray) and value.shape and key not in made and key not in operands:
                        if form_of(value) != ARRAY:
                            refuse(f"it computes with {described(value)}")
                        operands[key] = operand(address(arg), value)
        answers = {m.place: operand(stored[m.place], m.answer) for m in members if m.place in stored}
        turn = Round(code, members[0].answer.shape, operands, answers)
        for member in members:
            element = member.answer.flat[0]
            with _refused_for(member):
                text = member.emit(turn, member.args, element)
            turn.known[member.place] = Value(text, f"{form_of(element)}")
            if member.place in stored:
                turn.store(member.place, turn.known[member.place])
        turn.write(new=stored.values())


@contextmanager
def _refused_for(member: Member) -> Iterator[None]:
    """Have the reason why there is no native form tell of which step."""
    try:
        yield
    except NoNativeFormError as error:
        error.place = member.place
        raise


def elementwise(step: Step, args: tuple[Any, ...], answer: Any) -> Member | None:
    """The step as a part of a loop; None if it is not one that goes element by element in LLVM's language."""
    function, args = step.function, tuple(map(_in_doubles, args))
    if form_of(answer) != ARRAY or answer.dtype == np.int64:  # integers of an array wrap without a warning
        return None
    if function in FILLED and answer.dtype == np.float64 and not is_staged([args[1:], *step.kwargs.values()]):
        return Member(step.place, (), lambda code, args, _: double(FILLED[function]), answer)
    if step.kwargs:
        return None
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
