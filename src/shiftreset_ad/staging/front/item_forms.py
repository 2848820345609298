"""The forms of the items of a growing list: what all items have in common, so that arrays can hold them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray

from shiftreset_ad.numbers.new_arrays import zeros
from shiftreset_ad.staging.control.choosing import PYTHONS_NUMBERS, UNLIKE, likeness, python_number
from shiftreset_ad.staging.front.control_writer import ControlWriter

Form: TypeAlias = Any  # of an item: what its leaves have in common with those of other items, or a tuple of forms
HELD = PYTHONS_NUMBERS | {ndarray, np.float64}
IN_FLOATS = {int, np.float64}  # they are read as Python's floats where other items are floats


@dataclass(frozen=True)
class Leaf:
    """What the leaves at one place of all items have in common."""

    likeness: Any

    @property
    def kind(self) -> Any:
        """The type of the leaves; None if there can be no array of them."""
        if self.likeness is UNLIKE:
            return None
        kind, _, dtype = self.likeness
        return kind if kind in HELD and not dtype.hasobject else None

    def room(self, control: ControlWriter, room: int) -> Any:
        """An array for so many leaves, to which numbers of all derivatives can be written."""
        _, shape, dtype = self.likeness
        array = zeros((room, *shape), dtype)
        return control.adopted(array) if type(array) is ndarray else array

    def read(self, x: Any, place: Any, in_block: bool) -> Any:
        """The leaf at this place of an array, as the program has it."""
        _, shape, _ = self.likeness
        if shape and not in_block:  # a view would have a mask of its own on the way back, which asks for the place
            return np.reshape(x[np.stack([place])], shape)
        if shape:
            return np.copy(x[place])
        return python_number(x[place]) if self.kind in PYTHONS_NUMBERS else x[place]


def form_of(item: Any) -> Form:
    """The form of an item: it may be a number, an array, or a tuple of items."""
    return tuple(map(form_of, item)) if type(item) is tuple else Leaf(likeness(item))


def joined(a: Form | None, b: Form) -> Form | None:
    """The form of items of both forms; None if there is none. The first one may be unknown."""
    if a is None or a == b:
        return b if all(leaf.kind is not None for leaf in leaves_of(b)) else None
    if type(a) is tuple and type(b) is tuple and len(a) == len(b):
        parts = tuple(map(joined, a, b))
        return None if None in parts else parts
    if type(a) is not Leaf or type(b) is not Leaf:
        return None
    kinds = {a.kind, b.kind}
    return form_of(0.0) if kinds & {float, np.float64} and kinds <= {float, *IN_FLOATS} else None


def leaves_of(x: Any) -> list[Any]:
    """The leaves of an item, or of a form."""
    return [leaf for part in x for leaf in leaves_of(part)] if type(x) is tuple else [x]


def filled(form: Form, leaves: Iterator[Any]) -> Any:
    """The item of this form that has these leaves."""
    return tuple([filled(part, leaves) for part in form]) if type(form) is tuple else next(leaves)
