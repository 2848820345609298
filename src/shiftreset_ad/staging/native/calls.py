"""Calls of functions that call themselves, and the code of such a function: one function of LLVM's for each body.

A function gets the frame of its program, its surroundings, how many calls may still be inside it, the frame of its
activation, its arguments, and where to put the arrays that it answers. It returns its status and the numbers that it
answers. What a later visit needs is stored in the frame of the activation as soon as it is known.
"""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.native.frames import TOP
from shiftreset_ad.staging.native.functions import Function
from shiftreset_ad.staging.native.joins import Variable, form_carried
from shiftreset_ad.staging.native.llvm import ARRAY, DONE, INTEGER, LEAVE, TRUTH, Value, function, refuse
from shiftreset_ad.staging.native.lock import LOOK
from shiftreset_ad.staging.native.shared import Shared
from shiftreset_ad.staging.native.stack import DEPTH, entered
from shiftreset_ad.staging.native.steps import StepCode
from shiftreset_ad.staging.native.tags import ArgumentTag, tag_at
from shiftreset_ad.staging.native.tape import END_OF_FRAME
from shiftreset_ad.staging.python.uses import is_same_branch
from shiftreset_ad.staging.steps.blocks import Call, Control, Fork, all_steps
from shiftreset_ad.staging.steps.trace import Block

MOST_ON_THE_STACK = 1024  # bytes of the arrays of an activation
SHORT, LEVELS = 60, 3  # up to so many steps, a function has its own body in itself, so that fewer calls are made
AGAIN = "again"  # in place of the name of the function in its body


class CallingCode(StepCode):
    """The code of a function with calls in it."""

    __slots__ = ()

    def call(self, step: Call) -> None:
        self.leave_now()  # a function with wrong arguments may call itself for ever
        shared = self.shared
        if step.blocks:
            shared.functions[step.body] = Function(
                f"f{len(shared.functions)}", step, shared.trace, shared.left, shared.memory, shared.uses, shared.tagged
            )
        called = shared.functions[step.body]
        params = called.first.params
        like = self.with_tags(params, [shared.trace.values[place] for place in params])
        args = list(map(self.in_form, self.with_tags(params, step.args), like))
        surroundings = self._surroundings(called) if step.blocks else self.surroundings_of(step.body)
        if step.blocks:
            code = FunctionCode(called, shared, self.now)
            shared.texts.append(code.text())
            self.used.update(code.used)
            self.now = code.now
        given = [*self._frame(step, called), *args]
        given += [Value(self.new_block(place, x), ARRAY) for place, x in self._arrays(step, called)]
        self._call(step, called, surroundings, given)

    def _arrays(self, step: Call, called: Function) -> list[tuple[int, ndarray[Any, Any]]]:
        """The arrays among the answers, each with its place."""
        arrays = [(place, self.array_at(place)) for place in step.answers]
        for (_, array), like in zip(arrays, called.answers, strict=True):
            if array is not None and array.strides != like.strides:
                refuse("a function that calls itself answers arrays with several layouts")
        return [(place, array) for place, array in arrays if array is not None]

    def _frame(self, step: Call, called: Function) -> list[Value]:
        """The frame of the activation that is called, if there are frames."""
        if not called.are_frames:
            return []
        if not step.is_new:
            return [self.value_at(step.frame)]
        frame = Value(self.new_frame(self.offsets(step)[END_OF_FRAME]), ARRAY)
        if step.frame in self.uses.count:
            self.known[step.frame] = frame
            self.keep(step.frame)
        return [frame]

    def _call(self, step: Call, called: Function, surroundings: str, given: list[Value]) -> None:
        """The call itself, and its answers. What it says if it is not done is said here, too."""
        args = [Value("%frame", ARRAY), Value(surroundings, ARRAY), Value(self.depth(), INTEGER), *given]
        answers = [i for i, x in enumerate(called.answers) if form_carried(x) != ARRAY]
        forms = [form_carried(called.answers[i]) for i in answers] + [TRUTH for _ in called.of_either]
        places = [step.answers[i] for i in answers] + [tag_at(step.answers[i]) for i in called.of_either]
        kind = structure(forms)
        given_as = ", ".join(f"{form} {text}" for text, form in args)
        found = self.new(f"notail call {kind} @{self.name_of(called)}({given_as})")
        status = self.new(f"extractvalue {kind} {found}, 0")
        is_done, on, stop = self.new(f"icmp eq i64 {status}, {DONE}"), self.fresh()[1:], self.fresh()[1:]
        self.lines += [f"  br i1 {is_done}, label %{on}, label %{stop}", f"{stop}:", *self.returning(status), f"{on}:"]
        for number, (place, form) in enumerate(zip(places, forms, strict=True), 1):
            self.known[place] = Value(self.new(f"extractvalue {kind} {found}, {number}"), form)
        for place in places:
            self.keep(place)

    def _surroundings(self, called: Function) -> str:
        """The address of new surroundings for a function."""
        address = self.fresh()
        self.variables.append(f"  {address} = alloca [{len(called.surroundings) or 1} x i64]")
        for key, number in called.surroundings.items():
            if isinstance(key, Block):
                value = Value(self.surroundings_of(key), ARRAY)
            elif isinstance(x := self.shared.trace.values[key] if key >= 0 else None, ndarray) and x.shape:
                value = Value(self.address_at(key), ARRAY)
            else:
                value = self.value_at(key)
            self.store_word(value, self.at(address, 8 * number))
        return address

    def surroundings_of(self, body: Block) -> str:
        """The surroundings of a function that is made outside."""
        return refuse("a function that calls itself is called outside of it")

    def name_of(self, called: Function) -> str:
        """The name of the function for a call of it here."""
        return called.name

    def depth(self) -> str:
        """How many calls may be inside a function that is called here."""
        return self.new(f"load i64, ptr {self.slot(DEPTH)}")


