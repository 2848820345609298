"""A program is all steps of a way, as functions of LLVM's that hand values to one another in a frame.

The time that LLVM takes for a function grows faster than its length. So a function has a few hundred steps, and values
that later functions need have a slot in the frame. A slot is used again when its value is not needed any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native.additions import Additions
from shiftreset_ad.staging.native.control import LOOK, ControlCode
from shiftreset_ad.staging.native.frames import FUNCTIONS as FUNCTIONS_OF_FRAMES
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DONE,
    DOUBLE,
    INTEGER,
    TRUTH,
    Value,
    described,
    form_of,
    function,
    refuse,
)
from shiftreset_ad.staging.native.memory import Memory, Roots
from shiftreset_ad.staging.native.operations import ask, emit
from shiftreset_ad.staging.native.slots import Slots, parts_of
from shiftreset_ad.staging.native.tags import is_numpys, tag_at, tagged
from shiftreset_ad.staging.native.types import Types
from shiftreset_ad.staging.python.control import has_nan
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.generation import asked, known_of
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Call, Control, Gather, all_steps, own_arguments
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.trace import Step, Trace, owners_of
from shiftreset_ad.staging.steps.values import Staged, staged_in, unstaged

INVALID, DIVIDE, OVER, UNDER = 1, 4, 8, 16  # the machine's flags, as x86 has them
FLAG_OF = {"invalid": INVALID, "divide": DIVIDE, "over": OVER, "under": UNDER}


class Leaf(NamedTuple):
    """A value that Python gives or gets: its type, and its slot; or a constant. An answer that is an array has no slot.

    `example` is the array that was recorded, and `offset` says where in the memory the array lies; the `constant` of an
    array is its name in the text. If there is a slot with a `tag`, the value is of this type or of another one.
    """

    kind: Any
    slot: int | None
    constant: Any = None
    example: Any = None
    offset: int = 0
    tag: int | None = None


class Program:
    """The steps of a trace as functions, and where their values lie.

    `text` has the functions, of which `run` takes the frame of `slots` and returns a status. `inputs` and `outputs` say
    which slot has which argument and which answer; an input that no step needs has no slot. `memory` is the number of
    bytes for arrays, and `constants` are arrays that the text names. `flags` are those by which NumPy would warn.
    `questions` are those of the NumPy steps, in their order: if the type of an answer may depend on values, the NumPy
    steps ask for it, and native code leaves.
    """

    __slots__ = (
        *("constants", "flags", "has_frames", "inputs", "looks", "memory", "outputs", "questions", "slots"),
        "text",
    )

    def __init__(self, trace: Trace, outputs: list[Any], left: Eliminated) -> None:
        if trace.refusal is not None:
            refuse(trace.refusal)
        if any(isinstance(step, Call) for step in all_steps(left.steps)):
            refuse("it has functions that call themselves")
        self.flags = 0
        self.questions: list[Step] = []
        self.constants: list[ndarray[Any, Any]] = []
        whole = _Whole(trace, left, outputs, self)
        slots, memory = whole.slots, whole.memory
        parts = []
        now = -1
        for number, steps in enumerate(parts_of(left.steps)):
            part = _Part(number, whole, now)
            for step in steps:
                part.add(step)
            part.finish()
            parts.append(part)
            now = part.now
        last = _Part(len(parts), whole, now)
        if trace.has_control:
            last.leave_if_nan(outputs)
        self.inputs = [_input(trace.values[place], slots.of.get(place)) for place in range(trace.inputs)]
        self.outputs = [last.output(x) for x in outputs]
        last.finish()
        if trace.has_control:
            parts.append(last)
        owners = [id(owner) for x in outputs for owner in owners_of(unstaged(x))]
        roots = [memory.root(place) for place in left.places_in(outputs) if form_of(trace.values[place]) == ARRAY]
        if len(set(owners)) < len(owners) or len(set(roots)) < len(roots):
            refuse("it returns arrays that share memory")
        self.memory = memory.size
        self.slots = slots.count
        used = dict.fromkeys(text for part in (*parts, last) for text in part.used)
        self.looks = LOOK in used
        self.has_frames = any("@new_frame(" in line for part in parts for line in part.lines)
        if self.has_frames:
            used[FUNCTIONS_OF_FRAMES] = None
        functions = [
            function(f"i64 @part{part.number}(ptr noalias %frame, ptr noalias %memory) noinline", part.whole())
            for part in parts
        ]
        self.text = "\n".join(
            [*used, *functions, function("i64 @run(ptr %frame, ptr %memory) noinline", _calls(len(parts)))]
        )


def flags_of(step: Step, trace: Trace, types: Types) -> int:
    """The flags by which NumPy would react to the errors of a step."""
    found = types.at(step.place).union(*map(types.of, own_arguments(step)))
    if not isinstance(step.function, np.ufunc) and not any(issubclass(kind, np.generic | ndarray) for kind in found):
        return 0
    reactions: Any = step.errors or trace.errors
    if "raise" in reactions.values():
        refuse("floating-point errors raise exceptions in it")
    return sum(flag for name, flag in FLAG_OF.items() if reactions[name] != "ignore")


def _input(value: Any, slot: int | None) -> Leaf:
    return Leaf(type(value), slot, example=value if isinstance(value, ndarray) else None)


def _calls(parts: int) -> Iterator[str]:
    """The lines of `run`: one part after another, as long as none has another status than `DONE`."""
    for number in range(parts):
        yield f"  %status{number} = call i64 @part{number}(ptr %frame, ptr %memory)"
        yield f"  %is_done{number} = icmp eq i64 %status{number}, {DONE}"
        yield f"  br i1 %is_done{number}, label %on{number}, label %stop{number}"
        yield f"stop{number}:"
        yield f"  ret i64 %status{number}"
        yield f"on{number}:"
    yield f"  ret i64 {DONE}"


def _is_contiguous(x: ndarray[Any, Any]) -> bool:
    return x.flags.c_contiguous or x.flags.f_contiguous


class _Whole:
    """What the functions of a program share."""

    def __init__(self, trace: Trace, left: Eliminated, outputs: list[Any], program: Program) -> None:
        self.trace = trace
        self.left = left
        self.program = program
        self.slots = Slots(trace, left, outputs)
        self.memory = Memory(trace, left, outputs, Additions(trace, left, outputs))
        self.types = Types(trace, left)
        self.uses = Uses(trace, Roots(left, self.memory), outputs)
        self.memory.keep_for_frames(self.uses, trace.homes)
        self.tagged = tagged(left, self.types, outputs)


class _Part(ControlCode):
    """Some of the steps, as the code of a function."""

    __slots__ = ("_left", "_loaded", "_slots", "_whole", "number")

    def __init__(self, number: int, whole: _Whole, now: int) -> None:
        super().__init__(whole.uses, whole.tagged, whole.memory, whole.program.constants, now)
        self.number = number
        self._left = whole.left
        self._slots = whole.slots
        self._whole = whole
        self._loaded: set[int] = set()

    def add(self, step: Step) -> None:
        trace, program = self._whole.trace, self._whole.program
        self.now += 1
        if isinstance(step, Gather):
            self.gather(step)
            return
        if isinstance(step, Control):
            self.control(step)
            return
        program.flags |= flags_of(step, trace, self._whole.types)
        answer = trace.values[step.place]
        args = tuple([self.argument(arg) for arg in step.args])
        if step.is_question:
            ask(self, step, args, len(program.questions))
            program.questions.append(asked(step, step.expected))
            return
        if any(form_of(unstaged(x)) == ARRAY for x in (*staged_in(args), *args, answer)):
            self.add_of_arrays(step, args, answer)
        else:
            emit(self, step, args, answer)
        if step.open_ended:
            if len(self._whole.types.at(step.place)) > 1:
                refuse(f"{name_in_program(step.function)} may give another type in another round")
            program.questions.append(asked(step, known_of(answer)))
        if step.place in self.tagged:
            self.add_tag(step.place, args)
        if form_of(answer) != ARRAY:
            self.keep(step.place)

    def add_tag(self, place: int, args: tuple[Any, ...]) -> None:
        """Whether one of the arguments is NumPy's."""
        tag = "false"
        for arg in args:
            tag = self.new(f"or i1 {tag}, {self.tag(arg)}")
        self.known[tag_at(place)] = Value(tag, TRUTH)
        self.keep(tag_at(place))

    def keep(self, place: int) -> None:
        of = max(place, tag_at(place))
        if of in self.uses.elsewhere and self.uses.is_of_branch(of):
            self.keep_in_variable(place)
        if self._slots.is_needed_after(place, self.number):
            text, form = self.known[place]
            slot = self.slot(self._slots.take(place))
            if form == TRUTH:
                text, form = self.new(f"zext i1 {text} to i64"), INTEGER
            self.lines.append(f"  store {form} {text}, ptr {slot}")

    def value_at(self, place: int) -> Value:
        if place not in self.known:
            self.known[place] = self.load_at(place)
        return self.known[place]

    def form_at(self, place: int) -> str:
        if place < 0:
            return TRUTH
        value = self._whole.trace.values[place]
        if type(value) is list:  # of frames
            return ARRAY
        form = form_of(value)
        return refuse(f"it computes with {described(value)}") if form is None or form == ARRAY else form

    def array_at(self, place: int) -> Any:
        value = self._whole.trace.values[place] if place >= 0 else None
        return value if form_of(value) == ARRAY else None

    def types(self, x: Any) -> frozenset[type]:
        return self._whole.types.of(x)

    def leave_if_nan(self, outputs: list[Any]) -> None:
        """Leave if an answer is NaN, as the steps by NumPy do."""
        for x in outputs:
            if type(x) is not Staged or x._place in self._left.fixed:
                if has_nan(unstaged(x)):
                    refuse("it has loops or branches, and returns NaN")
            elif form_of(x.inside) == ARRAY and x.inside.dtype == np.float64:
                self.leave_if(self.is_nan_in(x))
            elif form_of(x.inside) == DOUBLE:
                text = self.double(self.argument(x))
                self.leave_if(self.new(f"fcmp uno double {text}, {text}"))

    def output(self, x: Any) -> Leaf:
        """What Python gets of a value. A constant array is copied for each call."""
        value, slots = unstaged(x), self._slots
        if type(x) is not Staged or x._place in self._left.fixed:
            if not isinstance(value, ndarray):
                return Leaf(None, None, value)
            if form_of(value) != ARRAY or not _is_contiguous(value):
                refuse(f"it returns a constant, {described(value)}")
            return Leaf(ndarray, None, self.address(value), value)
        place = self.place(x)
        if form_of(value) == ARRAY:
            root, offset = self.memory.address(place)
            if place in slots.of or not self.memory.has_block(root) or not _is_contiguous(value):
                refuse("it returns a view")
            return Leaf(ndarray, None, example=value, offset=self.memory.block(root) + offset)
        if form_of(value) is None or isinstance(value, ndarray):
            refuse(f"it returns {described(value)}")
        kinds, tag = self._whole.types.at(place), slots.of.get(tag_at(place))
        if tag is None and len(kinds) > 1:
            refuse("it returns a number that may be Python's or NumPy's")
        kind = next(kind for kind in kinds if tag is None or not is_numpys(kind))
        return Leaf(kind, slots.of[place], tag=tag)

    def given(self, place: int) -> str:
        return self.new(f"load ptr, ptr {self.slot(self._slots.of[place])}")

    def argument(self, x: Any) -> Any:
        """An argument, with the values of what is the same for all inputs."""
        if type(x) is Staged:
            return x.inside if x._place in self._left.fixed else x
        if type(x) is slice:
            return slice(*map(self.argument, (x.start, x.stop, x.step)))
        return type(x)(map(self.argument, x)) if type(x) in (list, tuple) else x

    def place(self, x: Staged) -> int:
        return self._left.place(x)

    def load(self, x: Staged) -> Value:
        """A value that Python, another part, or another branch has left."""
        return self.load_at(self.place(x))

    def load_at(self, place: int) -> Value:
        if (kept := self.kept(place)) is not None:
            return kept
        form = self.form_at(place)
        if place not in self._slots.of:
            refuse("it returns a number of a visited round that may be Python's or NumPy's")
        self._loaded.add(place)
        text = self.new(f"load {INTEGER if form == TRUTH else form}, ptr {self.slot(self._slots.of[place])}")
        return Value(self.new(f"trunc i64 {text} to i1") if form == TRUTH else text, form)

    def slot(self, number: int) -> str:
        """The address of a slot."""
        return self.new(f"getelementptr i64, ptr %frame, i64 {number}")

    def finish(self) -> None:
        """End the function, and free the slots that no later part needs."""
        self.write_rest()
        self.end(DONE)
        for place in sorted(self._loaded):
            if not self._slots.is_needed_after(place, self.number):
                self._slots.free(place)
