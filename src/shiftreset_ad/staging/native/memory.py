"""The memory of arrays: each has a block, in the frame or an input's own, and its views are addresses in this block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from numpy import ndarray

from shiftreset_ad.staging.native.indexing import is_at_values
from shiftreset_ad.staging.native.layouts import distance
from shiftreset_ad.staging.native.llvm import ARRAY, described, form_of, refuse
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.in_place import InPlace, Passage
from shiftreset_ad.staging.python.uses import Uses, round_of
from shiftreset_ad.staging.steps.blocks import Control, Fork, Gather, Loop, operands_of, own_arguments
from shiftreset_ad.staging.steps.memory import owner_of
from shiftreset_ad.staging.steps.trace import Block, Step, Trace
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged

LINE = 64  # bytes; blocks begin at multiples of it
MOST = 2**31  # bytes of all blocks


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

    def operands(self, step: Step) -> list[int]:
        """The places that a step needs, beside those that the steps in its blocks need."""
        return [*map(self._memory.root, self._left.operands(step))]


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
        "_ending",
        "_ends",
        "_free",
        "_freed",
        "_held",
        "_homes",
        "_last",
        "_left",
        "_now",
        "_numbers",
        "_outputs",
        "answers",
        "in_place",
        "size",
    )

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any], in_place: InPlace) -> None:
        self.size = 0
        self.answers: set[int] = set()  # arrays that lie in the memory of an answer of Python's, and have no block
        self.in_place = in_place
        self._left = left
        self._addresses: dict[int, Address] = {}
        self._blocks: dict[int, tuple[int, int]] = {}  # of a root: where it begins, and how long it is
        self._ending: list[tuple[int, int, int]] = []  # a heap of the blocks, by the last number that needs each
        self._numbers = count()
        self._free: dict[int, list[int]] = {}
        self._freed: set[int] = set()
        self._held: list[int] | None = None  # what is not to be free yet
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
            elif step.place in self.in_place.additions:
                addition = self.in_place.additions[step.place]
                self._use([*addition], chain)
                self._addresses[step.place] = self._address_of(addition.array)
            elif step.place in self.in_place.replaced and form_of(values[step.place]) == ARRAY:
                self._use(own_arguments(step), chain)
                self._addresses[step.place] = self._address_of(step.args[0][1])
            elif step.place in self.in_place.moved and form_of(values[step.place]) == ARRAY:
                self._use(own_arguments(step), chain)
                self._addresses[step.place] = self._address_of(step.args[0])
            elif step.place not in self.in_place.scatters:
                self._use_all(operands_of(step), chain)
                if form_of(answer := values[step.place]) == ARRAY and not step.is_question:
                    self._addresses[step.place] = self._address(step, answer)
                    self._homes.setdefault(step.place, chain)

    def _walk_blocks(self, step: Control, chain: list[Around], values: list[Any]) -> None:
        self._use(step.args, chain)
        inner = [Around(block, not isinstance(step, Fork), set()) for block in step.blocks]
        for i, place in enumerate(step.params):
            if Passage(step, i) in self.in_place.taken:
                self._addresses[place] = self._address_of(step.args[i])
            else:
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
        for i, place in enumerate(step.answers):
            if (address := self._passed_on(step, i)) is not None:
                self._addresses[place] = address
            else:
                self._add(place, chain)

    def _passed_on(self, step: Control, i: int) -> Address | None:
        """Where an answer lies if it has the memory of an array that was there before; None if it has its own."""
        passage = Passage(step, i)
        if passage in self.in_place.taken:
            return self._addresses[step.params[i]]
        if not isinstance(step, Fork) or passage not in self.in_place.passages:
            return None
        one, other = [self._address_of(results[i]) for results in step.results]
        return one if one == other else None

    def _address_of(self, x: Any) -> Address:
        """Where an array lies. One of another dtype lies nowhere."""
        return self._addresses.get(self._left.place(x)) or refuse(f"it writes to {described(unstaged(x))}")

    def _add(self, place: int, chain: list[Around]) -> None:
        self._addresses[place] = Address(place, 0)
        self._homes[place] = chain

    def _use(self, x: Any, chain: list[Around]) -> None:
        self._use_all(staged_in(x), chain)

    def _use_all(self, values: list[Staged], chain: list[Around]) -> None:
        for value in values:
            if (place := self._left.place(value)) not in self._addresses:
                continue
            root = self._addresses[place].root
            if not chain and not self._homes[root]:  # the usual case, for speed
                self._last[root] = self._now
                continue
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
        if is_at_values(step) or step.place in self.in_place.copied:
            return Address(step.place, 0)
        owner = owner_of(answer)
        for x in operands_of(step):
            array = x.inside
            if type(array) is not ndarray or owner_of(array) is not owner or not array.shape:  # then it is a number
                continue
            if (place := self._left.place(x)) in self._addresses:
                root, offset = self._addresses[place]
                return Address(root, offset + distance(answer, array))
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

    @classmethod
    def of(cls, trace: Trace, left: Eliminated, outputs: list[Any], in_place: InPlace) -> ArrayBlocks:
        """The blocks of all arrays. A loop takes no array in whose memory a frame finds an array of a round.

        The next round would have its elements there.
        """
        while True:
            memory = cls(trace, left, outputs, in_place)
            roots = {memory.root(place) for place in in_place.kept if memory._is_of_another_round(place, trace.homes)}
            too_many = {passage for passage in in_place.taken if memory.root(passage.step.params[passage.i]) in roots}
            if not too_many:
                return memory
            in_place.taken -= too_many

    def _is_of_another_round(self, place: int, homes: Sequence[Block]) -> bool:
        """Whether a value lies in the memory of an array that has been made outside of its round."""
        return round_of(homes[place]) is not round_of(homes[self.root(place)])

    def makes(self, place: int) -> bool:
        """Whether the step at a place makes an array in a block of its own."""
        return place in self._addresses and self.root(place) == place

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
            self._put(root, (free.pop() if free else self._more(length), length))
        return self._blocks[root][0]

    def _put(self, root: int, block: tuple[int, int]) -> None:
        """A block is the memory of this array until the last step that needs it."""
        self._blocks[root] = block
        if root not in self._outputs:
            heappush(self._ending, (self._last.get(root, -1), next(self._numbers), root))

    @contextmanager
    def of_a_function(self) -> Iterator[None]:
        """Lay out the memory of a function, of which each activation has its own. `size` is then that of its memory."""
        outside = self._blocks, self._ending, self._free, self.size
        self._blocks, self._ending, self._free, self.size = {}, [], {}, 0
        yield
        self._blocks, self._ending, self._free, self.size = outside

    def hand_on(self, root: int, to: int) -> None:
        """Give the block of an array that is not needed any more to another array."""
        self._put(to, self._blocks.pop(root))

    def _more(self, length: int) -> int:
        """Where new memory begins."""
        self.size += length
        if self.size > MOST:
            refuse("its arrays take much memory")
        return self.size - length

    @contextmanager
    def freeing_only(self, roots: set[int]) -> Iterator[None]:
        """Let no blocks be free but those of these arrays, and of single steps."""
        self._freed, self._held = roots, []
        yield
        held, self._held = self._held, None
        for root in held:
            heappush(self._ending, (self._last.get(root, -1), next(self._numbers), root))

    def free_after(self, number: int) -> None:
        """Let other arrays have the blocks that no step after this one needs."""
        over: list[tuple[int, int]] = []
        while self._ending and self._ending[0][0] <= number:
            over.append(heappop(self._ending)[1:])
        for _, root in sorted(over):
            if self._held is not None and root >= 0 and root not in self._freed:
                self._held.append(root)
            elif root in self._blocks:  # and not handed on
                start, length = self._blocks.pop(root)
                self._free.setdefault(length, []).append(start)