class FunctionCode(CallingCode):
    """The code of a function that calls itself."""

    __slots__ = ("_answers", "_function", "_leaf", "_loads", "_offsets", "_params", "_status", "_stored")

    def __init__(self, called: Function, shared: Shared, now: int) -> None:
        super().__init__(shared, now)
        step = called.first
        self._function = called
        self._params: list[Value] = []
        self._status = self.variable(INTEGER)
        self._answers: list[Variable] = []
        (body,) = step.blocks
        self._offsets = self.offsets(step)
        self._loads = self.uses.loads.get(body.origin, [])
        stored = self.uses.stored(body, step.rounds) if called.are_frames else {}
        self._leaf = self._leaf_of(body) if called.are_frames and step.is_new else None
        self._stored = {place for place in stored if self.array_at(place) is None}

    def _leaf_of(self, body: Block) -> Block | None:
        """The branch in which nothing is called, if all that is kept of branches is kept of the other one."""
        control = next((step for step in body.steps if isinstance(step, Control)), None)
        if not isinstance(control, Fork):
            return None
        kept = [place for place in self._offsets if place >= 0 and self.uses.is_of_branch(place)]
        if any(self.array_at(place) is not None for place in kept):  # which are copied on all paths
            return None
        chains = [list(self.shared.trace.homes[place].outwards()) for place in kept]
        for leaf, other in (control.blocks, control.blocks[::-1]):
            is_of_other = all(any(is_same_branch(other.origin, block) for block in chain) for chain in chains)
            if chains and is_of_other and not any(isinstance(step, Control) for step in leaf.steps):
                return leaf.origin
        return None

    def text(self) -> str:
        """The text of the function: that of its body, some times in itself, and of the check how deep a call is."""
        with self.memory.of_a_function():
            self._write(self._function.first)
            memory = self.memory.size
        name, kind = self._function.name, structure([form for _, form, _ in self._answers])
        given = [Value("%frame", ARRAY), Value("%around", ARRAY), Value("%depth", INTEGER), *self._params]
        params = ", ".join(f"{form} {text}" for text, form in given)
        bodies = [f"{name}_{level}" for level in range(LEVELS if self._is_short() else 1)]
        body = self._whole_with(memory, kind)
        texts = [
            function(
                f"{kind} @{here}({params}) alwaysinline", [line.replace(f"@{AGAIN}(", f"@{then}(") for line in body]
            )
            for here, then in zip(bodies, [*bodies[1:], name], strict=True)
        ]
        self.use(LOOK)
        lines = entered(kind, f"@{bodies[0]}({params})", self.cost(self._function.first) * len(bodies))
        return "\n".join([*texts, function(f"{kind} @{name}({params}) noinline", lines)])

    def _is_short(self) -> bool:
        """Whether the body is short enough to be in itself."""
        return sum(1 for _ in all_steps([self._function.first])) <= SHORT

    def _write(self, step: Call) -> None:
        (body,), values = step.blocks, self.shared.trace.values
        if self._function.are_frames:
            self._param(ARRAY)
        for place in self.with_places_of_tags(step.params, step.params):
            self.known[place] = self._param(TRUTH if place < 0 else form_carried(values[place]))
            if self.known[place].form != ARRAY:
                self.keep(place)
        targets = [(self._param(ARRAY).text, x) for x in self._function.answers if form_carried(x) == ARRAY]
        results = [*step.results[-1], *[ArgumentTag(step.results[-1][i]) for i in self._function.of_either]]
        like = [*self._function.answers, *[None for _ in self._function.of_either]]
        with self.releasing(step, body):
            found = self.block(body, results, like)
        if self._function.are_frames:
            self._store_arrays(step)
        for (target, array), (source, _) in zip(targets, [x for x in found if x.form == ARRAY], strict=True):
            self.copy(source, target, array)
        for text, form in found:
            if form != ARRAY:
                self._answers.append(Variable(self.variable(form), form))
                self.lines.append(f"  store {form} {text}, ptr {self._answers[-1].name}")
        self.end(DONE)

    def _param(self, form: str) -> Value:
        self._params.append(Value(f"%x{len(self._params)}", form))
        return self._params[-1]

    def _store_arrays(self, step: Call) -> None:
        for place in self.uses.stored(step.blocks[0], step.rounds):
            if (array := self.array_at(place)) is not None:
                self.copy(self.address_at(place), self._slot_of(place), array)

    def keep(self, place: int) -> None:
        super().keep(place)
        if place in self._stored:
            self.store_word(self.known[place], self._slot_of(place))

    def _slot_of(self, place: int) -> str:
        """The address of the slot of a value in the frame of the activation."""
        return self.at(self._params[0].text, self._offsets[place])

    def end_branch(self, block: Block) -> None:
        """Give the end of the frame back if it is for another branch. It is still the newest frame."""
        if block.origin is self._leaf:
            rest = [offset for place, offset in self._offsets.items() if place >= 0 and self.uses.is_of_branch(place)]
            top = self.at(self._params[0].text, min(rest))
            self.lines.append(f"  store ptr {top}, ptr {self.slot(TOP)}")

    def load_from_outside(self, place: int) -> Value:
        if place in self._loads:  # where it is used, as on other paths there is nothing in the slot
            return self.load_word(self._slot_of(place), self.form_at(place))
        if place not in self._function.surroundings:
            refuse("it returns a number of a visited round that may be Python's or NumPy's")
        return self.load_word(self._word(place), self.form_at(place))

    def given(self, place: int) -> str:
        if place in self._loads:
            return self._slot_of(place)
        return self.new(f"load ptr, ptr {self._word(place)}")

    def surroundings_of(self, body: Block) -> str:
        return "%around" if body is self._function.first.body else self.new(f"load ptr, ptr {self._word(body)}")

    def _word(self, key: int | Block) -> str:
        return self.at("%around", 8 * self._function.surroundings[key])

    def name_of(self, called: Function) -> str:
        return AGAIN if called is self._function else called.name

    def depth(self) -> str:
        return self.new("sub i64 %depth, 1")

    def returning(self, status: str) -> list[str]:
        return [f"  store i64 {status}, ptr {self._status}", "  br label %end"]

    def _whole_with(self, memory: int, kind: str) -> list[str]:
        """All lines of the function, with memory of this size for the arrays of an activation."""
        end = ["end:"]
        if memory > MOST_ON_THE_STACK:
            self.variables += [
                f"  %memory = call ptr @PyMem_RawMalloc(i64 {memory})",
                "  %is_memory = icmp ne ptr %memory, null",
                "  br i1 %is_memory, label %begin, label %no_memory",
                "no_memory:",
                *self.returning(f"{LEAVE}"),
                "begin:",
            ]
            end.append("  call void @PyMem_RawFree(ptr %memory)")
        elif memory:
            self.variables.append(f"  %memory = alloca [{memory} x i8], align 64")
        found = "undef"
        for number, (name, form, _) in enumerate([Variable(self._status, INTEGER), *self._answers]):
            text, more = self.fresh(), self.fresh()
            end.append(f"  {text} = load {form}, ptr {name}")
            end.append(f"  {more} = insertvalue {kind} {found}, {form} {text}, {number}")
            found = more
        return [*self.whole(), *end, f"  ret {kind} {found}"]


def structure(forms: list[str]) -> str:
    """What a function returns: its status, and the numbers that it answers."""
    return f"{{{', '.join([INTEGER, *forms])}}}"
