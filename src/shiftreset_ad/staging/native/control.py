"""Loops and branches in native code: real loops and branches, and the frames of rounds in memory.

What is carried from round to round, and what a branch makes for later ones, is in variables. A block ends by leaving if
one of its steps would have raised an error, so no loop goes on with values that Python would not have. A loop looks now
and then whether the user has interrupted the program.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.native.constants import Constants
from shiftreset_ad.staging.native.frames import FIRST_SLOT, NEXT, PREVIOUS
from shiftreset_ad.staging.native.joins import JoinCode, Variable, form_carried, lie_alike
from shiftreset_ad.staging.native.layouts import Layout, layout_of
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    DOUBLE,
    INTEGER,
    INTERRUPTED,
    LEAVE,
    Value,
    described,
    form_of,
    refuse,
)
from shiftreset_ad.staging.native.lock import LOOK, STEPS_AT_FIRST, STEPS_BETWEEN_LOOKS
from shiftreset_ad.staging.native.loops import Operand, Round, form_of_elements, operand
from shiftreset_ad.staging.native.memory import ArrayBlocks
from shiftreset_ad.staging.native.tags import tag_at
from shiftreset_ad.staging.python.uses import Uses
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, Gather, Loop, all_steps
from shiftreset_ad.staging.steps.trace import Block, Step
from shiftreset_ad.staging.steps.values import Staged, unstaged


class ControlCode(JoinCode):
    """The code of a function with loops and branches."""

    __slots__ = ("_done", "_kept")

    def __init__(self, uses: Uses, tagged: set[int], memory: ArrayBlocks, constants: Constants, now: int) -> None:
        super().__init__(uses, tagged, memory, constants, now)
        self._kept: dict[int, Variable] = {}  # variables of values that were made in a branch, and are used elsewhere
        self._done = ""  # the variable that counts the steps since the last look

    @abstractmethod
    def add(self, step: Step) -> None:
        """Write a step."""

    @abstractmethod
    def keep(self, place: int) -> None:
        """Keep a value for others that need it."""

    @abstractmethod
    def call(self, step: Call) -> None:
        """Write a call of a function that calls itself."""

    def begin_branch(self, block: Block) -> None:
        """Write what is to be done at the beginning of a branch."""

    def end_branch(self, block: Block) -> None:
        """Write what is to be done at the end of a branch."""

    def control(self, step: Control) -> None:
        """Write a step with blocks."""
        self.write_waiting()
        if isinstance(step, Fork):
            self._fork(step)
        elif isinstance(step, Loop):
            self.loop(step)
        elif isinstance(step, Call):
            self.call(step)
        else:
            self.visit(step)
        self.now += 1
        self.memory.free_after(self.now)

    # Blocks

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Write lines that later lines outside may not have seen: what becomes known in them is forgotten."""
        known, leaves = self.known, self.leaves
        self.known = dict(known)
        yield
        self.known, self.leaves = known, leaves

    def block(
        self, block: Block, results: Sequence[Any], like: Sequence[Any], movable: Iterable[bool] = repeat(False)
    ) -> list[Value]:
        """The steps of a block, and its results in the forms of these values. Some may be moved to another layout."""
        for step in block.steps:
            self.add(step)
        self.now += 1
        self.write_waiting()
        values = list(map(self.in_form, results, like, movable))
        self.leave_now()
        return values

    def _answered(self, step: Control, variables: list[Variable]) -> None:
        answers = self.with_places_of_tags(step.answers, step.params or step.answers)
        self._get(answers, variables)
        for place, variable in zip(answers, variables, strict=True):
            if variable.array is None:
                self.keep(place)

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
            self._kept[place] = Variable(self.variable(form), form)
        self._set([self._kept[place]], [Value(text, form)])

    def kept(self, place: int) -> Value | None:
        """The value at a place that was made in another branch; None if there is no variable with it."""
        if place not in self._kept:
            return None
        name, form, _ = self._kept[place]
        return Value(self.new(f"load {form}, ptr {name}"), form)

    # A branch

    def _fork(self, step: Fork) -> None:
        branches = [self.with_tags(step.answers, results) for results in step.results]
        like = self._like_the_answers(step, branches[0])
        variables = self._variables(step.answers, like)
        yes, no, end = self._labels("yes", "no", "end")
        self.lines.append(f"  br i1 {self.truth(step.predicate)}, label %{yes}, label %{no}")
        for label, block, results in zip((yes, no), step.blocks, branches, strict=True):
            self.lines.append(f"{label}:")
            with self._inside():
                self.begin_branch(block)
                if not self._can_be_answered(step, results, like):
                    self.exit_if("true", LEAVE)  # the steps behind the branches are for arrays in another layout
                values = self.block(block, results, like, repeat(True))
                self._placed(values, results, step.answers, variables)
                self._set(variables, values)
                self.memory.free_after(self.now)
                self.end_branch(block)
            self.lines.append(f"  br label %{end}")
        self.lines.append(f"{end}:")
        self._answered(step, variables)

    def _like_the_answers(self, step: Fork, results: Sequence[Any]) -> list[Any]:
        """What the answers are like: numbers like the results of a branch, arrays like those that were recorded."""
        answers = [*map(self.array_at, step.answers), *[None for _ in results[len(step.answers) :]]]
        return [x if answer is None else answer for x, answer in zip(results, answers, strict=True)]

    def _can_be_answered(self, step: Fork, results: Sequence[Any], like: Sequence[Any]) -> bool:
        """Whether the arrays of a branch lie like the answers, or may be copied so that they do."""
        joined = zip(step.answers, results, like, strict=False)
        return all(lie_alike(x, y) or self.may_be_moved(y, place) for place, x, y in joined)

    def _variables(self, places: list[int], like: Sequence[Any]) -> list[Variable]:
        """Variables for the values at these places, and for their tags."""
        found = []
        for i, x in enumerate(like):
            if (form := form_carried(x)) == ARRAY:
                is_own = self.memory.root(places[i]) == places[i]
                name = self.new_block(places[i], unstaged(x)) if is_own else self.address_at(places[i])
                found.append(Variable(name, form, unstaged(x)))
            else:
                found.append(Variable(self.variable(form), form))
        return found

    # A loop

    def loop(self, step: Any) -> None:
        """Write a loop."""
        self.leave_now()  # a loop with wrong values may have no end
        test, body = step.blocks
        variables = self._carried(step)
        keeps, place = step.rounds.place in self.uses.count, step.rounds.place
        last = head = ""
        if keeps:
            head, last = self.new_head(step, variables), self.variable(ARRAY)
            self.lines.append(f"  store ptr {head}, ptr {last}")
        again, round_, end = self._labels("test", "round", "end")
        self._goto(again)
        with self._inside():
            self._get(self.with_places_of_tags(step.params, step.params), variables)
            (goes_on,) = self.block(test, [step.goes_on], [step.goes_on])
            self.memory.free_after(self.now)
            self.lines += [f"  br i1 {self._truth(goes_on)}, label %{round_}, label %{end}", f"{round_}:"]
            self.begin_round(step, head, last, variables)
            with self.releasing(step, body):
                results = self._results(step, body, variables)
            if keeps:
                self.append(step, body, last)
            self._set(variables, results)
            self.memory.free_after(self.now)
            self._look(step)
        self.lines += [f"  br label %{again}", f"{end}:"]
        if keeps:
            at_end = self.new(f"load ptr, ptr {last}")
            self.link(at_end, head)
            self.known[place] = Value(head, ARRAY)
            self.keep(place)
        self._hand_on(step, variables)
        self._answered(step, variables)

    def new_head(self, step: Any, variables: list[Variable]) -> str:
        """The head of the frames of a loop."""
        return self.new_frame(FIRST_SLOT)

    def begin_round(self, step: Any, head: str, last: str, variables: list[Variable]) -> None:
        """Write what is to be done at the beginning of a round of a loop. `last` is the variable of the last frame."""

    def _carried(self, step: Control) -> list[Variable]:
        args = self.with_tags(step.params, step.args)
        values = [self.in_form(arg, arg) for arg in args]
        variables = self._variables(step.params, args)
        self._placed(values, args, step.params, variables)
        self._set(variables, values)
        return variables

    def _results(self, step: Control, body: Block, variables: list[Variable]) -> list[Value]:
        """What a round carries into the next one. As it is set one after another, nothing in it is carried itself."""
        results, args = (self.with_tags(step.params, values) for values in (step.results[-1], step.args))
        joined = zip(args, step.params, step.answers, strict=False)
        movable = [self.may_be_moved(arg, param, answer) for arg, param, answer in joined]
        values = self.block(body, results, args, chain(movable, repeat(False)))
        self._placed(values, results, step.params, variables)
        roots = set(map(self.memory.root, step.params))
        for i, (x, (name, form, array)) in enumerate(zip(results, variables, strict=True)):
            if array is None or type(x) is not Staged or self.memory.root(self.place(x)) not in roots:
                continue
            if values[i].text != name:
                copy = self.aside(array)
                self.copy(values[i].text, copy, array)
                values[i] = Value(copy, form)
        return values

    def _hand_on(self, step: Control, variables: list[Variable]) -> None:
        """The answers have the memory of what was carried, unless it lies in another layout."""
        for param, answer, (name, _, array) in zip(step.params, step.answers, variables, strict=False):
            if array is None:
                continue
            if not lie_alike(array, like := self.array_at(answer)):
                if self.memory.root(answer) != answer:
                    refuse("a loop writes to an array whose layout changes")
                self.move(array, name, like, self.new_block(answer, like))
            elif self.memory.root(param) == param:
                self.memory.hand_on(param, answer)

    def _truth(self, x: Value) -> str:
        if x.form == DOUBLE:
            return self.new(f"fcmp une double {x.text}, 0.0")
        return self.new(f"icmp ne i64 {x.text}, 0") if x.form == INTEGER else x.text

    # The rounds of a loop again

    def visit(self, step: Any) -> None:
        """Write a visit of the rounds of a loop."""
        self.leave_now()
        (body,) = step.blocks
        variables, head = self._carried(step), self.value_at(step.rounds.place).text
        link = PREVIOUS if step.is_reversed else NEXT
        at = self.variable(ARRAY)
        self.lines.append(f"  store ptr {self.load_link(head, link)}, ptr {at}")
        again, round_, end = self._labels("visit", "round", "end")
        self._goto(again)
        frame = self.new(f"load ptr, ptr {at}")
        is_over = self.new(f"icmp eq ptr {frame}, {head}")
        self.lines += [f"  br i1 {is_over}, label %{end}, label %{round_}", f"{round_}:"]
        with self._inside():
            self._get(self.with_places_of_tags(step.params, step.params), variables)
            offsets = self.offsets(step)
            for place in self.uses.loads.get(body.origin, []):
                self.known[place] = self.from_slot(self.at(frame, offsets[place]), place)
                self.known.pop(tag_at(place), None)
            with self.releasing(step, body):
                results = self._results(step, body, variables)
            self.store(step, body, frame)
            self._set(variables, results)
            self.memory.free_after(self.now)
            self.lines.append(f"  store ptr {self.load_link(frame, link)}, ptr {at}")
            self._look(step)
        self.lines += [f"  br label %{again}", f"{end}:"]
        self._hand_on(step, variables)
        self._answered(step, variables)

    # The array of a value of each round

    def gather(self, step: Gather) -> None:
        """Copy a value of each round to its row. The code leaves if there are more or fewer rounds than rows."""
        self.write_waiting()
        answer, value = self.array_at(step.place), self.argument(step.value)
        if answer is None:
            refuse(f"it gathers {described(unstaged(value))}")
        row = Operand(self.new_block(step.place, answer), *_row_of(answer))
        head, at, number = self.value_at(step.rounds.place).text, self.variable(ARRAY), self.variable(INTEGER)
        self.lines.append(f"  store ptr {self.load_link(head, NEXT)}, ptr {at}")
        self.lines.append(f"  store i64 0, ptr {number}")
        again, round_, end = self._labels("gather", "round", "end")
        self._goto(again)
        frame, i = self.new(f"load ptr, ptr {at}"), self.new(f"load i64, ptr {number}")
        is_over = self.new(f"icmp eq ptr {frame}, {head}")
        self.lines += [f"  br i1 {is_over}, label %{end}, label %{round_}", f"{round_}:"]
        self.exit_if(self.new(f"icmp eq i64 {i}, {len(answer)}"), LEAVE)
        with self._inside():
            root = self.memory.root(self.place(value)) if type(value) is Staged else None
            if root in self.uses.slots.get(step.rounds, {}):
                self.known[root] = self.from_slot(self.at(frame, self.offsets(step)[root]), root)
            target = self.at(row.address, self.new(f"mul nsw i64 {i}, {answer.strides[0]}"))
            self._copy_to(row._replace(address=target), value)
        self.lines.append(f"  store ptr {self.load_link(frame, NEXT)}, ptr {at}")
        self.lines.append(f"  store i64 {self.new(f'add nuw nsw i64 {i}, 1')}, ptr {number}")
        self.lines += [f"  br label %{again}", f"{end}:"]
        self.exit_if(self.new(f"icmp ne i64 {i}, {len(answer)}"), LEAVE)
        self.memory.free_after(self.now)

    def _copy_to(self, target: Operand, x: Any) -> None:
        """Copy a number or an array to memory."""
        value = unstaged(x)
        is_array = form_of(value) == ARRAY
        source = {"x": operand(self.address(x), value)} if is_array else {}
        turn = Round(self, target.layout.shape, source, {"y": target})
        text = turn.element("x") if is_array else self.in_form(x, x)
        turn.store("y", text)
        turn.write()

    # Interrupts

    def _look(self, step: Control) -> None:
        """Look for an interrupt if many steps have been done since the last look."""
        if not self._done:
            self._done = self.variable(INTEGER)
            self.variables.append(f"  store i64 {STEPS_AT_FIRST}, ptr {self._done}")
            self.use(LOOK)
        before = self.new(f"load i64, ptr {self._done}")
        done = self.new(f"add i64 {before}, {self.cost(step)}")
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

    def cost(self, step: Control) -> int:
        """The number of the steps in a round; one that makes an array counts as many as the array has elements."""
        places = [inner.place for inner in all_steps([step]) if not isinstance(inner, Control)]
        made = [self.array_at(place) for place in places if self.memory.makes(place)]
        return len(places) + 1 + sum(int(array.size) for array in made if array is not None)


def _row_of(array: ndarray[Any, Any]) -> tuple[Layout, str]:
    """The layout of a row of an array, and the form of an element."""
    layout = layout_of(array)
    return Layout(layout.shape[1:], layout.strides[1:], layout.itemsize), form_of_elements(array)
