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
from shiftreset_ad.staging.steps.values import Staged

STEPS_OF_A_PART = 250  # about 500 instructions
ALIKE = 16  # steps by which the beginnings of functions are compared
FEW_PARTS = 3  # functions, for which LLVM takes little time, whatever they have
FLAGS = 0  # the slot with the machine's flags that were noted
SELF = stack.COUNT + 1  # the slot with what the entry was made with


def parts_of(trace: Trace, left: Eliminated) -> Iterator[list[Step]]:
    """The steps of each function. A step with blocks is in one function, as are all uses of a value without a form.

    A loop is in one function, too, if it is not long. Otherwise the loops at the ends of functions would be like no
    others. A function begins with steps of the same kinds as an earlier one, if there are such steps soon. So the
    functions of rounds are alike.
    """
    steps = left.steps
    kinds = kinds_of(steps) if len(steps) > FEW_PARTS * STEPS_OF_A_PART else []
    begun = {tuple(kinds[:ALIKE])}  # how functions begin
    end = 0  # where the function may end, as soon as it is long enough
    without_form = {place for place, value in enumerate(trace.values) if form_of(value) is None}
    last: dict[int, Step] = {}  # that needs a value without form
    if without_form:
        for step in left.steps:
            last.update((place, step) for place in left.operands(step) if place in without_form)
    part: list[Step] = []
    needed: set[int] = set()  # the values without form that later steps need
    length = 0
    for i, step in enumerate(steps):
        part.append(step)
        length += 1 if type(step) is Step else sum(1 for _ in all_steps([step]))
        if needed:
            needed = {place for place in needed if last[place] is not step}
        if step.place in last:
            needed.add(step.place)
        if length < STEPS_OF_A_PART or needed:
            continue
        shape = shape_of_loop(trace, step)
        following = steps[i + 1] if i + 1 < len(steps) else None
        is_in_loop = shape is not None and following is not None and shape_of_loop(trace, following) == shape
        if is_in_loop and length < 2 * STEPS_OF_A_PART:
            continue
        end = end or _end(kinds, i + 1, begun)
        if i + 1 >= end:
            begun.add(tuple(kinds[i + 1 : i + 1 + ALIKE]))
            yield part
            part, length, end = [], 0, 0
    if part:
        yield part


def _end(kinds: list[int], i: int, begun: set[tuple[int, ...]]) -> int:
    """Where a function ends that may end before step `i`: there, or before a step like one at which another began."""
    later = range(i, min(i + STEPS_OF_A_PART, len(kinds)))
    return next((j for j in later if tuple(kinds[j : j + ALIKE]) in begun), i)


def kinds_of(steps: list[Step]) -> list[int]:
    """A number for each step: steps with the same number do the same with values of the same types."""
    known: dict[Any, int] = {}
    found = []
    for step in steps:
        args = tuple([type(x.inside) if type(x) is Staged else x if type(x) is float else type(x) for x in step.args])
        found.append(known.setdefault((id(step.function), args), len(known)))
    return found


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
