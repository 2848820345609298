"""The memory of arrays: each has a block, in the frame or an input's own, and its views are addresses in this block."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy import ndarray

from shiftreset_ad.staging.native.layouts import distance, is_view
from shiftreset_ad.staging.native.llvm import ARRAY, form_of, refuse
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import own_arguments
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import staged_in

LINE = 64  # bytes; blocks begin at multiples of it
MOST = 2**26  # bytes of all blocks


class Address(NamedTuple):
    """Where an array lies: the place of the array whose block it is, and the bytes from the beginning of the block."""

    root: int
    offset: int


class Memory:
    """The blocks of all arrays of a program. A block is used again when no step needs its arrays any more."""

    __slots__ = ("_addresses", "_blocks", "_free", "_last", "_outputs", "size")

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        self.size = 0
        self._addresses: dict[int, Address] = {}
        self._blocks: dict[int, tuple[int, int]] = {}  # of a root: where it begins, and how long it is
        self._free: dict[int, list[int]] = {}
        self._last: dict[int, int] = {}  # the last step that needs a root
        for place in range(trace.inputs):
            self._addresses[place] = Address(place, 0)
        for number, step in enumerate(left.steps):
            for x in staged_in(own_arguments(step)):
                if (place := left.place(x)) in self._addresses:
                    self._last[self._addresses[place].root] = number
            answer = trace.values[step.place]
            if form_of(answer) == ARRAY and not step.is_question:
                self._addresses[step.place] = self._address(step, answer, left)
        self._outputs = {self._addresses[place].root for place in left.places_in(outputs) if place in self._addresses}

    def _address(self, step: Step, answer: ndarray[Any, Any], left: Eliminated) -> Address:
        for x in staged_in(own_arguments(step)):
            if left.place(x) in self._addresses and is_view(answer, x.inside):
                root, offset = self._addresses[left.place(x)]
                return Address(root, offset + distance(answer, x.inside))
        return Address(step.place, 0)

    def address(self, place: int) -> Address:
        """Where the array at a place lies."""
        return self._addresses[place]

    def is_needed_after(self, root: int, number: int) -> bool:
        """Whether the outputs, or a step after this one, need a block."""
        return root in self._outputs or self._last.get(root, -1) > number

    def has_block(self, root: int) -> bool:
        """Whether an array lies in the frame, and not in memory of an argument."""
        return root in self._blocks

    def block(self, root: int, length: int = 8) -> int:
        """Where a block begins. It is a new one if there is none yet."""
        if root not in self._blocks:
            length = -(-length // LINE) * LINE
            free = self._free.get(length)
            self._blocks[root] = (free.pop() if free else self._more(length)), length
        return self._blocks[root][0]

    def _more(self, length: int) -> int:
        """Where new memory begins."""
        self.size += length
        if self.size > MOST:
            refuse("its arrays take much memory")
        return self.size - length

    def free_after(self, number: int) -> None:
        """Let other arrays have the blocks that no step after this one needs."""
        for root in [root for root in self._blocks if not self.is_needed_after(root, number)]:
            start, length = self._blocks.pop(root)
            self._free.setdefault(length, []).append(start)
