"""`NumR`: a value, and the adjoint that the way back fills in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

from shiftreset_ad.boundary.notes import site_of_structured
from shiftreset_ad.control import GreenletError, Operation, here
from shiftreset_ad.modes.reverse.kept import frozen
from shiftreset_ad.modes.reverse.memory import is_selected, root_of
from shiftreset_ad.modes.reverse.shells import with_shell
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.linear_maps import by_form, by_linear_maps, by_list, by_one
from shiftreset_ad.numbers.memory import block_of
from shiftreset_ad.numbers.number import ZERO
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules import LinearMap, Structured
from shiftreset_ad.rules.annotations import Adjoint, Primal


class NumR(ArrayNumber):
    """A value in reverse mode: its `primal`, the `adjoint` that the way back fills in, and the `tag` of its `grad`."""

    __slots__ = ("adjoint", "owns", "primal", "tag")
    owns: bool  # nothing else sees the array of the adjoint
    takes_maps = True

    def __init__(self, primal: Primal, adjoint: Adjoint, tag: Tag) -> None:
        self.primal = primal
        self.adjoint = adjoint
        self.tag = tag

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any], form: Any = None) -> Any:
        # An error on the way back names the site. To find the line takes 0.2 us: too much for a cheap linear function.
        self.tag.site = rule.function if rule.linear else site_of_structured(rule.function, sys._getframe(3))
        if form is not None:  # the usual case, for speed
            by = by_one if form.only else by_list if form.has_list else by_form
            return by(self, rule, args, kwargs, form)
        return by_linear_maps(self, rule, args, kwargs)

    frozen = staticmethod(frozen)

    def lifted(self, constant: Primal) -> NumR:
        return of_constant(constant, self.tag)

    def is_selected(self) -> bool:
        return is_selected(self)

    def show(self) -> None:
        if self.tag.is_open:
            self.tag.shown[id(block_of(self))] = root_of(self)


NumR.inside = NumR.primal  # type: ignore[method-assign,misc]  # as a slot, which takes no call


# The active operands of an operation, each with its linear map
Active: TypeAlias = "Sequence[tuple[NumR, LinearMap]]"


class ReverseTag(Tag):
    """The tag of one call of a derivative operator in reverse mode."""

    __slots__ = ()

    def lift(self, array: Any) -> NumR:
        return of_constant(array, self)


def capture(tag: Tag, operation: Operation) -> None:
    """Leave the program for the handler of `tag`, and come back when the handler has kept the operation."""
    try:
        if tag.capture(here(), operation):
            raise tag.misplaced()
    except GreenletError:
        raise tag.misplaced() from None


def of_constant(constant: Primal, tag: Tag) -> NumR:
    """A constant float or array as a number, which can be written to."""
    y = NumR(constant, ZERO, tag)
    waiting = with_shell(y)
    if tag.recorded:  # each way back then clears the adjoint of y
        capture(tag, (of_no_operand, waiting))
    return y


def of_no_operand(operation: Operation) -> None:
    """The way back of a constant: nobody gets its adjoint."""
