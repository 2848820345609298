"""The code of the steps of a program: each step by its kind, in the functions that the program is made of."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.staging.native.foreign import ForeignCode
from shiftreset_ad.staging.native.llvm import (
    ARRAY,
    TRUTH,
    NoNativeFormError,
    Value,
    described,
    form_of,
    is_table,
    refuse,
)
from shiftreset_ad.staging.native.operations import ask, emit
from shiftreset_ad.staging.native.paying import gain_of, weight
from shiftreset_ad.staging.native.restated import restated
from shiftreset_ad.staging.native.tags import tag_at
from shiftreset_ad.staging.native.types import Types
from shiftreset_ad.staging.python.expressions import asked, known_of
from shiftreset_ad.staging.steps.blocks import Control, Gather
from shiftreset_ad.staging.steps.functions import name_in_program
from shiftreset_ad.staging.steps.trace import Step, Trace
from shiftreset_ad.staging.steps.values import Staged, unstaged

INVALID, DIVIDE, OVER, UNDER = 1, 4, 8, 16  # the machine's flags, as x86 has them
FLAG_OF = {"invalid": INVALID, "divide": DIVIDE, "over": OVER, "under": UNDER}


class StepCode(ForeignCode):
    """Some of the steps of a program, as the code of a function."""

    __slots__ = ()

    def add(self, step: Step) -> None:
        self.now += 1
        if isinstance(step, Gather):
            self.gather(step)
        elif isinstance(step, Control):
            self.control(step)
        elif step.place in self.shared.without_form or self.joins(step):
            self._add_foreign(step, "")
        else:
            try:
                self._add_native(step)
            except NoNativeFormError as error:
                if error.place is not None or not self.shared.may_be_foreign(step):
                    raise
                self._add_foreign(step, f"{error}")

    def _add_foreign(self, step: Step, reason: str) -> None:
        """Let Python carry out a step. If this was not known, the code so far serves only to meet others like it."""
        shared = self.shared
        if step.place not in shared.without_form:
            shared.met[step.place] = reason
        self.wait_for_python(step)

    def _add_native(self, step: Step) -> None:
        trace, shared = self.shared.trace, self.shared
        step = restated(step)
        shared.gain += weight(trace.homes[step.place]) * gain_of(trace.values[step.place])
        shared.flags |= flags_of(step, trace, shared.types)
        answer = trace.values[step.place]
        args = tuple([self.argument(arg) for arg in step.args])
        if step.is_question:
            ask(self, step, args, len(shared.questions))
            shared.questions.append(asked(step, step.expected))
            return
        is_array = form_of(answer) == ARRAY
        reads = step.function is operator.getitem and is_table(unstaged(args[0]))
        if is_array or reads or has_array(args):
            self.add_of_arrays(step, args, answer)
        else:
            emit(self, step, args, answer)
        if step.open_ended:
            if len(shared.types.at(step.place)) > 1:
                refuse(f"{name_in_program(step.function)} may give another type in another round")
            shared.questions.append(asked(step, known_of(answer)))
        if step.place in self.tagged:
            self.add_tag(step.place, args)
        if not is_array:
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

    def value_at(self, place: int) -> Value:
        if place not in self.known:
            self.known[place] = self.load_at(place)
        return self.known[place]

    def form_at(self, place: int) -> str:
        if place < 0:
            return TRUTH
        value = self.shared.trace.values[place]
        if type(value) in (list, dict):  # the frames of a loop, or a frame
            return ARRAY
        form = form_of(value)
        return refuse(f"it computes with {described(value)}") if form is None or form == ARRAY else form

    def array_at(self, place: int) -> Any:
        value = self.shared.trace.values[place] if place >= 0 else None
        return value if form_of(value) == ARRAY else None

    def is_layout_seen(self, *places: int) -> bool:
        return self.shared.layouts.is_seen(*places)

    def is_in_long_code(self, place: int) -> bool:
        trace = self.shared.trace
        return self.shared.slots.is_long and trace.homes[place] is trace.root

    def types(self, x: Any) -> frozenset[type]:
        return self.shared.types.of(x)

    def argument(self, x: Any) -> Any:
        """An argument, with the values of what is the same for all inputs."""
        if type(x) is Staged:
            return x.inside if x._place in self.shared.left.fixed else x
        if type(x) is slice:
            return slice(*map(self.argument, (x.start, x.stop, x.step)))
        return type(x)(map(self.argument, x)) if type(x) in (list, tuple) else x

    def place(self, x: Staged) -> int:
        return self.shared.left.place(x)

    def load(self, x: Staged) -> Value:
        """A value that Python, another function, or another branch has left."""
        return self.load_at(self.place(x))

    def load_at(self, place: int) -> Value:
        """The value at a place that is not known here."""
        return self.kept(place) or self.load_from_outside(place)

    @abstractmethod
    def load_from_outside(self, place: int) -> Value:
        """The value at a place that another function has made."""

    def slot(self, number: int) -> str:
        """The address of a slot."""
        return self.new(f"getelementptr i64, ptr %frame, i64 {number}")


def has_array(parts: Iterable[Any]) -> bool:
    """Whether there is an array among arguments, or in the structures among them."""
    for x in parts:
        kind = type(x)
        if has_array(x) if kind is tuple or kind is list else form_of(x.inside if kind is Staged else x) == ARRAY:
            return True
    return False


def flags_of(step: Step, trace: Trace, types: Types) -> int:
    """The flags by which NumPy would react to the errors of a step."""
    if not isinstance(step.function, np.ufunc) and not types.has_numpys(step):
        return 0
    return _flags(*(step.errors or trace.errors).items())


@cache
def _flags(*reactions: tuple[str, str]) -> int:
    """The flags that belong to these reactions of NumPy's."""
    if any(reaction == "raise" for _, reaction in reactions):
        refuse("floating-point errors raise exceptions in it")
    return sum(FLAG_OF[name] for name, reaction in reactions if reaction != "ignore")
