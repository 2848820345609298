"""Foreign calls: steps without a native form are carried out by NumPy, which native code calls.

Such steps wait for one another, and share a call: a function of Python's gets their operands, arrays as views of native
memory, and answers what is needed later. What it answers is checked, and copied to native memory. A value that has no
form, such as a tuple or an array of complex numbers, may be made and used inside a call.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from numpy import ndarray

from shiftreset_ad.numbers.plain_arrays import WRITEABLE
from shiftreset_ad.staging.native.exchange import DTYPES, KINDS, NUMPYS, PYTHONS
from shiftreset_ad.staging.native.layouts import bytes_of
from shiftreset_ad.staging.native.limited import LimitedCode
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DONE,
    DOUBLE,
    INTEGER,
    LEAVE,
    TRUTH,
    Value,
    described,
    form_of,
    has_address,
    refuse,
)
from shiftreset_ad.staging.native.mathematics import longs
from shiftreset_ad.staging.native.paying import cost_of_call, weight
from shiftreset_ad.staging.native.shared import Shared
from shiftreset_ad.staging.native.tags import EITHER, tag_at
from shiftreset_ad.staging.python.expressions import asked, known_of
from shiftreset_ad.staging.python.pieces import piece
from shiftreset_ad.staging.steps.blocks import operands_of
from shiftreset_ad.staging.steps.trace import Step


class ForeignCode(LimitedCode):
    """The code of a function with calls of Python in it."""

    __slots__ = ("_numbers", "_waiting", "shared")

    def __init__(self, shared: Shared, now: int) -> None:
        super().__init__(shared.uses, shared.tagged, shared.memory, shared.constants, now)
        self.shared = shared
        self.loops = shared.loops
        self._waiting: list[Step] = []  # for their call
        self._numbers: dict[Step, int] = {}  # of the questions among them

    # Which steps wait

    def wait_for_python(self, step: Step) -> None:
        """Let a step wait for its call. Steps that wait for their loop come first."""
        self._write_loop(self.now - 1)
        if self._is_view_of_waiting(step):
            self._write_call(self.now - 1)
        self._require_forms(step)
        if step.is_question or step.open_ended:
            expected = step.expected if step.is_question else known_of(self.shared.trace.values[step.place])
            self._numbers[step] = len(self.shared.questions)
            self.shared.questions.append(asked(step, expected))
        self._waiting.append(step)

    def joins(self, step: Step) -> bool:
        """Whether a step that has a native form joins those that wait; otherwise it may end their waiting.

        It joins them if it would part a value that has no form from a step that needs the value.
        """
        if not self._waiting or self._may_pass(step):
            return False
        is_parted = any(form_of(self._value(place)) is None for place in self._needed(self._waiting))
        if is_parted and self.shared.may_be_foreign(step):
            return True
        self._write_call(self.now - 1)
        return False

    def write_waiting(self) -> None:
        super().write_waiting()
        self._write_call(self.now - 1)

    def write_rest(self) -> None:
        super().write_rest()
        self._write_call(self.now)

    def _may_pass(self, step: Step) -> bool:
        """Whether a step on numbers needs nothing that waits, so that it may be written before."""
        if step.is_question or step.writes:
            return False
        values = [self._value(step.place), *[x.inside for x in operands_of(step)]]
        waiting = {other.place for other in self._waiting}
        return waiting.isdisjoint(self.shared.left.operands(step)) and all(
            form_of(value) in (DOUBLE, INTEGER, TRUTH) for value in values
        )

    def _is_view_of_waiting(self, step: Step) -> bool:
        root = self.memory.root(step.place)
        return root != step.place and any(other.place == root for other in self._waiting)

    def _require_forms(self, step: Step) -> None:
        """Refuse a step that needs a value without a form, unless the value waits, too, or Python has given it."""
        waiting = {other.place for other in self._waiting}
        for place in self.shared.left.operands(step):
            if form_of(self._value(place)) is None and place not in waiting and not self._is_input(place):
                refuse(f"it keeps {described(self._value(place))}")

    def _is_input(self, place: int) -> bool:
        return place < self.shared.trace.inputs

    def _value(self, place: int) -> Any:
        return self.shared.trace.values[place]

    def _needed(self, steps: list[Step]) -> list[int]:
        """The places of the answers that other steps need. Of a view, the array of which it is one counts."""
        root, count = self.memory.root, self.uses.count
        inside = Counter(root(place) for step in steps for place in self.shared.left.operands(step))
        made = [step.place for step in steps if not step.is_question]
        return [place for place in made if root(place) != place or count[place] > inside[place]]

    # The call

    def _write_call(self, number: int) -> None:
        """Write the call of the steps that wait, up to this step."""
        if not self._waiting:
            return
        steps, self._waiting = self._waiting, []
        self.leave_now()  # before Python computes with wrong values, and warns of them
        answers, made = self._needed(steps), {step.place for step in steps}
        if formless := [place for place in answers if form_of(self._value(place)) is None]:
            refuse(f"it keeps {described(self._value(formless[0]))}")
        operands = dict.fromkeys(place for step in steps for place in self.shared.left.operands(step))
        params = [place for place in operands if place not in made]
        shared = self.shared
        shared.gain -= weight(shared.trace.homes[steps[0].place]) * cost_of_call(
            [self._value(place) for place in params], [self._value(place) for place in answers]
        )
        shared.foreign.append(piece(shared.trace, shared.left, steps, params, answers, self._numbers))
        shared.steps_of_foreign += steps
        self._return_unless_done(self.new("call i64 @before_call(ptr %frame)"))
        given = self.fresh()
        self.variables.append(f"  {given} = alloca [{len(params) or 1} x ptr]")
        for i, place in enumerate(params):
            x = self._given(place)
            self.lines.append(f"  store ptr {x}, ptr {self.new(f'getelementptr ptr, ptr {given}, i64 {i}')}")
        to, call = self.variable(ARRAY), f"i64 {len(shared.foreign) - 1}, ptr {given}, i64 {len(params)}"
        self._return_unless_done(self.new(f"call i64 @call_python(ptr %frame, {call}, ptr {to})"))
        self._take(self.new(f"load ptr, ptr {to}"), answers)
        self.memory.free_after(number)

    def _return_unless_done(self, status: str) -> None:
        is_done, on, stop = self.new(f"icmp eq i64 {status}, {DONE}"), self.fresh()[1:], self.fresh()[1:]
        self.lines += [f"  br i1 {is_done}, label %{on}, label %{stop}", f"{stop}:", *self.returning(status), f"{on}:"]

    def _given(self, place: int) -> str:
        """A new object for the value at a place."""
        x = self._value(place)
        form = form_of(x)
        if form == ARRAY or (form is None and has_address(x)):
            return self._view(self.address_at(place), x)
        if form is None:  # an input that is an object
            given = self.given(place)
            self.lines.append(f"  call void @Py_IncRef(ptr {given})")
            return given
        text, kinds = self.value_at(place).text, self.shared.types.at(place)
        if form == DOUBLE and kinds == {ndarray}:
            at = self.variable(DOUBLE)
            self.lines.append(f"  store double {text}, ptr {at}")
            return self._view(at, x)
        kind = f"{KINDS[next(iter(kinds))]}"
        if len(kinds) > 1:
            if kinds not in EITHER or place not in self.tagged:
                refuse("it calls NumPy with a number that may be Python's or NumPy's")
            kind = self.new(f"select i1 {self.value_at(tag_at(place)).text}, i64 {NUMPYS}, i64 {PYTHONS}")
        return self.new(f"call ptr @given_{form}({form} {text}, i64 {kind})")

    def _view(self, address: str, x: ndarray[Any, Any]) -> str:
        both = f"ptr {longs(self, x.shape)}, ptr {longs(self, x.strides)}" if x.shape else "ptr null, ptr null"
        options = f"i32 {x.dtype.num}, i32 {x.flags.num & WRITEABLE}"
        return self.new(f"call ptr @given_array(ptr {address}, i32 {x.ndim}, {both}, {options})")

    def _take(self, found: str, places: list[int]) -> None:
        """Take the answers from the tuple in which they are. The code leaves if one is not as it was recorded."""
        are_right, numbers = "true", []
        for i, place in enumerate(places):
            y, x = self.new(f"call ptr @item(ptr {found}, i64 {i})"), self._value(place)
            if (form := form_of(x)) == ARRAY:
                is_right = self._take_array(y, place, x)
            else:
                to, kind = self.variable(f"{form}"), self.variable(INTEGER)
                kinds = sum({KINDS[kind] for kind in self.shared.types.at(place)})
                is_right = self.new(f"call i1 @taken_{form}(ptr {y}, i64 {kinds}, ptr {to}, ptr {kind})")
                numbers.append((place, form, to, kind))
            are_right = self.new(f"and i1 {are_right}, {is_right}")
        self.lines.append(f"  call void @Py_DecRef(ptr {found})")
        self.exit_if(self.new(f"xor i1 {are_right}, true"), LEAVE)
        for place, form, to, kind in numbers:
            self.known[place] = Value(self.new(f"load {form}, ptr {to}"), f"{form}")
            if place in self.tagged:
                is_numpys = self.new(f"icmp ne i64 {self.new(f'load i64, ptr {kind}')}, {PYTHONS}")
                self.known[tag_at(place)] = Value(is_numpys, TRUTH)
                self.keep(tag_at(place))
            self.keep(place)

    def _take_array(self, y: str, place: int, x: ndarray[Any, Any]) -> str:
        """Whether an array is as it was recorded. It is copied; but a view must lie where the recorded one did."""
        layout = f"i32 {x.ndim}, ptr {longs(self, x.shape)}, ptr {longs(self, x.strides)}"
        like = f"ptr {y}, ptr @{DTYPES[x.dtype.char]}, {layout}"
        if self.memory.root(place) != place:
            return self.new(f"call i1 @seen_array({like}, ptr {self.address_at(place)})")
        to = self.new_block(place, x)
        return self.new(f"call i1 @taken_array({like}, ptr {to}, i64 {bytes_of(x)})")
