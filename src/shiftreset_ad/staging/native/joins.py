"""Where rounds and branches meet: their values in one form, and their arrays in one layout."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy import ndarray

from shiftreset_ad.staging.native.constants import Constants
from shiftreset_ad.staging.native.layouts import layout_of
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DOUBLE,
    INTEGER,
    TRUTH,
    Value,
    described,
    form_of,
    refuse,
)
from shiftreset_ad.staging.native.loops import Round, operand
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.native.tags import ArgumentTag, is_numpys, tag_at
from shiftreset_ad.staging.native.tape import TapeCode
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.values import Staged, unstaged


class Variable(NamedTuple):
    """The address of what is carried or answered, and its form. An array is like the array that was recorded."""

    name: str
    form: str
    array: Any = None


class JoinCode(TapeCode):
    """The code of a function in which rounds and branches meet.

    An array that is carried or answered lies like the array that was recorded, as later steps go by its layout. Where
    nobody sees the layout (`seen_layouts`), one that comes in another layout is copied.
    """

    __slots__ = ("tagged",)

    def __init__(self, uses: Uses, tagged: set[int], memory: ArrayBlocks, constants: Constants, now: int) -> None:
        super().__init__(uses, memory, constants, now)
        self.tagged = tagged

    @abstractmethod
    def is_layout_seen(self, *places: int) -> bool:
        """Whether a step, or the user, sees in which layout the arrays at these places are."""

    def may_be_moved(self, like: Any, *places: int) -> bool:
        """Whether an array in another layout may be copied to the layout of this one, for these places."""
        like = unstaged(like)
        if not isinstance(like, ndarray) or any(stride <= 0 for stride in like.strides):  # no place for each element
            return False
        return not self.is_layout_seen(*places)

    def in_form(self, x: Any, like: Any, may_be_moved: bool = False) -> Value:
        """An argument in the form of another value."""
        if type(x) is ArgumentTag:
            return Value(self.tag(x.of), TRUTH)
        x, form, value = self.argument(x), form_carried(like), unstaged(x)
        if form_of(value) != form:
            refuse(f"a loop or a branch has {described(value)} for a value of another type")
        if form == ARRAY:
            if lie_alike(value, like):
                return Value(self.address(x), form)
            if not may_be_moved:
                refuse(f"a loop or a branch has {described(value)} for an array with another layout")
            copy = self.aside(unstaged(like))
            self.move(value, self.address(x), unstaged(like), copy)
            return Value(copy, form)
        texts = {DOUBLE: self.double, INTEGER: self.integer, TRUTH: self.truth}
        return Value(texts[form](x), form)

    def move(self, x: ndarray[Any, Any], source: str, like: ndarray[Any, Any], target: str) -> None:
        """Copy an array to an address, in the layout of another array."""
        turn = Round(self, x.shape, {"x": operand(source, x)}, {"y": operand(target, like)})
        turn.store("y", turn.element("x"))
        turn.write()

    def _is_in(self, x: Any, place: int) -> bool:
        """Whether an argument is an array that lies already where the array at a place lies."""
        x = self.argument(x)
        return type(x) is Staged and self.memory.address(self.place(x)) == self.memory.address(place)

    def _placed(self, values: list[Value], xs: Sequence[Any], places: list[int], variables: list[Variable]) -> None:
        """Name arrays that lie where they are carried or answered like the variables, so that nobody copies them."""
        for i, (x, place) in enumerate(zip(xs, places, strict=False)):
            if (array := variables[i].array) is not None and lie_alike(x, array) and self._is_in(x, place):
                values[i] = Value(variables[i].name, ARRAY)

    def _set(self, variables: list[Variable], values: list[Value]) -> None:
        for (name, form, array), (text, _) in zip(variables, values, strict=True):
            if array is not None:
                if text != name:
                    self.copy(text, name, array)
            else:
                self.lines.append(f"  store {form} {text}, ptr {name}")

    def _get(self, places: list[int], variables: list[Variable]) -> None:
        for place, (name, form, array) in zip(places, variables, strict=True):
            if array is None:
                self.known[place] = Value(self.new(f"load {form}, ptr {name}"), form)

    # Numbers that may be Python's or NumPy's

    def tag(self, x: Any) -> str:
        """Whether an argument is a number of NumPy's."""
        kind, *others = self.types(x)
        return self.value_at(tag_at(self.place(x))).text if others else f"{int(is_numpys(kind))}"

    def with_tags(self, places: list[int], values: Sequence[Any]) -> list[Any]:
        """The values, and the tags of those at these places that have one."""
        return [*values, *[ArgumentTag(x) for place, x in zip(places, values, strict=True) if place in self.tagged]]

    def with_places_of_tags(self, places: list[int], of: list[int]) -> list[int]:
        """These places, and those of their tags, for the values at the places `of` that have one."""
        return [*places, *[tag_at(place) for place, key in zip(places, of, strict=True) if key in self.tagged]]


def form_carried(x: Any) -> str:
    """The form of a value that a loop carries or a branch answers."""
    form = TRUTH if type(x) is ArgumentTag else form_of(unstaged(x))
    return refuse(f"a loop or a branch has {described(unstaged(x))}") if form is None else form


def lie_alike(x: Any, y: Any) -> bool:
    """Whether two values are arrays of one layout, or no arrays."""
    x, y = unstaged(x), unstaged(y)
    return not (isinstance(x, ndarray) and isinstance(y, ndarray)) or layout_of(x) == layout_of(y)
