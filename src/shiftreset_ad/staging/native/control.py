"""Loops and branches in native code: real loops and branches, and the frames of rounds in memory.

What is carried from round to round, and what a branch makes for later ones, is in variables. A block ends by leaving if
one of its steps would have raised an error, so no loop goes on with values that Python would not have. A loop looks now
and then whether the user has interrupted the program.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from shiftreset_ad.staging.native.frames import END, FIRST_SLOT, NEWEST, NEXT, PREVIOUS, TOP
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DOUBLE,
    INTEGER,
    INTERRUPTED,
    LEAVE,
    TRUTH,
    Code,
    Value,
    described,
    form_of,
    refuse,
)
from shiftreset_ad.staging.native.tags import Tag, is_numpys, tag_at
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Control, Fork, Loop, all_steps
from shiftreset_ad.staging.steps.trace import Block, Step
from shiftreset_ad.staging.steps.values import unstaged

STEPS_BETWEEN_LOOKS = 2**18  # some milliseconds
LOOK = """
define internal i64 @look(ptr %frame) noinline cold {
  call void @note_flags(ptr %frame)
  %thread = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %thread)
  %problem = call i32 @PyErr_CheckSignals()
  %status = sext i32 %problem to i64
  ret i64 %status
}
""".strip()  # other threads have their turn, too


class ControlCode(Code):
    """The code of a function with loops and branches."""

    __slots__ = ("_done", "_kept", "tagged", "uses")

    def __init__(self, uses: Uses, tagged: set[int]) -> None:
        super().__init__()
        self.uses = uses
        self.tagged = tagged
        self._kept: dict[int, Value] = {}  # variables of values that were made in a branch, and are used elsewhere
        self._done = ""  # the variable that counts the steps since the last look

    @abstractmethod
    def add(self, step: Step) -> None:
        """Write a step."""

    @abstractmethod
    def value_at(self, place: int) -> Value:
        """The value at a place."""

    @abstractmethod
    def keep(self, place: int) -> None:
        """Keep a value for others that need it."""

    def control(self, step: Control) -> None:
        """Write a step with blocks."""
        if isinstance(step, Fork):
            self._fork(step)
        elif isinstance(step, Loop):
            self._loop(step)
        else:
            self._visit(step)

    # Blocks

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Write lines that later lines outside may not have seen: what becomes known in them is forgotten."""
        known, leaves = self.known, self.leaves
        self.known = dict(known)
        yield
        self.known, self.leaves = known, leaves

    def _block(self, block: Block, results: Sequence[Any], like: Sequence[Any]) -> list[Value]:
        """The steps of a block, and its results in the forms of these values."""
        for step in block.steps:
            self.add(step)
        values = [self._in_form(x, form_of_number(y)) for x, y in zip(results, like, strict=True)]
        self.leave_now()
        return values

    def _in_form(self, x: Any, form: str) -> Value:
        if type(x) is Tag:
            return Value(self.tag(x.of), TRUTH)
        texts = {DOUBLE: self.double, INTEGER: self.integer, TRUTH: self.truth}
        if form_of(unstaged(x)) != form:
            refuse(f"a loop or a branch has {described(unstaged(x))} for a value of another type")
        return Value(texts[form](x), form)

    def _set(self, variables: list[Value], values: list[Value]) -> None:
        for (name, form), (text, _) in zip(variables, values, strict=True):
            self.lines.append(f"  store {form} {text}, ptr {name}")

    def _get(self, places: list[int], variables: list[Value]) -> None:
        for place, (name, form) in zip(places, variables, strict=True):
            self.known[place] = Value(self.new(f"load {form}, ptr {name}"), form)

    def _answered(self, step: Control, variables: list[Value]) -> None:
        answers = self._with_places_of_tags(step.answers, step.params or step.answers)
        self._get(answers, variables)
        for place in answers:
            self.keep(place)

    def tag(self, x: Any) -> str:
        """Whether an argument is a number of NumPy's."""
        kind, *others = self.types(x)
        return self.value_at(tag_at(self.place(x))).text if others else f"{int(is_numpys(kind))}"

    def _with_tags(self, places: list[int], values: Sequence[Any]) -> list[Any]:
        """The values, and the tags of those at these places that have one."""
        return [*values, *[Tag(x) for place, x in zip(places, values, strict=True) if place in self.tagged]]

    def _with_places_of_tags(self, places: list[int], of: list[int]) -> list[int]:
        """These places, and those of their tags, for the values at the places `of` that have one."""
        return [*places, *[tag_at(place) for place, key in zip(places, of, strict=True) if key in self.tagged]]

    def _goto(self, label: str) -> None:
        """End the lines before a label, and begin those behind it."""
        self.lines += [f"  br label %{label}", f"{label}:"]

    def _labels(self, *names: str) -> list[str]:
        number = self.fresh()[1:]
        return [f"{name}_{number}" for name in names]

    def keep_in_variable(self, place: int) -> None:
        """Keep a value that was made in a branch in a variable."""
        text, form = self.known[place]
        if place not in self._kept:
            self._kept[place] = Value(self.variable(form), form)
        self._set([self._kept[place]], [Value(text, form)])

    def kept(self, place: int) -> Value | None:
        """The value at a place that was made in another branch; None if there is no variable with it."""
        if place not in self._kept:
            return None
        name, form = self._kept[place]
        return Value(self.new(f"load {form}, ptr {name}"), form)

    # A branch

    def _fork(self, step: Fork) -> None:
        branches = [self._with_tags(step.answers, results) for results in step.results]
        variables = [self._variable_like(result) for result in branches[0]]
        yes, no, end = self._labels("yes", "no", "end")
        self.lines.append(f"  br i1 {self.truth(step.predicate)}, label %{yes}, label %{no}")
        for label, block, results in zip((yes, no), step.blocks, branches, strict=True):
            self.lines.append(f"{label}:")
            with self._inside():
                self._set(variables, self._block(block, results, branches[0]))
            self.lines.append(f"  br label %{end}")
        self.lines.append(f"{end}:")
        self._answered(step, variables)

    def _variable_like(self, x: Any) -> Value:
        form = form_of_number(x)
        return Value(self.variable(form), form)

    # A loop

    def _loop(self, step: Any) -> None:
        self.leave_now()  # a loop with wrong values may have no end
        test, body = step.blocks
        variables = self._carried(step)
        keeps, place = step.rounds.place in self.uses.count, step.rounds.place
        last = head = ""
        if keeps:
            head, last = self._new_frame(FIRST_SLOT), self.variable(ARRAY)
            self.lines.append(f"  store ptr {head}, ptr {last}")
        again, round_, end = self._labels("test", "round", "end")
        self._goto(again)
        with self._inside():
            self._get(self._with_places_of_tags(step.params, step.params), variables)
            (goes_on,) = self._block(test, [step.goes_on], [step.goes_on])
            self.lines += [f"  br i1 {self._truth(goes_on)}, label %{round_}, label %{end}", f"{round_}:"]
            with self._releasing(step, body):
                results = self._results(step, body)
            if keeps:
                self._append(step, body, last)
            self._set(variables, results)
            self._look(step)
        self.lines += [f"  br label %{again}", f"{end}:"]
        if keeps:
            at_end = self.new(f"load ptr, ptr {last}")
            self._link(at_end, head)
            self.known[place] = Value(head, ARRAY)
            self.keep(place)
        self._answered(step, variables)

    def _carried(self, step: Control) -> list[Value]:
        values = [self._in_form(arg, form_of_number(arg)) for arg in self._with_tags(step.params, step.args)]
        variables = [Value(self.variable(form), form) for _, form in values]
        self._set(variables, values)
        return variables

    def _results(self, step: Control, body: Block) -> list[Value]:
        """What a round carries into the next one."""
        results, args = (self._with_tags(step.params, values) for values in (step.results[-1], step.args))
        return self._block(body, results, args)

    def _truth(self, x: Value) -> str:
        if x.form == DOUBLE:
            return self.new(f"fcmp une double {x.text}, 0.0")
        return self.new(f"icmp ne i64 {x.text}, 0") if x.form == INTEGER else x.text

    # The rounds of a loop again

    def _visit(self, step: Any) -> None:
        self.leave_now()
        (body,) = step.blocks
        variables, head = self._carried(step), self.value_at(step.rounds.place).text
        link = PREVIOUS if step.is_reversed else NEXT
        at = self.variable(ARRAY)
        self.lines.append(f"  store ptr {self._load_link(head, link)}, ptr {at}")
        again, round_, end = self._labels("visit", "round", "end")
        self._goto(again)
        frame = self.new(f"load ptr, ptr {at}")
        is_over = self.new(f"icmp eq ptr {frame}, {head}")
        self.lines += [f"  br i1 {is_over}, label %{end}, label %{round_}", f"{round_}:"]
        with self._inside():
            self._get(self._with_places_of_tags(step.params, step.params), variables)
            slots = self.uses.slots.get(step.rounds, {})
            for place in self.uses.loads.get(body.origin, []):
                self.known[place] = self._from_slot(frame, slots[place], self.form_at(place))
                self.known.pop(tag_at(place), None)
            with self._releasing(step, body):
                results = self._results(step, body)
            self._store(step, body, frame)
            self._set(variables, results)
            self.lines.append(f"  store ptr {self._load_link(frame, link)}, ptr {at}")
            self._look(step)
        self.lines += [f"  br label %{again}", f"{end}:"]
        self._answered(step, variables)

    @abstractmethod
    def form_at(self, place: int) -> str:
        """The form of the value at a place."""

    # Frames

    def _new_frame(self, size: int) -> str:
        frame = self.new(f"call ptr @new_frame(ptr %frame, i64 {size})")
        self.exit_if(self.new(f"icmp eq ptr {frame}, null"), LEAVE)
        return frame

    def _append(self, step: Any, body: Block, last: str) -> None:
        """A frame for the round, behind the last one."""
        frame = self._new_frame(FIRST_SLOT + 8 * len(self.uses.slots.get(step.rounds, {})))
        self._link(self.new(f"load ptr, ptr {last}"), frame)
        self.lines.append(f"  store ptr {frame}, ptr {last}")
        self._store(step, body, frame)

    def _link(self, frame: str, following: str) -> None:
        self.lines.append(f"  store ptr {following}, ptr {self._at(frame, NEXT)}")
        self.lines.append(f"  store ptr {frame}, ptr {self._at(following, PREVIOUS)}")

    def _load_link(self, frame: str, link: int) -> str:
        return self.new(f"load ptr, ptr {self._at(frame, link)}")

    def _at(self, frame: str, offset: int) -> str:
        return self.new(f"getelementptr i8, ptr {frame}, i64 {offset}")

    def _store(self, step: Any, body: Block, frame: str) -> None:
        """Store the values of a round that later visits need."""
        for place, index in self.uses.stored(body, step.rounds).items():
            text, form = self.value_at(place)
            if form == TRUTH:
                text, form = self.new(f"zext i1 {text} to i64"), INTEGER
            self.lines.append(f"  store {form} {text}, ptr {self._at(frame, FIRST_SLOT + 8 * index)}")

    def _from_slot(self, frame: str, index: int, form: str) -> Value:
        stored = INTEGER if form == TRUTH else form
        text = self.new(f"load {stored}, ptr {self._at(frame, FIRST_SLOT + 8 * index)}")
        return Value(self.new(f"trunc i64 {text} to i1") if form == TRUTH else text, form)

    @contextmanager
    def _releasing(self, step: Any, body: Block) -> Iterator[None]:
        """Write a round. The frames that it makes are released if no later visit needs them."""
        made = {inner.rounds.place for inner in all_steps(body.steps) if isinstance(inner, Loop)}
        made &= self.uses.count.keys()
        if not made or not made.isdisjoint(self.uses.stored(body, step.rounds)):
            yield
            return
        marks = [self.new(f"load ptr, ptr {self.slot(number)}") for number in (TOP, END, NEWEST)]
        yield
        self.lines.append(f"  call void @release(ptr %frame, {', '.join(f'ptr {mark}' for mark in marks)})")

    @abstractmethod
    def slot(self, number: int) -> str:
        """The address of a slot of the function's frame."""

    # Interrupts

    def _look(self, step: Control) -> None:
        """Look for an interrupt if many steps have been done since the last look."""
        if not self._done:
            self._done = self.variable(INTEGER)
            self.use(LOOK)
        before = self.new(f"load i64, ptr {self._done}")
        done = self.new(f"add i64 {before}, {sum(1 for _ in all_steps([step]))}")
        is_due = self.new(f"icmp ugt i64 {done}, {STEPS_BETWEEN_LOOKS}")
        look, on = self._labels("look", "on")
        self.lines += [
            f"  store i64 {done}, ptr {self._done}",
            f"  br i1 {is_due}, label %{look}, label %{on}",
            f"{look}:",
            f"  store i64 0, ptr {self._done}",
        ]
        problem = self.new(f"icmp ne i64 {self.new('call i64 @look(ptr %frame)')}, 0")
        self.exit_if(problem, INTERRUPTED)
        self._goto(on)


def form_of_number(x: Any) -> str:
    """The form of a number that a loop carries or a branch answers."""
    form = TRUTH if type(x) is Tag else form_of(unstaged(x))
    if form is None or form == ARRAY:
        refuse(f"a loop or a branch has {described(unstaged(x))}")
    return form
