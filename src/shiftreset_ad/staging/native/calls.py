"""Calls of functions that call themselves, and the code of such a function: one function of LLVM's for each body.

A function gets the frame of its program, its surroundings, how many calls may still be inside it, the first free byte
for frames, the frame of its activation, its arguments, and where to put the arrays that it answers. It returns its
status, the first free byte, and the numbers that it answers. What a later visit needs is stored in the frame of the
activation as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.native.bodies import CALLS, END_OF_CALLS, Again, calling_branch, naming, structure
from shiftreset_ad.staging.native.functions import Function
from shiftreset_ad.staging.native.joins import Variable, form_carried
from shiftreset_ad.staging.native.llvm import ARRAY, DONE, INTEGER, INTERRUPTED, LEAVE, TRUTH, Value, function, refuse
from shiftreset_ad.staging.native.lock import LOOK
from shiftreset_ad.staging.native.shared import Shared
from shiftreset_ad.staging.native.stack import DEPTH, entered
from shiftreset_ad.staging.native.steps import StepCode
from shiftreset_ad.staging.native.tags import ArgumentTag, tag_at
from shiftreset_ad.staging.native.tape import END_OF_FRAME
from shiftreset_ad.staging.steps.blocks import Call, all_steps
from shiftreset_ad.staging.steps.trace import Block

MOST_ON_THE_STACK = 1024  # bytes of the arrays of an activation
LEVELS, STEPS = 4, 420  # how often a function has its own body in itself, so that fewer calls are made


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
            if (leaf := shared.functions[step.body].leaf) is not None:
                shared.leaves[step.activations] = leaf
                shared.uses.keep_first(leaf.kept, leaf.truth, step.activations)
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
        given = [*self._given_frame(step, called), *args]
        given += [Value(self.new_block(place, x), ARRAY) for place, x in self._arrays(step, called)]
        self._call(step, called, surroundings, given)

    def _arrays(self, step: Call, called: Function) -> list[tuple[int, ndarray[Any, Any]]]:
        """The arrays among the answers, each with its place."""
        arrays = [(place, self.array_at(place)) for place in step.answers]
        for (_, array), like in zip(arrays, called.answers, strict=True):
            if array is not None and array.strides != like.strides:
                refuse("a function that calls itself answers arrays with several layouts")
        return [(place, array) for place, array in arrays if array is not None]

    def _given_frame(self, step: Call, called: Function) -> list[Value]:
        """The frame of the activation that is called, if there are frames."""
        if not called.are_frames:
            return []
        if not step.is_new:
            return [self.value_at(step.frame)]
        frame = Value(self.new_frame(self.offsets(step)[END_OF_FRAME]), ARRAY)
        if step.frame in self.uses.count and not called.answers_frame:
            self.known[step.frame] = frame
            self.keep(step.frame)
        return [frame]

    def _call(self, step: Call, called: Function, surroundings: str, given: list[Value]) -> None:
        """The call itself, and its answers. What it says if it is not done is said here, too."""
        args = [Value("%frame", ARRAY), Value(surroundings, ARRAY), Value(self.depth(), INTEGER), *given]
        answers = [i for i, x in enumerate(called.answers) if form_carried(x) != ARRAY]
        forms = [form_carried(called.answers[i]) for i in answers] + [TRUTH for _ in called.of_either]
        places = [step.answers[i] for i in answers] + [tag_at(step.answers[i]) for i in called.of_either]
        if called.answers_frame:
            forms.append(ARRAY)
            places.append(step.frame)
        found = [Value(self.fresh(), form) for form in forms]
        self.call_function(called, args, found)
        self.known.update(zip(places, found, strict=True))
        for place in places:
            self.keep(place)

    def call_function(self, called: Function, args: list[Value], answers: list[Value]) -> None:
        """Write the call of a function that gives these answers."""
        self.lines += self.calling(called, args, answers)

    def calling(self, called: Function, args: list[Value], answers: list[Value]) -> list[str]:
        """The lines of a call. They return what the function says if it is not done."""
        kind, of_top = structure([form for _, form in answers]), self.of_top()
        before, found, status, is_done, on, stop, top = (self.fresh() for _ in range(7))
        given = ", ".join(f"{form} {text}" for text, form in [*args[:3], Value(before, ARRAY), *args[3:]])
        return [
            f"  {before} = load ptr, ptr {of_top}",
            f"  {found} = notail call {kind} @{called.name}({given})",
            f"  {status} = extractvalue {kind} {found}, 0",
            f"  {is_done} = icmp eq i64 {status}, {DONE}",
            f"  br i1 {is_done}, label {on}, label {stop}",
            f"{stop[1:]}:",
            *self.returning(status),
            f"{on[1:]}:",
            f"  {top} = extractvalue {kind} {found}, 1",
            f"  store ptr {top}, ptr {of_top}",
            *[f"  {text} = extractvalue {kind} {found}, {number}" for number, (text, _) in enumerate(answers, 2)],
        ]

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

    def depth(self) -> str:
        """How many calls may be inside a function that is called here."""
        return self.new(f"load i64, ptr {self.slot(DEPTH)}")


class FunctionCode(CallingCode):
    """The code of a function that calls itself.

    A short function has its body in itself, in place of its calls. So the status of a body inside another one, which
    would be looked at after each call, is that of the function: if it is not done, nothing is.
    """

    __slots__ = ("_again", "_answers", "_calling", "_frame", "_function", "_loads", "_offsets", "_params", "_stored")
    leaves_at_once = True

    def __init__(self, called: Function, shared: Shared, now: int) -> None:
        super().__init__(shared, now)
        step = called.first
        self._function = called
        self._params: list[Value] = []
        self._again: dict[str, Again] = {}  # by the lines that stand for them
        self._answers: list[Variable] = []
        (body,) = step.blocks
        self._calling = calling_branch(body)
        self._offsets = self.offsets(step)
        self._loads = self.uses.loads.get(body.origin, [])
        stored = self.uses.stored(body, step.rounds) if called.are_frames else {}
        self._frame = self.variable(ARRAY) if called.answers_frame else ""
        self._stored = {place for place in stored if self.array_at(place) is None}

    def text(self) -> str:
        """The text of the function, with its body some times in itself."""
        with self.memory.of_a_function():
            self._write(self._function.first)
            memory = self.memory.size
        self.use(LOOK)
        if 0 < memory <= MOST_ON_THE_STACK:
            self.variables.append(f"  %memory = alloca [{memory} x i8], align 64")
        levels, name = self._levels(memory), self._function.name
        if memory or self._calling is None or not self._again:
            return self._text(name, self._body(levels, "", {}), memory, levels)
        lines = list(self._body(1, "", {}))
        given = ", ".join(f"{form} {text}" for text, form in self._all_params())
        kind = structure([form for _, form, _ in self._answers])
        lines[lines.index(CALLS) : lines.index(END_OF_CALLS)] = [
            f"  %called = notail call {kind} @{name}_calls({given})",
            f"  ret {kind} %called",
            "nowhere:",
        ]
        return "\n".join([self._text(name, lines), self._text(f"{name}_calls", self._body(levels, "", {}), 0, levels)])

    def _text(self, name: str, body: Iterable[str], memory: int = 0, levels: int = 0) -> str:
        """A function with these lines. If it has no levels, it is one for the branch that does not call."""
        kind = structure([form for _, form, _ in self._answers])
        params = [f"{form} {'noalias readonly ' * (text == '%around')}{text}" for text, form in self._all_params()]
        lines = [
            "  %status = alloca i64",
            "  %top = alloca ptr",
            "  store ptr %first_free, ptr %top",
            *(["  %to_free = alloca ptr", "  store ptr null, ptr %to_free"] if memory > MOST_ON_THE_STACK else []),
            *self._with_memory(body, memory, kind),
        ]
        if levels:
            start = lines.index(CALLS)
            lines[start : start + 1] = entered(self.cost(self._function.first) * levels)
        allocations = [line for line in lines if " = alloca " in line]
        rest = [line for line in lines if " = alloca " not in line]
        place = "noinline" if levels else "alwaysinline"
        return function(f"{kind} @{name}({', '.join(params)}) {place}", [*allocations, *rest])

    def _all_params(self) -> list[Value]:
        given = [Value("%frame", ARRAY), Value("%around", ARRAY), Value("%depth", INTEGER), Value("%first_free", ARRAY)]
        return [*given, *self._params]

    def _body(self, levels: int, suffix: str, bound: Mapping[str, str]) -> Iterator[str]:
        """The lines of the body, which go to `end`, or to `stop`. The names that are not `bound` end with a suffix."""
        named = naming(suffix, bound)
        exits = [(f"exit{status - INTERRUPTED}:", *self.returning(f"{status}")) for status in sorted(self.exits)]
        for line in [*self.variables, *self.lines, *chain(*exits)]:
            call = self._again.get(line)
            if line in (CALLS, END_OF_CALLS):
                yield from [] if suffix else [line]
            elif call is None:
                yield named(line)
            elif levels == 1:
                yield from map(named, self.calling(self._function, call.args, call.answers))
            else:
                args = {text[1:]: named(arg.text) for text, arg in zip(self._names(), call.args[2:], strict=True)}
                inner = f"{suffix}.{call.number}"
                yield from self._body(levels - 1, inner, args)
                yield f"end{inner}:"
                for (answer, form), variable in zip(call.answers, self._answers, strict=True):
                    yield f"  {named(answer)} = load {form}, ptr {variable.name}{inner}"

    def _names(self) -> list[str]:
        """The names of what differs from call to call."""
        return ["%depth", *[text for text, _ in self._params]]

    def _levels(self, memory: int) -> int:
        """How often the body is in itself, one in another, if an activation has so much memory for arrays."""
        steps = sum(1 for _ in all_steps([self._function.first]))
        bodies = levels = 1
        while levels < LEVELS:
            bodies += len(self._again) ** levels
            if bodies * steps > STEPS or bodies * memory > MOST_ON_THE_STACK:
                break
            levels += 1
        return levels

    def _write(self, step: Call) -> None:
        (body,), values = step.blocks, self.shared.trace.values
        if self._function.are_frames:
            frame = self._param(ARRAY).text
            if self._frame:
                self.lines.append(f"  store ptr {frame}, ptr {self._frame}")
        for place in self.with_places_of_tags(step.params, step.params):
            self.known[place] = self._param(TRUTH if place < 0 else form_carried(values[place]))
            if self.known[place].form != ARRAY:
                self.keep(place)
        targets = [(self._param(ARRAY).text, x) for x in self._function.answers if form_carried(x) == ARRAY]
        results = [*step.results[-1], *[ArgumentTag(step.results[-1][i]) for i in self._function.of_either]]
        like = [*self._function.answers, *[None for _ in self._function.of_either]]
        if self._calling is None:
            self.lines.append(CALLS)
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
        if self._frame:
            self._answers.append(Variable(self._frame, ARRAY))
        self.leave_now()
        self.lines.append("  br label %end")

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

    def begin_branch(self, block: Block) -> None:
        if block.origin is self._calling:
            self.lines.append(CALLS)

    def end_branch(self, block: Block) -> None:
        """Give the end of the frame back if it is for another branch. It is still the newest frame."""
        if block.origin is self._calling:
            self.lines.append(END_OF_CALLS)
        leaf = self._function.leaf
        if leaf is not None and block.origin is leaf.block:
            rest = [offset for place, offset in self._offsets.items() if place >= 0 and place not in leaf.kept]
            top = self.at(self._params[0].text, min(rest))
            self.lines.append(f"  store ptr {top}, ptr {self.of_top()}")
            if self._frame:
                self.lines.append(f"  store ptr null, ptr {self._frame}")

    def load_from_outside(self, place: int) -> Value:
        leaf = self.shared.leaves.get(self._function.first.activations)
        if leaf is not None and place == leaf.truth:
            return Value(self.new(f"icmp {'eq' if leaf.is_yes else 'ne'} ptr {self._params[0].text}, null"), TRUTH)
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

    def of_top(self) -> str:
        return "%top"

    def call_function(self, called: Function, args: list[Value], answers: list[Value]) -> None:
        if called is not self._function:
            super().call_function(called, args, answers)
            return
        number = len(self._again)
        self.lines.append(f"; call {number}")
        self._again[self.lines[-1]] = Again(number, args, answers)

    def depth(self) -> str:
        return self.new("sub i64 %depth, 1")

    def returning(self, status: str) -> list[str]:
        return [f"  store i64 {status}, ptr %status", "  br label %stop"]

    def _with_memory(self, body: Iterable[str], memory: int, kind: str) -> Iterator[str]:
        """The lines with memory of this size for the arrays of an activation, and what the function returns."""
        free = []
        if memory > MOST_ON_THE_STACK:
            yield f"  %memory = call ptr @PyMem_RawMalloc(i64 {memory})"
            yield "  %is_memory = icmp ne ptr %memory, null"
            yield f"  store i64 {LEAVE}, ptr %status"
            yield "  br i1 %is_memory, label %begin, label %stop"
            yield "begin:"
            yield "  store ptr %memory, ptr %to_free"
            free = ["  %block = load ptr, ptr %to_free", "  call void @PyMem_RawFree(ptr %block)"]
        yield from body
        yield "end:"
        yield from free
        found = self.fresh()
        yield f"  {found} = insertvalue {kind} undef, i64 {DONE}, 0"
        for number, (name, form) in enumerate([Value("%top", ARRAY), *[x[:2] for x in self._answers]], 1):
            text, more = self.fresh(), self.fresh()
            yield f"  {text} = load {form}, ptr {name}"
            yield f"  {more} = insertvalue {kind} {found}, {form} {text}, {number}"
            found = more
        yield f"  ret {kind} {found}"
        yield "stop:"
        yield from (line.replace("%block", "%its_block") for line in free)
        yield "  %stopped = load i64, ptr %status"
        yield f"  %left = insertvalue {kind} zeroinitializer, i64 %stopped, 0"
        yield f"  ret {kind} %left"
