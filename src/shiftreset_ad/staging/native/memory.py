"""The memory of arrays: each has a block, in the frame or an input's own, and its views are addresses in this block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from numpy import ndarray

from shiftreset_ad.staging.native.additions import Additions
from shiftreset_ad.staging.native.indexing import is_at_values
from shiftreset_ad.staging.native.layouts import distance, is_view
from shiftreset_ad.staging.native.llvm import ARRAY, form_of, refuse
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.uses import Uses, round_of
from shiftreset_ad.staging.steps.blocks import Control, Fork, Gather, Loop, own_arguments
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import staged_in

LINE = 64  # bytes; blocks begin at multiples of it
MOST = 2**26  # bytes of all blocks


class Address(NamedTuple):
    """Where an array lies: the place of the array whose block it is, and the bytes from the beginning of the block."""

    root: int
    offset: int


class Roots:
    """The steps after elimination, as if each view of an array were the array itself.

    So a frame keeps whole arrays, and a visit finds the views in them.
    """

    __slots__ = ("_left", "_memory")

    def __init__(self, left: Eliminated, memory: ArrayBlocks) -> None:
        self._left = left
        self._memory = memory

    @property
    def steps(self) -> list[Step]:
        return self._left.steps

    def places_in(self, x: Any) -> Iterator[int]:
        """The places of the values in an argument."""
        return map(self._memory.root, self._left.places_in(x))


class Around(NamedTuple):
    """A block around a step, and the arrays from outside of this block that steps in it need."""

    block: Block
    is_round: bool
    needed: set[int]


class ArrayBlocks:
    """The blocks of all arrays of a program. A block is used again when no step needs its arrays any more.

    The steps, the ends of blocks and the ends of steps with blocks have numbers, in the order in which their code is
    written. An array from outside that a round needs is needed until the loop ends.
    """

    __slots__ = (
        "_addresses",
        "_blocks",
        "_ends",
        "_free",
        "_homes",
        "_last",
        "_left",
        "_now",
        "_outputs",
        "additions",
        "size",
    )

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any], additions: Additions) -> None:
        self.size = 0
        self.additions = additions
        self._left = left
        self._addresses: dict[int, Address] = {}
        self._blocks: dict[int, tuple[int, int]] = {}  # of a root: where it begins, and how long it is
        self._free: dict[int, list[int]] = {}
        self._last: dict[int, int] = {}  # the last number that needs a root
        self._homes: dict[int, list[Around]] = {}  # the blocks around the step that makes a root
        self._ends: dict[Block, int] = {}
        self._now = -1
        for place in range(trace.inputs):
            self._add(place, [])
        self._walk(left.steps, [], trace.values)
        self._outputs = {self.root(place) for place in left.places_in(outputs) if place in self._addresses}

    def _walk(self, steps: list[Step], chain: list[Around], values: list[Any]) -> None:
        for step in steps:
            self._now += 1
            if isinstance(step, Control):
                self._walk_blocks(step, chain, values)
            elif isinstance(step, Gather):
                self._use(step.value, chain)  # which may be of no round
                self._add(step.place, chain)
            elif step.place in self.additions.found:
                addition = self.additions.found[step.place]
                self._use([*addition], chain)
                self._addresses[step.place] = self._addresses[self._left.place(addition.array)]
            elif step.place not in self.additions.scatters:
                self._use(own_arguments(step), chain)
                if form_of(answer := values[step.place]) == ARRAY and not step.is_question:
                    self._addresses[step.place] = self._address(step, answer)
                    self._homes.setdefault(step.place, chain)

    def _walk_blocks(self, step: Control, chain: list[Around], values: list[Any]) -> None:
        self._use(step.args, chain)
        inner = [Around(block, not isinstance(step, Fork), set()) for block in step.blocks]
        for place in step.params:
            self._add(place, [*chain, inner[-1]])
        ends = [[step.goes_on], *step.results] if isinstance(step, Loop) else step.results
        for around, results in zip(inner, ends, strict=True):
            within = [*chain, around]
            if isinstance(step, Loop) and around is inner[0]:  # the test is a part of the round
                within = [*chain, inner[-1], around._replace(is_round=False)]
            self._walk(around.block.steps, within, values)
            self._now += 1
            self._use(results, within)
            self._ends[around.block.origin] = self._now
        self._now += 1
        needed = [*step.params, *step.answers, *[root for around in inner for root in around.needed]]
        self._last.update(dict.fromkeys(needed, self._now))
        for place in step.answers:
            self._add(place, chain)

    def _add(self, place: int, chain: list[Around]) -> None:
        self._addresses[place] = Address(place, 0)
        self._homes[place] = chain

    def _use(self, x: Any, chain: list[Around]) -> None:
        for value in staged_in(x):
            if (place := self._left.place(value)) not in self._addresses:
                continue
            root = self.root(place)
            home = [around.block for around in self._homes[root]]
            used = [around.block for around in chain]
            if any(around.is_round and around.block not in used for around in self._homes[root]):
                continue  # a visit finds the array in its frame
            outer = next((around for around in chain if around.block not in home), None)
            if outer is None:
                self._last[root] = self._now
            else:
                outer.needed.add(root)

    def _address(self, step: Step, answer: ndarray[Any, Any]) -> Address:
        if is_at_values(step):
            return Address(step.place, 0)
        for x in staged_in(own_arguments(step)):
            if self._left.place(x) in self._addresses and is_view(answer, x.inside):
                root, offset = self._addresses[self._left.place(x)]
                return Address(root, offset + distance(answer, x.inside))
        return Address(step.place, 0)

    def keep_for_frames(self, uses: Uses, homes: Sequence[Block]) -> None:
        """Let arrays that go into frames stay until their round ends."""
        for slots in uses.slots.values():
            for place in slots:
                if place in self._addresses:
                    end = self._ends[round_of(homes[place])]
                    self._last[place] = max(self._last.get(place, -1), end)

    def address(self, place: int) -> Address:
        """Where the array at a place lies."""
        return self._addresses[place]

    def root(self, place: int) -> int:
        """The place of the array whose block the value at a place has; the place itself if this is no array."""
        return self._addresses[place].root if place in self._addresses else place

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

    @contextmanager
    def of_a_function(self) -> Iterator[None]:
        """Lay out the memory of a function, of which each activation has its own. `size` is then that of its memory."""
        outside = self._blocks, self._free, self.size
        self._blocks, self._free, self.size = {}, {}, 0
        yield
        self._blocks, self._free, self.size = outside

    def hand_on(self, root: int, to: int) -> None:
        """Give the block of an array that is not needed any more to another array."""
        self._blocks[to] = self._blocks.pop(root)

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
