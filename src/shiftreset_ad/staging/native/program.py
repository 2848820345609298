"""A program is all steps of a way, as functions of LLVM's that hand values to one another in a frame.

The time that LLVM takes for a function grows faster than its length. So a function has a few hundred steps, and values
that later functions need have a slot in the frame. A slot is used again when its value is not needed any more.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from shiftreset_ad.staging.native import lock
from shiftreset_ad.staging.native.alike import part, with_alike
from shiftreset_ad.staging.native.arrays import has_no_form
from shiftreset_ad.staging.native.calls import CallingCode
from shiftreset_ad.staging.native.computed_again import with_less_kept
from shiftreset_ad.staging.native.effort import ONCE
from shiftreset_ad.staging.native.extremes import are_equal
from shiftreset_ad.staging.native.frames import FUNCTIONS as FUNCTIONS_OF_FRAMES
from shiftreset_ad.staging.native.given import answers_and_what_they_may_be
from shiftreset_ad.staging.native.layouts import bytes_of
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DONE,
    DOUBLE,
    NoNativeFormError,
    Value,
    described,
    form_of,
    function,
    has_address,
    refuse,
)
from shiftreset_ad.staging.native.loops import operand
from shiftreset_ad.staging.native.order import in_order
from shiftreset_ad.staging.native.owners import (
    Owner,
    is_like_a_new_array,
    made_as_answers,
    needs_owner,
    roots_of_several,
)
from shiftreset_ad.staging.native.paying import pays
from shiftreset_ad.staging.native.shared import Shared
from shiftreset_ad.staging.native.sharing import with_places
from shiftreset_ad.staging.native.tables import WORDS, Tables
from shiftreset_ad.staging.native.tags import is_numpys, tag_at
from shiftreset_ad.staging.python.control import has_nan
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.steps.blocks import all_steps
from shiftreset_ad.staging.steps.functions import INFIX, name_in_program
from shiftreset_ad.staging.steps.memory import owner_of, owners_of
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged


class Leaf(NamedTuple):
    """A value that Python gives or gets: its type, and its slot; or a constant.

    `example` is the array that was recorded, and `offset` says where in the memory the array lies; the `constant` of an
    array is its name in the text. If there is a slot with a `tag`, the value is of this type or of another one. An
    answer that is an array is an `owner`, a view of one from `offset` on, or a copy. Native code hands an input on to
    Python as it is if it `is_object`: it has no form.
    """

    kind: Any
    slot: int | None
    constant: Any = None
    example: Any = None
    offset: int = 0
    tag: int | None = None
    is_object: bool = False
    owner: Owner | None = None
    is_view: bool = False

    @property
    def is_named(self) -> bool:
        """Whether the answer is a copy of a constant array, which the entry names."""
        return self.kind is ndarray and self.constant is not None


class Program:
    """The steps of a trace as functions, and where their values lie.

    `text` has the functions, of which `run` takes the frame of `slots` and returns a status. `inputs` and `outputs` say
    which slot has which argument and which answer; an input that no step needs has no slot. `memory` is the number of
    bytes for arrays, `constants` are arrays that the text names, and `words` are those of its tables. `flags` are those
    by which NumPy would warn. `questions` are those of the NumPy steps, in their order: if the type of an answer may
    depend on values, the NumPy steps ask for it, and native code leaves. It `calls` if it has functions that call
    themselves. `foreign` are the functions of Python's that it calls, `by_python` the names of what they carry out.
    `once` tells LLVM what effort to make for a function that a run calls once.

    What has no native form is met while the code is written, unless its function tells it. Then the code is written
    again, and these steps are foreign.
    """

    __slots__ = (
        *("by_python", "calls", "constants", "flags", "foreign", "has_frames", "inputs", "is_large", "looks", "memory"),
        *("once", "outputs", "questions", "slots", "text", "words"),
    )

    def __init__(self, trace: Trace, outputs: list[Any], left: Eliminated) -> None:
        if trace.refusal is not None:
            refuse(trace.refusal)
        left = in_order(trace, with_less_kept(trace, left))
        reasons = {
            step.place: reason for step in all_steps(left.steps) if (reason := has_no_form(step, trace)) is not None
        }
        loops: dict[Any, Any] = {}
        while True:
            shared = Shared(trace, left, outputs, {*reasons}, loops)
            try:
                self._write(shared, outputs)
            except NoNativeFormError as error:
                if error.place is not None:
                    shared.met.setdefault(error.place, f"{error}")
                elif not shared.met:
                    raise
            except Exception:  # of code that is not as it should be, as a step has turned out to be foreign
                if not shared.met:
                    raise
            if not shared.met:
                break
            reasons.update(shared.met)
        if shared.foreign and not pays(shared.gain):
            refuse(next(iter(reasons.values())))

    def _write(self, shared: Shared, outputs: list[Any]) -> None:
        trace, left, slots, memory = shared.trace, shared.left, shared.slots, shared.memory
        together = roots_of_several(trace, left, memory, outputs)
        made = made_as_answers(trace, left, memory, outputs, together)
        memory.answers = {place for place in made if place not in shared.without_form}
        for place in sorted(memory.answers):
            slots.take(place)
        parts = []
        now = -1
        for number, steps in enumerate(slots.parts):
            code = _Part(number, shared, now)
            for step in steps:
                code.add(step)
            code.finish()
            parts.append(code)
            now = code.now
        last = _Part(len(parts), shared, now)
        if trace.carries_zeros:
            last.leave_if_nan(outputs)
        self.inputs = [_input(trace.values[place], slots.of.get(place)) for place in range(trace.inputs)]
        self.outputs = [last.output(x, together) for x in outputs]
        if trace.has_control:
            for sides in answers_and_what_they_may_be(trace, left, memory, outputs):
                answer, given = [operand(last.address(side), unstaged(side)) for side in sides]
                last.leave_if(are_equal(last, answer, given, False))
        last.finish()
        if trace.carries_zeros:
            parts.append(last)
        self.flags, self.questions, self.constants = shared.flags, shared.questions, shared.constants.arrays
        self.foreign = shared.foreign
        self.by_python = [*dict.fromkeys(_name_of(step) for step in shared.steps_of_foreign)]
        self.memory = memory.size
        self.slots = slots.count
        self.calls = len(shared.functions) > 0
        used = dict.fromkeys(text for code in (*parts, last) for text in code.used)
        self.looks = lock.LOOK in used
        answers = [trace.values[step.place] for step in left.steps if step.place is not None]
        self.is_large = sum(answer.size for answer in answers if isinstance(answer, ndarray)) > lock.MANY
        if self.may_release:
            used[lock.FUNCTIONS] = None
        functions = [*shared.texts, *[part(one.number, one.whole()) for one in parts]]
        self.has_frames = any("@new_chunk(" in text for text in functions)
        if self.has_frames:
            used[FUNCTIONS_OF_FRAMES] = None
        tables = Tables()
        definitions, functions = with_places(
            used,
            functions,
            [leaf.constant for leaf in self.outputs if leaf.is_named],
            tables if slots.is_long else None,
            has_control=trace.has_control,
        )
        count = len(shared.texts)
        of_parts, calls = with_alike(functions[count:], tables.words)
        self.words = tables.words
        if self.words:
            definitions.append(f"@{WORDS} = external constant i32")
        self.once = ONCE if tables.functions else ""
        run = function(f"i64 @run(ptr %frame, ptr %memory){self.once or ' noinline'}", _calls(calls))
        self.text = "\n".join([*definitions, *functions[:count], *of_parts, run])

    @property
    def may_release(self) -> bool:
        """Whether a run may release the lock of the interpreter."""
        return self.looks or self.is_large or bool(self.foreign)

    @property
    def may_raise(self) -> bool:
        """Whether a run may end with an error of Python's."""
        return self.looks or bool(self.foreign)


