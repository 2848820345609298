"""A step: one operation of a derivative, as handlers and traces see it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from shiftreset_ad.boundary.places import OperationPlace, position
from shiftreset_ad.debugging.finite import adjoint_of
from shiftreset_ad.modes.reverse.adjoints import settle
from shiftreset_ad.modes.reverse.unsettled import Held
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.building import OBJECT


class Step:
    """An operation of a derivative.

    `name` is what the program called, as `*` or `numpy.sin`, and `part_of` is the name of a larger operation that it is
    a part of. `filename`, `lineno` and `line` are the place in the program. `level` says how deep the derivative is
    nested, from 1. `during` is the step that the way back of a newer derivative was going through, or None.
    """

    def __init__(
        self,
        *,
        name: str,
        part_of: str,
        place: OperationPlace,
        level: int,
        during: Step | None,
        given: Sequence[Any],
        answers: Sequence[Any],
        active: Sequence[Any],
        written: Any = None,
    ) -> None:
        self.name = name
        self.part_of = part_of
        self.filename, self.lineno, self.line = ("", 0, "") if place.line is None else position(place.line)
        self.level = level
        self.during = during
        self.given = [x for x in given if type(x) is not bool]  # without options of functions
        self.answers = answers
        self.active = active
        self._written = written

    def __repr__(self) -> str:
        return f"<{self.name or 'an operation'} at level {self.level}, line {self.lineno}: {self.line}>"

    @property
    def value(self) -> Any:
        """The plain value of the answer, or of what is written; a list of values if there are several answers."""
        if self._written is not None:
            return plain(self._written)
        return one_or_all([plain(y) for y in self.answers])

    @property
    def operands(self) -> list[Any]:
        """The plain values of what the operation was applied to."""
        return [plain(x) for x in self.given]

    @property
    def shape(self) -> Any:
        """The shape of the answer; a list of shapes if there are several answers."""
        return one_or_all([shape_of(y) for y in self.answers])

    @property
    def adjoint(self) -> Any:
        """The plain value of the adjoint of the answer at present; None if it is zero, or there are no adjoints."""
        return one_or_all([present_adjoint(y) for y in self.answers])

    @property
    def adjoints_of_operands(self) -> list[Any]:
        """The present adjoints of the numbers that the operation adds to on the way back."""
        return [present_adjoint(x) for x in self.active]


def one_or_all(items: list[Any]) -> Any:
    """The item, if it is the only one."""
    return items[0] if len(items) == 1 else items


def plain(x: Any) -> Any:
    """The plain value of a number: of the constant coefficient of a series, and of all rows of a stack."""
    while isinstance(x, Number):
        coefficients = getattr(x, "coefficients", None)
        x = x.inside if coefficients is None else coefficients[0]
    return PLAIN_OF_EACH(x) if isinstance(x, np.ndarray) and x.dtype is OBJECT else x


PLAIN_OF_EACH = np.frompyfunc(plain, 1, 1)  # of the numbers in an array of objects


def present_adjoint(x: Any) -> Any:
    """The plain value of the adjoint of a number at present, which is not changed by looking; None if it is zero."""
    if "adjoint" not in getattr(type(x), "__slots__", ()):
        return None
    adjoint = adjoint_of(x)
    if type(adjoint) is Held:  # contributions to parts; they are summed in a copy, in plain values
        copy = adjoint.copied()
        copy.whole = adjoint.whole if adjoint.whole is ZERO else plain(adjoint.whole)
        copy.values = [plain(part) for part in adjoint.values]
        adjoint = settle(SimpleNamespace(primal=plain(x), adjoint=copy, owns=False))
    return None if adjoint is None or adjoint is ZERO else plain(adjoint)
