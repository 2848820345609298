"""The slots of the frame that the functions of a program share: which place has which, and which are free."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shiftreset_ad.staging.native import frames, lock, stack
from shiftreset_ad.staging.native.llvm import form_of
from shiftreset_ad.staging.native.order import shape_of_loop
from shiftreset_ad.staging.native.tags import tag_at
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import all_steps
from shiftreset_ad.staging.steps.trace import Step, Trace

STEPS_OF_A_PART = 250  # about 500 instructions
FEW_PARTS = 3  # functions, for which LLVM takes little time, whatever they have
FLAGS = 0  # the slot with the machine's flags that were noted
SELF = stack.COUNT + 1  # the slot with what the entry was made with


def parts_of(trace: Trace, left: Eliminated) -> Iterator[list[Step]]:
    """The steps of each function. A step with blocks is in one function, as are all uses of a value without a form.

    A loop is in one function, too, if it is not long. Otherwise the loops at the ends of functions would be like no
    others.
    """
    without_form = {place for place, value in enumerate(trace.values) if form_of(value) is None}
    last: dict[int, Step] = {}  # that needs a value without form
    if without_form:
        for step in left.steps:
            last.update((place, step) for place in left.operands(step) if place in without_form)
    part: list[Step] = []
    needed: set[int] = set()  # the values without form that later steps need
    length = 0
    for i, step in enumerate(left.steps):
        part.append(step)
        length += 1 if type(step) is Step else sum(1 for _ in all_steps([step]))
        if needed:
            needed = {place for place in needed if last[place] is not step}
        if step.place in last:
            needed.add(step.place)
        if length < STEPS_OF_A_PART or needed:
            continue
        shape = shape_of_loop(trace, step)
        following = left.steps[i + 1] if i + 1 < len(left.steps) else None
        is_in_loop = shape is not None and following is not None and shape_of_loop(trace, following) == shape
        if not is_in_loop or length >= 2 * STEPS_OF_A_PART:
            yield part
            part, length = [], 0
    if part:
        yield part


class Slots:
    """The slots of a frame, for the values and the tags that later functions need.

    `parts` are the steps of each function. If there are many, the program `is_long`: then the time of the compiler
    counts, and a program that long is no loop whose rounds could count more.
    """

    __slots__ = ("_free", "_kept", "_last", "count", "of", "parts")

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        self.count = FLAGS + 1 + frames.SLOTS + lock.SLOTS + stack.SLOTS + 1
        self.of: dict[int, int] = {}
        self._last: dict[int, int] = {}  # the last part that needs a place
        self._free: list[int] = []
        self.parts = [*parts_of(trace, left)]
        for number, steps in enumerate(self.parts):
            for step in all_steps(steps):
                self._last.update(dict.fromkeys(left.operands(step), number))
        # An argument that is an array has its address in a slot, for its views, too.
        self._kept = set(left.places_in(outputs))
        for place in range(trace.inputs):
            if place in self._last or place in self._kept:
                self._kept.add(place)
                self.take(place)

    @property
    def is_long(self) -> bool:
        """Whether the program has many functions."""
        return len(self.parts) > FEW_PARTS

    def take(self, place: int) -> int:
        """A slot for the value at a place, which it may have already."""
        if place not in self.of:
            self.of[place] = self._free.pop() if self._free else self.count
            self.count = max(self.count, self.of[place] + 1)
        return self.of[place]

    def is_needed_after(self, place: int, part: int) -> bool:
        """Whether the outputs, or a part after this one, need a place."""
        place = max(place, tag_at(place))
        return place in self._kept or self._last.get(place, -1) > part

    def free(self, place: int) -> None:
        """Let another value have the slot of a place."""
        self._free.append(self.of.pop(place))