def _name_of(step: Step) -> str:
    """What a step is in a user's program."""
    if step.function is operator.getitem:
        return "x[i]"
    return f"x {INFIX[step.function]} y" if step.function in INFIX else name_in_program(step.function)


def _input(value: Any, slot: int | None) -> Leaf:
    is_object = form_of(value) is None and not has_address(value)
    return Leaf(type(value), slot, example=value if isinstance(value, ndarray) else None, is_object=is_object)


def _calls(calls: list[str]) -> Iterator[str]:
    """The lines of `run`: one part after another, as long as none has another status than `DONE`."""
    for number, call in enumerate(calls):
        if call.startswith("void"):
            yield f"  call {call}"
            continue
        yield f"  %status{number} = call {call}"
        yield f"  %is_done{number} = icmp eq i64 %status{number}, {DONE}"
        yield f"  br i1 %is_done{number}, label %on{number}, label %stop{number}"
        yield f"stop{number}:"
        yield f"  ret i64 %status{number}"
        yield f"on{number}:"
    yield f"  ret i64 {DONE}"


class _Part(CallingCode):
    """Some of the steps, as the code of a function."""

    __slots__ = ("_loaded", "number")

    def __init__(self, number: int, shared: Shared, now: int) -> None:
        super().__init__(shared, now)
        self.number = number
        self._loaded: set[int] = set()

    def keep(self, place: int) -> None:
        super().keep(place)
        slots = self.shared.slots
        if slots.is_needed_after(place, self.number):
            self.store_word(self.known[place], self.slot(slots.take(place)))

    def leave_if_nan(self, outputs: list[Any]) -> None:
        """Leave if an answer is NaN, as the steps by NumPy do."""
        for x in outputs:
            if type(x) is not Staged or x._place in self.shared.left.fixed:
                if has_nan(unstaged(x)):
                    refuse("it has loops, branches or choices, and returns NaN")
            elif form_of(x.inside) == ARRAY and x.inside.dtype == np.float64:
                self.leave_if(self.is_nan_in(x))
            elif form_of(x.inside) == DOUBLE:
                text = self.double(self.argument(x))
                self.leave_if(self.new(f"fcmp uno double {text}, {text}"))

    def output(self, x: Any, together: set[int]) -> Leaf:
        """What Python gets of a value, if several answers share the arrays in `together`.

        A constant array is copied for each call.
        """
        value, slots = unstaged(x), self.shared.slots
        if type(x) is not Staged or x._place in self.shared.left.fixed:
            if not isinstance(value, ndarray):
                return Leaf(None, None, value)
            if form_of(value) != ARRAY or not is_like_a_new_array(value):
                refuse(f"it returns a constant, {described(value)}")
            return Leaf(ndarray, None, self.address(value), value)
        place = self.place(x)
        if form_of(value) == ARRAY:
            return self._array(place, value, together)
        if form_of(value) is None or isinstance(value, ndarray | np.int64):
            refuse(f"it returns {described(value)}")
        kinds, tag = self.shared.types.at(place), slots.of.get(tag_at(place))
        if tag is None and len(kinds) > 1:
            refuse("it returns a number that may be Python's or NumPy's")
        kind = next(kind for kind in kinds if tag is None or not is_numpys(kind))
        return Leaf(kind, slots.of[place], tag=tag)

    def _array(self, place: int, value: ndarray[Any, Any], together: set[int]) -> Leaf:
        """An array: one that the steps write to, a view of one, or a copy of elements in the frame."""
        slots, memory = self.shared.slots, self.memory
        root, offset = memory.address(place)
        whole = self.shared.trace.values[root]
        if self._is_of_an_argument(value):
            refuse("it returns a view of an argument")
        if root in memory.answers:
            owner = Owner(root, whole, slots.of[root])
            return Leaf(ndarray, None, example=value, offset=offset, owner=owner, is_view=place != root)
        if place in slots.of or not memory.has_block(root):
            refuse("it returns a view of what it sees from outside")
        start = memory.block(root)
        if needs_owner(root, value, together):
            if not is_like_a_new_array(whole):
                whole = np.empty(bytes_of(whole) // whole.itemsize, whole.dtype)
            owner = Owner(root, whole, None, start)
            return Leaf(ndarray, None, example=value, offset=offset, owner=owner, is_view=True)
        return Leaf(ndarray, None, example=value, offset=start + offset)

    def _is_of_an_argument(self, value: ndarray[Any, Any]) -> bool:
        """Whether an array lies in memory of an argument, though native code copies its elements.

        What control may answer is known better by `given`.
        """
        trace = self.shared.trace
        return not trace.has_control and any(
            owner_of(value) is owner for x in trace.values[: trace.inputs] for owner in owners_of(x)
        )

    def given(self, place: int) -> str:
        return self.new(f"load ptr, ptr {self.slot(self.shared.slots.of[place])}")

    def load_from_outside(self, place: int) -> Value:
        form, slots = self.form_at(place), self.shared.slots
        if place not in slots.of:
            refuse("it returns a number of a visited round that may be Python's or NumPy's")
        self._loaded.add(place)
        return self.load_word(self.slot(slots.of[place]), form)

    def finish(self) -> None:
        """End the function, and free the slots that no later part needs."""
        self.write_rest()
        self.end(DONE)
        for place in sorted(self._loaded):
            if not self.shared.slots.is_needed_after(place, self.number):
                self.shared.slots.free(place)
