"""The tape: code that makes, links, fills, reads and releases the frames of rounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from shiftreset_ad.staging.native.constants import Constants
from shiftreset_ad.staging.native.frames import END, FIRST_SLOT, NEWEST, NEXT, PREVIOUS, TOP
from shiftreset_ad.staging.native.layouts import bytes_of
from shiftreset_ad.staging.native.llvm import ARRAY, INTEGER, LEAVE, TRUTH, Value
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.native.storage import ArrayCode
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Activations, Call, Loop, all_steps
from shiftreset_ad.staging.steps.trace import Block, Step

END_OF_FRAME = -1  # in place of a place


class TapeCode(ArrayCode):
    """The code of a function with frames of rounds."""

    __slots__ = ("uses",)

    def __init__(self, uses: Uses, memory: ArrayBlocks, constants: Constants, now: int) -> None:
        super().__init__(memory, constants, now)
        self.uses = uses

    @abstractmethod
    def value_at(self, place: int) -> Value:
        """The value at a place."""

    @abstractmethod
    def form_at(self, place: int) -> str:
        """The form of the value at a place."""

    @abstractmethod
    def array_at(self, place: int) -> Any:
        """The array that was recorded at a place; None if there is none."""

    @abstractmethod
    def slot(self, number: int) -> str:
        """The address of a slot of the function's frame."""

    def of_top(self) -> str:
        """The address of the pointer to the first free byte for frames."""
        return self.slot(TOP)

    def new_frame(self, size: int) -> str:
        """A new frame: the next bytes of the chunk, or the first of another chunk. Without memory, the code leaves."""
        of_top, frame, more, on = self.of_top(), self.variable(ARRAY), self.fresh()[1:], self.fresh()[1:]
        top, end = self.new(f"load ptr, ptr {of_top}"), self.new(f"load ptr, ptr {self.slot(END)}")
        following = self.at(top, size)
        self.lines += [f"  store ptr {top}, ptr {frame}", f"  store ptr {following}, ptr {of_top}"]
        fits = self.new(f"icmp ule ptr {following}, {end}")
        self.lines += [f"  br i1 {fits}, label %{on}, label %{more}", f"{more}:"]
        new = self.new(f"call ptr @new_chunk(ptr %frame, i64 {size})")
        self.exit_if(self.new(f"icmp eq ptr {new}, null"), LEAVE)
        self.lines += [f"  store ptr {new}, ptr {frame}", f"  store ptr {self.at(new, size)}, ptr {of_top}"]
        self.lines += [f"  br label %{on}", f"{on}:"]
        return self.new(f"load ptr, ptr {frame}")

    def append(self, step: Any, body: Block, last: str) -> None:
        """A frame for the round, behind the last one."""
        frame = self.new_frame(self.offsets(step)[END_OF_FRAME])
        self.link(self.new(f"load ptr, ptr {last}"), frame)
        self.lines.append(f"  store ptr {frame}, ptr {last}")
        self.store(step, body, frame)

    def link(self, frame: str, following: str) -> None:
        self.lines.append(f"  store ptr {following}, ptr {self.at(frame, NEXT)}")
        self.lines.append(f"  store ptr {frame}, ptr {self.at(following, PREVIOUS)}")

    def load_link(self, frame: str, link: int) -> str:
        return self.new(f"load ptr, ptr {self.at(frame, link)}")

    def at(self, frame: str, offset: int | str) -> str:
        return self.new(f"getelementptr i8, ptr {frame}, i64 {offset}")

    def offsets(self, step: Any) -> dict[int, int]:
        """Where the values of a round have their slots in its frame, and where the frame ends.

        The frame of an activation has no links.
        """
        places = self.uses.slots.get(step.rounds, {})
        offsets, end = self.laid_out(places, 0 if isinstance(step.rounds, Activations) else FIRST_SLOT)
        return {**offsets, END_OF_FRAME: end}

    def laid_out(self, places: Iterable[int], start: int) -> tuple[dict[int, int], int]:
        """Where values lie if they lie one after another from an offset on, in whole words, and where they end."""
        offsets, end = {}, start
        for place in places:
            offsets[place] = end
            array = self.array_at(place)
            end += 8 if array is None else -(-bytes_of(array) // 8) * 8
        return offsets, end

    def store(self, step: Any, body: Block, frame: str) -> None:
        """Store the values of a round that later visits need."""
        offsets = self.offsets(step)
        for place in self.uses.stored(body, step.rounds):
            slot, array = self.at(frame, offsets[place]), self.array_at(place)
            if array is not None:
                self.copy(self.address_at(place), slot, array)
                continue
            self.store_word(self.value_at(place), slot)

    def from_slot(self, slot: str, place: int) -> Value:
        if self.array_at(place) is not None:
            return Value(slot, ARRAY)
        return self.load_word(slot, self.form_at(place))

    def store_word(self, value: Value, address: str) -> None:
        """Store a value in a word of memory."""
        text, form = value
        if form == TRUTH:
            text, form = self.new(f"zext i1 {text} to i64"), INTEGER
        self.lines.append(f"  store {form} {text}, ptr {address}")

    def load_word(self, address: str, form: str) -> Value:
        """The value in a word of memory."""
        text = self.new(f"load {INTEGER if form == TRUTH else form}, ptr {address}")
        return Value(self.new(f"trunc i64 {text} to i1") if form == TRUTH else text, form)

    @contextmanager
    def releasing(self, step: Any, body: Block) -> Iterator[None]:
        """Write a round, or a function. The frames that it makes are released if no later visit needs them."""
        made = frames_made(body.steps) & self.uses.count.keys()
        kept = {place for rounds, slots in self.uses.slots.items() if rounds.place not in made for place in slots}
        if not made or not made.isdisjoint(kept):
            yield
            return
        top = self.new(f"load ptr, ptr {self.of_top()}")
        marks = [self.new(f"load ptr, ptr {self.slot(number)}") for number in (END, NEWEST)]
        yield
        self.lines.append(f"  call void @release(ptr %frame, {', '.join(f'ptr {mark}' for mark in marks)})")
        self.lines.append(f"  store ptr {top}, ptr {self.of_top()}")


def frames_made(steps: list[Step]) -> set[int]:
    """The places of the frames that these steps make: those of loops, and those of the functions that they call."""
    made = set()
    for step in all_steps(steps):
        if isinstance(step, Loop):
            made.add(step.rounds.place)
        elif isinstance(step, Call) and step.is_new:
            made.add(step.frame)
    return made
