"""A program is all steps of a way, as functions of LLVM's that hand values to one another in a frame.

The time that LLVM takes for a function grows faster than its length. So a function has a few hundred steps, and values
that later functions need have a slot in the frame. A slot is used again when its value is not needed any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.llvm import (
    DONE,
    DOUBLE,
    INTEGER,
    TRUTH,
    Code,
    Value,
    described,
    form_of,
    function,
    refuse,
)
from shiftreset_ad.staging.native.operations import ask, emit
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.generation import asked, known_of
from shiftreset_ad.staging.steps.blocks import own_arguments
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

STEPS_OF_A_PART = 250  # about 500 instructions
FLAGS = 0  # the slot with the machine's flags that were noted
INVALID, DIVIDE, OVER, UNDER = 1, 4, 8, 16  # the machine's flags, as x86 has them
FLAG_OF = {"invalid": INVALID, "divide": DIVIDE, "over": OVER, "under": UNDER}


class Leaf(NamedTuple):
    """A value that Python gives or gets: its type, and its slot; or a constant."""

    kind: Any
    slot: int | None
    constant: Any = None


class Program:
    """The steps of a trace as functions, and where their values lie.

    `text` has the functions, of which `run` takes the frame of `slots` and returns a status. `inputs` and `outputs` say
    which slot has which argument and which answer; an input that no step needs has no slot. `flags` are those by which
    NumPy would warn. `questions` are those of the NumPy steps, in their order: if the type of an answer may depend on
    values, the NumPy steps ask for it, and native code leaves.
    """

    __slots__ = ("flags", "inputs", "outputs", "questions", "slots", "text")

    def __init__(self, trace: Trace, outputs: list[Any], left: Eliminated) -> None:
        if trace.refusal is not None:
            refuse(trace.refusal)
        if trace.has_control:
            refuse("it has loops or branches that are written down")
        self.flags = 0
        self.questions: list[Step] = []
        slots = _Slots(trace, left, outputs)
        parts = []
        for number, steps in enumerate(_parts_of(left.steps)):
            part = _Part(number, left, slots)
            for step in steps:
                self.flags |= flags_of(step, trace)
                answer = trace.values[step.place]
                part.add(step, answer, len(self.questions))
                if step.is_question or step.open_ended:
                    self.questions.append(asked(step, step.expected if step.is_question else known_of(answer)))
            part.finish()
            parts.append(part)
        self.inputs = [Leaf(type(trace.values[place]), slots.of.get(place)) for place in range(trace.inputs)]
        self.outputs = [_leaf(x, left, slots) for x in outputs]
        self.slots = slots.count
        used = dict.fromkeys(text for part in parts for text in part.used)
        functions = [function(f"i64 @part{part.number}(ptr noalias %frame) noinline", part.lines) for part in parts]
        self.text = "\n".join([*used, *functions, function("i64 @run(ptr %frame) noinline", _calls(len(parts)))])


def flags_of(step: Step, trace: Trace) -> int:
    """The flags by which NumPy would react to the errors of a step."""
    values = [*map(unstaged, own_arguments(step)), trace.values[step.place]]
    if not isinstance(step.function, np.ufunc) and not any(isinstance(x, np.generic | ndarray) for x in values):
        return 0
    reactions: Any = step.errors or trace.errors
    if "raise" in reactions.values():
        refuse("floating-point errors raise exceptions in it")
    return sum(flag for name, flag in FLAG_OF.items() if reactions[name] != "ignore")


def _parts_of(steps: list[Step]) -> Iterator[list[Step]]:
    waiting = iter(steps)
    while part := list(islice(waiting, STEPS_OF_A_PART)):
        yield part


def _leaf(x: Any, left: Eliminated, slots: _Slots) -> Leaf:
    value = unstaged(x)
    if type(x) is not Staged or x._place in left.fixed:
        return refuse("it returns a constant array") if isinstance(value, ndarray) else Leaf(None, None, value)
    if form_of(value) is None or isinstance(value, ndarray):
        refuse(f"it returns {described(value)}")
    return Leaf(type(value), slots.of[left.place(x)])


def _calls(parts: int) -> Iterator[str]:
    """The lines of `run`: one part after another, as long as none has another status than `DONE`."""
    for number in range(parts):
        yield f"  %status{number} = call i64 @part{number}(ptr %frame)"
        yield f"  %is_done{number} = icmp eq i64 %status{number}, {DONE}"
        yield f"  br i1 %is_done{number}, label %on{number}, label %stop{number}"
        yield f"stop{number}:"
        yield f"  ret i64 %status{number}"
        yield f"on{number}:"
    yield f"  ret i64 {DONE}"


class _Slots:
    """The slots of the frame: which place has which, and which are free."""

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any]) -> None:
        self.count = FLAGS + 1
        self.of: dict[int, int] = {}
        self.last: dict[int, int] = {}  # the last part that needs a place
        self._free: list[int] = []
        for number, steps in enumerate(_parts_of(left.steps)):
            for step in steps:
                self.last.update(dict.fromkeys(left.operands(step), number))
        self.kept = set(left.places_in(outputs))
        for place in range(trace.inputs):
            if place in self.last or place in self.kept:
                self.kept.add(place)
                self.take(place)

    def take(self, place: int) -> int:
        """A slot for the value at a place."""
        if self._free:
            slot = self._free.pop()
        else:
            slot, self.count = self.count, self.count + 1
        self.of[place] = slot
        return slot

    def is_needed_after(self, place: int, part: int) -> bool:
        """Whether the outputs, or a part after this one, need a place."""
        return place in self.kept or self.last.get(place, -1) > part

    def free(self, place: int) -> None:
        """Let another value have the slot of a place."""
        self._free.append(self.of.pop(place))


class _Part(Code):
    """Some of the steps, as the code of a function."""

    __slots__ = ("_left", "_loaded", "_slots", "number")

    def __init__(self, number: int, left: Eliminated, slots: _Slots) -> None:
        super().__init__()
        self.number = number
        self._left = left
        self._slots = slots
        self._loaded: set[int] = set()

    def add(self, step: Step, answer: Any, question: int) -> None:
        """Write a step; a question with this number."""
        args = tuple([self.argument(arg) for arg in step.args])
        if step.is_question:
            ask(self, step, args, question)
            return
        emit(self, step, args, answer)
        if self._slots.is_needed_after(step.place, self.number):
            slot = self._slots.take(step.place)
            text, form = self.known[step.place]
            if form == TRUTH:
                text, form = self.new(f"zext i1 {text} to i64"), INTEGER
            self.lines.append(f"  store {form} {text}, ptr {self.slot(slot)}")

    def argument(self, x: Any) -> Any:
        """An argument, with the values of what is the same for all inputs."""
        return x.inside if type(x) is Staged and x._place in self._left.fixed else x

    def place(self, x: Staged) -> int:
        return self._left.place(x)

    def load(self, x: Staged) -> Value:
        """A value that Python, or another part, has left in the frame."""
        form = form_of(x.inside)
        if form is None:
            refuse(f"it computes with {described(x.inside)}")
        place = self.place(x)
        self._loaded.add(place)
        text = self.new(f"load {DOUBLE if form == DOUBLE else INTEGER}, ptr {self.slot(self._slots.of[place])}")
        return Value(self.new(f"trunc i64 {text} to i1") if form == TRUTH else text, form)

    def slot(self, number: int) -> str:
        """The address of a slot."""
        return self.new(f"getelementptr i64, ptr %frame, i64 {number}")

    def finish(self) -> None:
        """End the function, and free the slots that no later part needs."""
        self.end(DONE)
        for place in sorted(self._loaded):
            if not self._slots.is_needed_after(place, self.number):
                self._slots.free(place)
